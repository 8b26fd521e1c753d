//go:build goolm

package matrix

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/appservice"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/olm"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// machine is the cipher: mautrix's machine, with the bot's one device. mautrix's cryptohelper is not used, because it waits
// for keys in memory, reads room state from a store of its own, and takes keys from a sync that it marks as done even
// when they could not be stored.
type machine struct {
	cfg   Encryption
	as    *appservice.AppService
	hs    *homeserver // as the application service
	dev   *homeserver // as the device
	cli   *mautrix.Client
	store Store
	clock bridge.Clock
	done  chan struct{} // closed when begun

	beginning sync.Mutex
	// mu is held alone by whoever handles a message between devices, and by several who do anything else. That one message
	// is handled in a single transaction of the store, within which mautrix waits for its own locks; those who hold them
	// may be waiting for the store.
	mu    sync.RWMutex
	olm   *crypto.OlmMachine
	rooms roomLocks // one message of a room is encrypted at a time

	refused  bool     // the homeserver refuses the bot signing keys, which was logged
	askedFor sync.Map // whose unknown devices were asked for, as user and key
}

var _ cipher = (*machine)(nil)

func newCipher(cfg Encryption, s *Service) (cipher, error) {
	if len(cfg.PickleKey) == 0 || cfg.Database == nil {
		return nil, errors.New("matrix: encryption needs a pickle key and a database")
	}
	return &machine{cfg: cfg, as: s.as, hs: s.hs, store: s.store, clock: s.clock, done: make(chan struct{})}, nil
}

func (c *machine) begun() <-chan struct{} { return c.done }

func (c *machine) device() *homeserver {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.dev
}

// begin implements [cipher]. The device's id and keys are stored before the homeserver hears of them, so that a crash
// leaves no second device behind.
func (c *machine) begin(ctx context.Context) error {
	c.beginning.Lock()
	defer c.beginning.Unlock()
	if c.hasBegun() == nil {
		return nil
	}
	keys, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	if err := c.login(ctx, keys.DeviceID); err != nil {
		return fmt.Errorf("log the bot's device in: %w", err)
	}
	if err := c.load(ctx, keys); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return fmt.Errorf("publish the keys of the bot's device: %w", err)
	}
	if err := c.crossSign(ctx); err != nil {
		return err
	}
	close(c.done)
	zerolog.Ctx(ctx).Info().Str("device_id", string(keys.DeviceID)).Str("fingerprint", c.olm.Fingerprint()).Msg("Encryption has begun")
	return nil
}

func (c *machine) hasBegun() error {
	select {
	case <-c.done:
		return nil
	default:
		return errNotBegun
	}
}

// prepare opens the keys, and makes an account with a device id where there is none.
func (c *machine) prepare(ctx context.Context) (*keyStore, error) {
	keys, err := openKeys(ctx, c.cfg, c.store)
	if err != nil || keys.DeviceID != "" {
		return keys, err
	}
	keys.DeviceID = id.DeviceID("QB" + rand.Text()[:10])
	return keys, keys.PutAccount(ctx, crypto.NewOlmAccount())
}

// login gets a token for the device. Homeservers without this login let application services make devices, and act as
// one (MSC4190).
func (c *machine) login(ctx context.Context, device id.DeviceID) error {
	cli := c.as.NewMautrixClient(c.as.BotMXID())
	cli.Log, cli.DefaultHTTPRetries = zerolog.Nop(), 0
	within, cancel := context.WithTimeout(ctx, c.hs.timeout)
	defer cancel()
	_, err := cli.Login(within, &mautrix.ReqLogin{
		Type: mautrix.AuthTypeAppservice, DeviceID: device, InitialDeviceDisplayName: c.cfg.DeviceName, StoreCredentials: true,
		Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: string(c.as.BotMXID())},
	})
	switch {
	case err == nil && cli.DeviceID != device:
		return fmt.Errorf("the homeserver gave the device the id %s in place of %s", cli.DeviceID, device)
	case err == nil:
		cli.SetAppServiceUserID = false
	case temporary(err) && !answered(err, http.StatusMethodNotAllowed):
		return err
	default:
		if managed := cli.CreateDeviceMSC4190(within, device, c.cfg.DeviceName); managed != nil {
			return errors.Join(err, managed)
		}
	}
	c.dev = &homeserver{cli: cli, bot: c.hs.bot, timeout: c.hs.timeout, waits: c.hs.waits}
	c.cli = c.impatient(cli)
	return nil
}

// impatient is a client like another one, for requests that nobody bounds.
func (c *machine) impatient(like *mautrix.Client) *mautrix.Client {
	cli := c.as.NewMautrixClient(like.UserID)
	cli.Log, cli.DefaultHTTPRetries = zerolog.Nop(), 0
	cli.AccessToken, cli.DeviceID = like.AccessToken, like.DeviceID
	cli.SetAppServiceUserID, cli.SetAppServiceDeviceID = like.SetAppServiceUserID, like.SetAppServiceDeviceID
	cli.Client = &http.Client{Timeout: c.hs.timeout}
	if like.Client != nil {
		cli.Client.Transport = like.Client.Transport
	}
	return cli
}

// relogin implements [cipher]. A device that was deleted gets its keys again too.
func (c *machine) relogin(ctx context.Context, refused string) error {
	c.beginning.Lock()
	defer c.beginning.Unlock()
	if err := c.hasBegun(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cli.AccessToken != refused {
		return nil
	}
	if err := c.login(ctx, c.cli.DeviceID); err != nil {
		return err
	}
	if err := c.reload(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	return c.crossSign(ctx)
}

// load makes a machine of what is stored. Whoever calls it holds c.mu, or is the only one.
func (c *machine) load(ctx context.Context, keys *keyStore) error {
	m := crypto.NewOlmMachine(c.cli, zerolog.Ctx(quiet(ctx)), keys, roomFacts{c.store})
	m.DisableDecryptKeyFetching = true       // within a transaction nothing is asked of the network
	m.DisableDeviceChangeKeyRotation = true  // seal compares who can read with who should
	m.IgnorePostDecryptionParseErrors = true // content is read by us
	m.NeedsUnwedgeCallback = func(ctx context.Context, user id.UserID, key id.SenderKey) {
		r := traceOf(ctx)
		r.wedged = append(r.wedged, device{user, key})
	}
	m.SessionReceived = func(ctx context.Context, room id.RoomID, s id.SessionID, _ uint32) {
		r := traceOf(ctx)
		r.sessions = append(r.sessions, session{bridge.ConversationID(room), string(s)})
	}
	if err := m.Load(ctx); err != nil {
		if errors.Is(err, olm.ErrBadMAC) {
			return errPickle
		}
		return fmt.Errorf("load the keys: %w", err)
	}
	if c.olm != nil && c.olm.CrossSigningKeys != nil {
		m.CrossSigningKeys = c.olm.CrossSigningKeys
		if _, err := m.GetOwnCrossSigningPublicKeys(ctx); err != nil { // see sign
			return err
		}
	}
	c.olm = m
	return nil
}

// publish makes sure that the homeserver has the keys of our device, and no others.
func (c *machine) publish(ctx context.Context) error {
	user, own := c.cli.UserID, c.olm.OwnIdentity()
	found, err := c.cli.QueryKeys(ctx, &mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{user: {c.cli.DeviceID}}})
	if err != nil {
		return err
	}
	account := c.olm.GetAccount()
	there, ok := found.DeviceKeys[user][c.cli.DeviceID]
	switch {
	case !ok || len(there.Keys) == 0: // never uploaded, or the device was deleted
		account.Shared = false
		return c.olm.ShareKeys(ctx, -1)
	case there.Keys.GetEd25519(c.cli.DeviceID) != own.SigningKey, there.Keys.GetCurve25519(c.cli.DeviceID) != own.IdentityKey:
		return errOtherKeys
	case account.Shared:
		return nil
	}
	account.Shared = true
	return c.olm.CryptoStore.PutAccount(ctx, account)
}

// use runs f on the machine, beside others; again with a new token, where the homeserver took the old one back.
func (c *machine) use(ctx context.Context, f func(ctx context.Context, m *crypto.OlmMachine) error) error {
	if err := c.hasBegun(); err != nil {
		return err
	}
	run := func() (token string, err error) {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return c.cli.AccessToken, f(quiet(ctx), c.olm)
	}
	token, err := run()
	if !errors.Is(err, mautrix.MUnknownToken) {
		return err
	}
	if again := c.relogin(ctx, token); again != nil {
		return fmt.Errorf("log the bot's device in again: %w", again)
	}
	_, err = run()
	return err
}

// quiet keeps mautrix from logging what it does, and whom it sends what.
func quiet(ctx context.Context) context.Context {
	return zerolog.Ctx(ctx).Level(zerolog.ErrorLevel).WithContext(ctx)
}

// supply implements [cipher].
func (c *machine) supply(ctx context.Context, count int) error {
	return c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		if count >= int(m.GetAccount().Internal.MaxNumberOfOneTimeKeys())/2 {
			return nil
		}
		return m.ShareKeys(ctx, count)
	})
}

// outdated implements [cipher].
func (c *machine) outdated(ctx context.Context, people []bridge.UserID) error {
	if len(people) == 0 {
		return nil
	}
	return c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		return m.CryptoStore.MarkTrackedUsersOutdated(ctx, userIDs(people))
	})
}

func userIDs(people []bridge.UserID) []id.UserID {
	ids := make([]id.UserID, len(people))
	for i, who := range people {
		ids[i] = id.UserID(who)
	}
	return ids
}

// roomFacts is what mautrix's machine wants to know of rooms, from our own copy of their state.
type roomFacts struct{ store Store }

var _ crypto.StateStore = roomFacts{}

func (r roomFacts) IsEncrypted(ctx context.Context, room id.RoomID) (bool, error) {
	_, _, encrypted, err := r.store.Standing(ctx, bridge.ConversationID(room))
	return encrypted, err
}

// GetEncryptionEvent gives how often a room wants its keys changed; nil for the usual.
func (r roomFacts) GetEncryptionEvent(ctx context.Context, room id.RoomID) (*mevent.EncryptionEventContent, error) {
	records, err := r.store.StateOf(ctx, bridge.ConversationID(room), "m.room.encryption")
	if err != nil || len(records) == 0 || records[0].Key != "" {
		return nil, err
	}
	content := readObject(records[0].Content)
	var e mevent.EncryptionEventContent
	e.RotationPeriodMillis, _ = content.integer("rotation_period_ms")
	messages, _ := content.integer("rotation_period_msgs")
	e.RotationPeriodMessages = int(min(max(messages, 0), 1<<30))
	return &e, nil
}

// GetHistoryVisibility says that no key is for sharing with people who join later.
func (roomFacts) GetHistoryVisibility(context.Context, id.RoomID) (*mevent.HistoryVisibilityEventContent, error) {
	return nil, nil
}

// FindSharedRooms gives none: nothing is to be done there when somebody's devices change, see [machine.seal].
func (roomFacts) FindSharedRooms(context.Context, id.UserID) ([]id.RoomID, error) { return nil, nil }
