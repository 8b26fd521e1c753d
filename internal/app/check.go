package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
)

// Finding is one thing that was checked.
type Finding struct {
	What string // what was checked, as a statement
	Err  error  // why it does not hold; nil if it does
	Note string // what was found, or why nothing can be said
	Hint string // what to do about Err
}

// checkTimeout bounds each request to the homeserver.
const checkTimeout = 10 * time.Second

// Check tries everything that the bridge needs at run time: the homeserver, the bot's token, being called back, the
// configured rooms, signing in, the webhooks, the database, the keys of encrypted rooms, and the audit log. It changes nothing
// beside making or upgrading the database, and making the audit log. One finding follows another even if it fails, except where
// the first makes the next meaningless.
func Check(ctx context.Context, cfg config.Config, reg config.Registration) []Finding {
	c := &check{cfg: cfg, reg: reg, http: &http.Client{Timeout: checkTimeout}}
	if c.known = c.versions(ctx) && c.whoami(ctx); c.known {
		c.ping(ctx)
		c.rooms(ctx)
		c.signIn(ctx)
	}
	c.webhooks(ctx)
	if c.database(ctx) {
		c.deliveries(ctx)
		if cfg.Encryption.Enabled {
			c.encryption(ctx)
		}
	}
	c.audit()
	return c.findings
}

type check struct {
	cfg      config.Config
	reg      config.Registration
	http     *http.Client
	spec     versions
	known    bool // the homeserver answers, and knows the bot
	findings []Finding
}

func (c *check) add(f Finding) bool {
	c.findings = append(c.findings, f)
	return f.Err == nil
}

func (c *check) versions(ctx context.Context) bool {
	f := Finding{
		What: "the homeserver answers at " + c.cfg.Homeserver.URL,
		Hint: "is homeserver.url the address of its client API, as seen from this machine?",
	}
	f.Err = c.get(ctx, &c.spec, "_matrix", "client", "versions")
	if f.Err == nil && len(c.spec.Versions) == 0 {
		f.Err = fmt.Errorf("what answers names no Matrix version")
	}
	if f.Err == nil {
		f.Note = "speaks up to " + c.spec.Versions[len(c.spec.Versions)-1]
	}
	return c.add(f)
}

func (c *check) whoami(ctx context.Context) bool {
	var who struct {
		UserID string `json:"user_id"`
	}
	f := Finding{
		What: "the homeserver knows the bot as " + c.cfg.BotID(),
		Hint: "give it " + c.cfg.Appservice.Registration + " and restart it; see the README, \"Registering\"",
	}
	f.Err = c.get(ctx, &who, "_matrix", "client", "v3", "account", "whoami")
	if f.Err == nil && who.UserID != c.cfg.BotID() {
		f.Err = fmt.Errorf("the token belongs to %s", who.UserID)
		f.Hint = "homeserver.domain and appservice.bot.localpart must be those of the registration the homeserver has"
	}
	return c.add(f)
}

// ping asks the homeserver to call us, on a listener of our own unless a running bridge has the address.
func (c *check) ping(ctx context.Context) {
	f := Finding{
		What: "the homeserver reaches the bridge at " + c.reg.URL,
		Hint: "appservice.url must lead from the homeserver to appservice.listen",
	}
	if !c.spec.supportPing() {
		f.Note = "cannot be checked: this homeserver has no ping"
		c.add(f)
		return
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.cfg.Appservice.Listen)
	if err == nil {
		server := &http.Server{Handler: pingHandler(c.reg.HSToken), ReadHeaderTimeout: checkTimeout}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
	} else {
		f.Note = "appservice.listen is taken, by the running bridge as it seems"
	}
	f.Err = c.post(ctx, "_matrix", "client", "v1", "appservice", c.reg.ID, "ping")
	c.add(f)
}

// pingHandler answers the ping alone; whatever else is pushed meanwhile is refused, and pushed again later.
func pingHandler(hsToken string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /_matrix/app/v1/ping", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+hsToken {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	return mux
}

func (c *check) rooms(ctx context.Context) {
	var joined struct {
		Rooms []string `json:"joined_rooms"`
	}
	joinedErr := c.get(ctx, &joined, "_matrix", "client", "v3", "joined_rooms")
	for _, room := range c.cfg.Rooms {
		f := Finding{What: fmt.Sprintf("the bot is in room %s (%s)", room.Code, room.Room), Err: joinedErr}
		roomID := room.Room
		if f.Err == nil && strings.HasPrefix(room.Room, "#") {
			var alias struct {
				RoomID string `json:"room_id"`
			}
			f.Err = c.get(ctx, &alias, "_matrix", "client", "v3", "directory", "room", room.Room)
			f.Hint = "is the alias right? a room id works too"
			roomID = alias.RoomID
		}
		if f.Err == nil && !slices.Contains(joined.Rooms, roomID) {
			f.Err = fmt.Errorf("it is not")
			f.Hint = "invite " + c.cfg.BotID() + " into it, from an account that join.from allows, while the bridge runs"
		}
		c.add(f)
	}
}

func (c *check) database(ctx context.Context) bool {
	f := Finding{What: "the " + c.cfg.Database.Type + " database opens"}
	switch c.cfg.Database.Type {
	case config.SQLite:
		f.Hint = "database.path must be a file that this user may write: " + c.cfg.Database.Path
	case config.Postgres:
		f.Hint = "is database.uri right, and may its user create tables?"
	}
	tokens, err := OpenTokens(ctx, c.cfg)
	if f.Err = err; err == nil {
		f.Err = tokens.Close()
	}
	return c.add(f)
}
