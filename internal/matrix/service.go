package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"maunium.net/go/mautrix/appservice"

	"superpipeline.dev/question-bridge/bridge"
)

// Config is how the channel behaves.
type Config struct {
	ServerName    string // of the homeserver
	HomeserverURL string
	DisplayName   string // that the bot is to have; "" for whatever it has
	Registration  *appservice.Registration

	// Invite says whose invitations the bot accepts: user ids, server names, or "*" for everybody's. Nobody's if empty.
	Invite []string
	// Bots are user ids that never answer: other bots and relays.
	Bots []bridge.UserID
	// Carriers may post question.v2 events themselves.
	Carriers []Carrier
	// AgentUsers are the Matrix accounts of agents; an asker's own accounts never answer its questions.
	AgentUsers map[bridge.AgentID][]bridge.UserID
	Admins     Admins
	// Rooms are the codes that stand for rooms: a room id or an alias for each.
	Rooms map[string]string
	// Keycaps adds number reactions to questions of two to nine options.
	Keycaps bool
	// Encryption lets the bot take part in encrypted rooms; nil for not.
	Encryption *Encryption
	// Redactions says whether the bot syncs for redactions, which some homeservers never push; RedactionsAuto unless set.
	Redactions Redactions

	// IsCommand says whether a text is a command to the bridge, which is of interest in rooms without a question too; nil
	// where there are none.
	IsCommand func(text string) bool

	// Audit keeps which carriers' questions were refused; nil for nobody.
	Audit bridge.Auditor

	RequestTimeout time.Duration // of one request to the homeserver; 30 seconds unless set
	Limited        func()        // called for each 429 of the homeserver; may be nil
	RoomsAtOnce    int           // how many rooms' events are handled at once; 8 unless set
}

// Carrier is a Matrix user that may post questions of an agent.
type Carrier struct {
	User  bridge.UserID
	Agent bridge.AgentID
	// FreeTextReplies lets prose answer the free_text questions of this carrier.
	FreeTextReplies bool
}

// Admins says who is a workspace admin. An empty list allows nobody.
type Admins struct {
	Users  []bridge.UserID            // everywhere
	Rooms  map[string][]bridge.UserID // by a code of Config.Rooms, room id or alias
	Boards map[string][]bridge.UserID // by the question's board_id
	// PowerLevel, if set, makes an admin of everybody in the room with at least this level, and of the creators of a
	// room whose version gives them all power.
	PowerLevel *int64
}

// Redactions is how we learn about redactions.
type Redactions string

// RedactionsAuto syncs until the homeserver is seen to push one; RedactionsPushed never syncs.
const (
	RedactionsAuto   Redactions = "auto"
	RedactionsPushed Redactions = "pushed"
)

// Service is the Matrix side of the bridge: it implements [bridge.Channel] and [bridge.Gatekeeper], serves the
// application service's routes, and runs the inbox.
type Service struct {
	cfg   Config
	reg   *appservice.Registration
	as    *appservice.AppService
	hs    *homeserver
	store Store
	clock bridge.Clock
	rooms *rooms
	sends *sends
	// cipher is nil where there is no encryption.
	cipher cipher
	pushes pushes

	carriers map[bridge.UserID]Carrier
	machines map[bridge.UserID]bool
	wake     chan struct{}
	asides   asideLog

	befriending sync.Mutex // one direct room is made at a time
	introducing sync.Mutex
	introduced  bool // the bot has its display name
}

var (
	_ bridge.Channel    = (*Service)(nil)
	_ bridge.Gatekeeper = (*Service)(nil)
	_ Engine            = (*bridge.Engine)(nil)
)

// New makes the channel. It touches neither the network nor the store.
func New(cfg Config, store Store, clock bridge.Clock) (*Service, error) {
	if cfg.Registration == nil {
		return nil, errors.New("matrix: no registration")
	}
	if err := CheckRegistration(cfg.Registration, cfg.ServerName); err != nil {
		return nil, err
	}
	if cfg.RequestTimeout <= 0 {
		cfg.RequestTimeout = 30 * time.Second
	}
	if cfg.Redactions == "" {
		cfg.Redactions = RedactionsAuto
	}
	if cfg.Audit == nil {
		cfg.Audit = bridge.Unaudited{}
	}
	if cfg.RoomsAtOnce <= 0 {
		cfg.RoomsAtOnce = 8
	}
	as, err := appservice.CreateFull(appservice.CreateOpts{
		Registration: cfg.Registration, HomeserverDomain: cfg.ServerName, HomeserverURL: cfg.HomeserverURL,
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	hs := newHomeserver(as, cfg.RequestTimeout, clock)
	rooms := &rooms{hs: hs, store: store}
	hs.waits.limited = cfg.Limited
	s := &Service{
		cfg: cfg, reg: cfg.Registration, as: as, hs: hs, store: store, clock: clock,
		rooms: rooms, sends: &sends{hs: hs, store: store, rooms: rooms, clock: clock, began: clock.Now()},
		carriers: map[bridge.UserID]Carrier{}, machines: map[bridge.UserID]bool{hs.bot: true},
		wake: make(chan struct{}, 1), pushes: pushes{wake: make(chan struct{}, 1)},
	}
	as.QueryHandler = queries{bot: as.BotMXID()}
	if cfg.Encryption != nil {
		if s.cipher, err = newCipher(*cfg.Encryption, s); err != nil {
			return nil, err
		}
		s.sends.cipher = s.cipher
	}
	for _, c := range cfg.Carriers {
		s.carriers[c.User], s.machines[c.User] = c, true
	}
	for _, b := range cfg.Bots {
		s.machines[b] = true
	}
	return s, nil
}

// Bot is the user id that the bridge speaks with.
func (s *Service) Bot() bridge.UserID { return s.hs.bot }

// Handler serves what the homeserver calls: the transactions, and mautrix's queries and ping, whose bodies hold next to
// nothing.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /_matrix/app/v1/transactions/{txnID}", s.putTransaction)
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /_matrix/app/v1/rooms/{roomAlias}": s.as.GetRoom,
		"GET /_matrix/app/v1/users/{userID}":    s.as.GetUser,
		"POST /_matrix/app/v1/ping":             s.as.PostPing,
	} {
		mux.Handle(pattern, http.MaxBytesHandler(h, maxOther))
	}
	return mux
}

// Run handles what comes in until ctx ends: the inbox, and a sync for what is not pushed. It returns an error only when it
// cannot go on.
func (s *Service) Run(ctx context.Context, engine Engine) error {
	err := s.distrustRooms(ctx)
	if err == nil {
		_, err = s.store.UnlockAllEvents(ctx, s.clock.Now()) // a key may have come when we ended
	}
	if err != nil {
		return cmp.Or(ctx.Err(), err) // whoever is asked to end while it commits is told many things by a database
	}
	var running sync.WaitGroup
	running.Go(func() { s.sync(ctx, engine) })
	running.Go(func() { s.heedPushed(ctx, engine) })
	running.Go(func() { (&worker{s: s, engine: engine}).run(ctx) })
	running.Wait()
	return nil
}

// arrived tells the worker that there may be something to do.
func (s *Service) arrived() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
