package matrix

import (
	"context"
	"encoding/json"
	"errors"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// Encryption is what the bot needs in encrypted rooms.
type Encryption struct {
	// Database keeps the keys, in tables of their own.
	Database *dbutil.Database
	// PickleKey encrypts them there. It must stay what it was when they were made.
	PickleKey []byte
	// Password is the bot's own on the homeserver, which some ask for before they take cross-signing keys; "" for none.
	Password string
	// DeviceName is how the bot's device is called in lists of sessions.
	DeviceName string
	// Trust is what an answer needs that approves, or that only admins may choose; RoomTrust goes before it, by a code of
	// Config.Rooms, a room id or an alias.
	Trust     Trust
	RoomTrust map[string]Trust
	// Keycaps puts number reactions up in encrypted rooms too, which show homeservers what people choose.
	Keycaps bool
}

// Trust is how well the device must be known that an answer comes from.
type Trust string

// TrustKnown takes any device that the homeserver lists for its owner; TrustCrossSigned one that its owner has signed,
// with the key that we have seen first.
const (
	TrustKnown       Trust = "known"
	TrustCrossSigned Trust = "cross-signed"
)

// cipher is end-to-end encryption, as the rest of the channel needs it. A nil one is none. Everything may be called at
// once, also before begin was; until then the error is errNotBegun.
type cipher interface {
	// begin logs the bot's device in: the one that it had, or a new one. Once that was done it does nothing.
	begin(ctx context.Context) error
	// relogin gets a new token for the device, after the homeserver refused the one given; unless it has another already.
	relogin(ctx context.Context, refused string) error
	// begun is closed when begin has done that.
	begun() <-chan struct{}
	// device is the homeserver as the bot's device sees it.
	device() *homeserver

	// seal gives what is sent to a room in place of the content: readable on every device that its readers have now, all of
	// which have got the key when seal returns.
	seal(ctx context.Context, m sealing) (json.RawMessage, error)
	// open decrypts an event: what is returned has the type and content inside, and its seal. The error is *errLocked while
	// the key is missing, and *errWorthless when the event can never be read, or is nobody's word.
	open(ctx context.Context, e event) (event, error)
	// holds says whether the key of a session is there, so that open does not give *errLocked.
	holds(ctx context.Context, room bridge.ConversationID, session string) (bool, error)
	// reaches says which of the people have a device that can read; whose devices are not known yet is asked for.
	reaches(ctx context.Context, people []bridge.UserID) (map[bridge.UserID]bool, error)

	// take handles one message between devices, and marks it as handled. It returns the sessions whose keys came.
	take(ctx context.Context, ev bridge.InboxEvent) ([]session, error)
	// outdated notes whose devices changed.
	outdated(ctx context.Context, people []bridge.UserID) error
	// supply keeps enough one-time keys on the homeserver, which has so many.
	supply(ctx context.Context, count int) error
}

// sealing is what is to be encrypted for whom.
type sealing struct {
	room    bridge.ConversationID
	readers []bridge.UserID
	kind    string // the event type inside
	content map[string]any
}

// session is one key, which encrypts the messages of one device in one room for a while.
type session struct {
	room bridge.ConversationID
	id   string
}

// seal is what is known of an event that came encrypted, by a device of its sender that we know.
type seal struct {
	crossSigned bool // the device is signed by its owner, with the key that we have seen first
}

// errLocked is an encrypted event whose key has not come.
type errLocked struct{ session string }

func (e *errLocked) Error() string { return "the key that this was encrypted with has not come" }

// errWorthless is an encrypted event that says nothing: damaged, sent again by somebody else, or from a device that its
// sender does not have.
type errWorthless struct{ why error }

func (e *errWorthless) Error() string {
	return "an encrypted event counts for nothing: " + e.why.Error()
}

var (
	errNotBegun = errors.New("encryption has not begun yet")
	// errNoEncryption is a program that was built without it.
	errNoEncryption = errors.New("this program was built without encryption: it needs the build tag goolm")
	// errPickle is a key that does not open what is in the database.
	errPickle = errors.New("encryption.pickle_key does not fit the keys in the database: it must be the one that they were made with; " +
		"without that one they are lost, and `questiond encryption reset` begins anew")
	// errOtherKeys is a homeserver that has other keys for our device than we have.
	errOtherKeys = errors.New("the homeserver has other keys for the bot's device than the database: that is an old copy, or served twice; " +
		"`questiond encryption reset` begins anew with a new device")
)
