package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// rig is a bridge on a database of its own in this process, wired as always and not running.
type rig struct {
	*parts
	tb       testing.TB
	log      zerolog.Logger
	reg      config.Registration
	pending  int
	token    string // of the agent "ci"
	sentinel int    // for ids that are new
}

// few is how many questions are pending where a benchmark does not say otherwise, each in a room of its own.
const few = 1000

const benchDomain = "bench.test"

// nowhere is the homeserver of a bridge that needs none.
const nowhere = "http://127.0.0.1:1"

// newRig makes a bridge with so many pending questions.
func newRig(b *testing.B, pending int, homeserver string) *rig {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench.db")
	fill(b, path, pending)
	r := rigOn(b, path, homeserver)
	r.pending = pending
	return r
}

func benchConfig(path, homeserver string) config.Config {
	cfg := config.Default()
	cfg.Homeserver = config.Homeserver{URL: homeserver, Domain: benchDomain}
	cfg.Database.Path = path
	unhurried := config.Limit{PerMinute: 60_000, Burst: 60_000}
	cfg.Limits = config.Limits{Agent: unhurried, Room: unhurried, Person: unhurried.Pace()}
	return cfg
}

func rigOn(b *testing.B, path, homeserver string) *rig {
	return rigOf(b, benchConfig(path, homeserver), benchLog())
}

func rigOf(tb testing.TB, cfg config.Config, log zerolog.Logger) *rig {
	tb.Helper()
	r := &rig{tb: tb, log: log, reg: cfg.NewRegistration()}
	var err error
	r.parts, err = assemble(tb.Context(), Options{Config: cfg, Registration: r.reg, Log: log})
	r.ok(err)
	tb.Cleanup(r.close)
	r.token = r.grant(Grant{Agent: "ci", Rooms: []string{"*"}})
	return r
}

// grant makes a token and gives its secret.
func (r *rig) grant(g Grant) string {
	r.tb.Helper()
	secret, _, err := (&Tokens{book: r.store}).Add(r.tb.Context(), g)
	r.ok(err)
	return secret
}

// benchLog writes what a bridge logs by default, to nowhere.
func benchLog() zerolog.Logger { return zerolog.New(io.Discard).Level(zerolog.InfoLevel) }

func (r *rig) ok(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

// until waits for what no signal tells of, for a minute.
func (r *rig) until(what string, true func() bool) {
	r.tb.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.tb.Fatalf("it never came to this: %s", what)
		}
	}
}

// done leaves the database as it is when every event was handled and nothing is owed.
func (r *rig) done() {
	r.tb.Helper()
	r.exec(`UPDATE inbox SET state = 'handled', raw = NULL WHERE state = 'waiting'`)
	r.exec(`DELETE FROM effects`)
}

func (r *rig) exec(query string, args ...any) {
	r.tb.Helper()
	_, err := r.store.Database().Exec(context.Background(), query, args...)
	r.ok(err)
}

// listen serves a handler on the loopback, by the server that the API has, and gives its URL.
func listen(tb testing.TB, h http.Handler) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := httpapi.HTTPServer(h)
	server.BaseContext = func(net.Listener) context.Context { return benchLog().WithContext(context.Background()) }
	go func() { _ = server.Serve(l) }()
	tb.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// newClient keeps so many connections.
func newClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
}
