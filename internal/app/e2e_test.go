package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// The test program is also the bridge: called with these in its environment it serves a configuration, as questiond
// does, and dies where it is told to.
const (
	envServe = "QUESTION_TEST_SERVE" // path of a configuration
	envDie   = "QUESTION_TEST_DIE"   // where to die, see deaths
	envBare  = "QUESTION_TEST_BARE"  // be no bridge at all, see serveBare
	envLock  = "QUESTION_TEST_LOCK"  // be no bridge at all, see holdWriteLock
)

func TestMain(m *testing.M) {
	if os.Getenv(envBare) != "" {
		fmt.Fprintln(os.Stderr, serveBare())
		os.Exit(1)
	}
	if path := os.Getenv(envServe); path != "" {
		if err := serveForTest(path, os.Getenv(envDie)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(envLock); path != "" {
		if err := holdWriteLock(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// deaths are the places where a bridge under test kills itself.
var deaths = map[string]func(b *parts){
	"":        func(*parts) {},
	"receive": func(b *parts) { b.receiver = deadly{b.receiver} },
	"settled": func(b *parts) {
		kind := b.outbox.Kinds[bridge.EffectSettled]
		kind.Handler = dying{}
		b.outbox.Kinds[bridge.EffectSettled] = kind
	},
	"response": func(b *parts) { b.around = mute("/api/queries/") },
	"webhook":  func(b *parts) { b.hooks.replace(func(outbox.Handler) outbox.Handler { return dying{} }) },
	"submission": func(b *parts) {
		b.submits.Kinds[host.EffectSubmit] = outbox.Kind{Handler: dying{}}
	},
	"receipt": receiptLost,
	"handed over": func(b *parts) {
		b.submits.Kinds[host.EffectSubmit] = outbox.Kind{Handler: dyingAfter{b.submits.Kinds[host.EffectSubmit].Handler}}
	},
	// Nobody dies here: for whoever signed in before, time has passed.
	"a session later": func(b *parts) { b.api.Clock = ahead(httpapi.SessionLifetime) },

	"webhooked": func(b *parts) { b.hooks.replace(func(h outbox.Handler) outbox.Handler { return dyingAfter{h} }) },
}

type dying struct{}

func (dying) Run(context.Context, bridge.Effect) error { return die() }

// deadly dies when somebody does something, between the answer to the homeserver and the handling.
type deadly struct{ matrix.Engine }

func (deadly) Receive(context.Context, bridge.Interaction) error { return die() }

func die() error {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func serveForTest(path, death string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(path, os.Getenv)
	if err != nil {
		return err
	}
	reg, err := cfg.LoadRegistration()
	if err != nil {
		return err
	}
	opts := Options{Config: cfg, Registration: reg, Log: zerolog.New(os.Stderr).Level(zerolog.DebugLevel).With().Timestamp().Logger()}
	ctx = opts.Log.WithContext(ctx)
	b, err := assemble(ctx, opts)
	if err != nil {
		return err
	}
	defer b.close()
	listeners, err := opts.listen(ctx)
	if err != nil {
		return err
	}
	b.around = asDescribed
	deaths[death](b)
	go b.report(ctx)
	return b.run(ctx, listeners, func(Addresses) { fmt.Println("ready") })
}

// asDescribed makes a bridge under test end as soon as its API answers other than /openapi.json says.
func asDescribed(api http.Handler) http.Handler {
	return apitest.Around(api, func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	})
}

// stage is a homeserver, a bridge on it as a process of its own, and people in a room.
type stage struct {
	t          *testing.T
	ctx        context.Context
	server     *testserver.Server
	alice, bob *testserver.User
	hub        *testserver.User // a carrier
	room       string
	config     string
	token      string
	api        string
	env        []string // of the bridge, besides
	proxy      *proxy
	bridge     *exec.Cmd
	log        *logBuffer
}

const bot = "@questions:question.test"

// newStage starts everything but the bridge, which is to use SQLite.
func newStage(t *testing.T) *stage { return newStageWith(t, func(*config.Config) {}) }

// newStageWith starts the same for a bridge whose configuration is changed.
func newStageWith(t *testing.T, change func(*config.Config)) *stage {
	t.Helper()
	d := newSQLite(t)
	return newStageOf(t, func(c *config.Config) { c.Database = d; change(c) })
}

func newStageOn(t *testing.T, d config.Database) *stage {
	t.Helper()
	return newStageOf(t, func(c *config.Config) { c.Database = d })
}

func newStageOf(t *testing.T, change func(*config.Config)) *stage {
	t.Helper()
	t.Parallel()
	return newStageBeside(t, change)
}

// newStageBeside starts one more of them in a test.
func newStageBeside(t *testing.T, change func(*config.Config)) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx}
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Homeserver.Domain = "question.test"
	cfg.API.Listen, cfg.Appservice.Listen = freeAddress(t), freeAddress(t)
	cfg.Appservice.URL = "http://" + cfg.Appservice.Listen
	s.api = "http://" + cfg.API.Listen
	registration := filepath.Join(dir, "registration.yaml")
	s.ok(cfg.NewRegistration().Save(registration, false))

	server, err := testserver.Start(ctx, testserver.Options{DataDir: filepath.Join(dir, "homeserver"), Registrations: []string{registration}})
	s.ok(err)
	t.Cleanup(func() { _ = server.Stop() })
	s.server = server
	s.alice, s.bob, s.hub = s.person("Alice"), s.person("Bob"), s.person("Hub")
	s.room, err = s.alice.CreateRoom(ctx, testserver.Room{Name: "Ops", Invite: []string{s.bob.ID, s.hub.ID, bot}})
	s.ok(err)
	for _, u := range []*testserver.User{s.bob, s.hub} {
		_, err := u.Join(ctx, s.room)
		s.ok(err)
	}

	s.proxy = newProxy(t, server.URL)
	cfg.Homeserver.URL = s.proxy.url
	cfg.Rooms = []config.Room{{Code: "OPS", Room: s.room, Name: "Ops"}}
	cfg.Agents = []config.Agent{{ID: "ci", Name: "CI"}, {ID: "hub", Name: "The hub"}}
	cfg.Carriers = []config.Carrier{{UserID: s.hub.ID, Agent: "hub"}}
	cfg.Join.From, cfg.Auth.OpenID.Servers = []string{"question.test"}, []string{"question.test"}
	change(&cfg)
	s.config = filepath.Join(dir, "config.yaml")
	s.ok(cfg.Save(s.config, "A bridge under test."))
	cfg, err = config.Load(s.config, os.Getenv)
	s.ok(err)
	tokens, err := OpenTokens(ctx, cfg)
	s.ok(err)
	s.token, _, err = tokens.Add(ctx, Grant{Agent: "ci", Rooms: []string{"*"}})
	s.ok(err)
	s.ok(tokens.Close())
	return s
}

func (s *stage) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) person(name string) *testserver.User {
	s.t.Helper()
	u, err := s.server.Register(s.ctx, testserver.Account{Name: strings.ToLower(name), Password: "secret-" + name, DisplayName: name})
	s.ok(err)
	return u
}

// freeAddress gives an address that nobody listens at, and none twice.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		address := l.Addr().String()
		_ = l.Close()
		if _, given := freeAddresses.LoadOrStore(address, true); !given {
			return address
		}
	}
}

var freeAddresses sync.Map

// start runs the bridge, which dies at the given place, and returns when it is ready and in the room.
func (s *stage) start(death string) {
	s.t.Helper()
	s.bridge, s.log = exec.Command(os.Args[0]), &logBuffer{}
	s.bridge.Env = append(append(os.Environ(), s.env...), envServe+"="+s.config, envDie+"="+death)
	s.bridge.Stderr = s.log
	out, err := s.bridge.StdoutPipe()
	s.ok(err)
	s.ok(s.bridge.Start())
	s.t.Cleanup(func() {
		_ = s.bridge.Process.Kill()
		_ = s.bridge.Wait()
		if strings.Contains(s.log.String(), "DATA RACE") { // a process of its own fails no test by itself
			s.t.Error("the bridge has a data race")
		}
		if s.t.Failed() {
			s.t.Logf("the bridge's log:\n%s", s.log)
		}
	})
	ready := make(chan error, 1)
	go func() {
		_, err := out.Read(make([]byte, 6))
		ready <- err
	}()
	select {
	case err := <-ready:
		s.ok(err)
	case <-time.After(30 * time.Second):
		s.t.Fatal("the bridge does not get ready")
	}
	s.ok(s.alice.WaitForMember(s.ctx, s.room, bot, "join"))
}

// kill ends the bridge without a word.
func (s *stage) kill() {
	s.t.Helper()
	s.ok(s.bridge.Process.Signal(syscall.SIGKILL))
	s.gone()
}

// gone waits until the bridge has ended.
func (s *stage) gone() {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { _ = s.bridge.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-s.ctx.Done():
		s.t.Fatal("the bridge goes on")
	}
}

func (s *stage) client() *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{Server: s.api, Token: s.token})
	s.ok(err)
	return c
}

// ask asks the question of the field cases and returns it with the event that it stands in.
func (s *stage) ask(body string) (question string, event testserver.Event) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.api+"/api/agent/rooms/OPS/questions", strings.NewReader(body))
	s.ok(err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	s.ok(err)
	defer resp.Body.Close()
	var q struct{ ID, Detail string }
	s.ok(json.NewDecoder(resp.Body).Decode(&q))
	if resp.StatusCode != http.StatusCreated {
		s.t.Fatalf("the ask was answered with %d: %s", resp.StatusCode, q.Detail)
	}
	return q.ID, s.posted(q.ID)
}

func (s *stage) posted(question string) testserver.Event {
	s.t.Helper()
	event, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Field("elicitation_id") == question })
	s.ok(err)
	return event
}

const threeWays = `{"prompt":"May I run the tests?","options":[{"value":"run_them","label":"Run the tests"},{"value":"skip","label":"Skip them"},{"value":"later","label":"Ask me later"}]}`

// outcome waits for the notice that closes a question and returns what it says.
func (s *stage) outcome(u *testserver.User, question string) map[string]any {
	s.t.Helper()
	event, err := u.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.MsgType() == "m.notice" && e.Field("dev.superpipeline.question.outcome", "elicitation_id") == question
	})
	s.ok(err)
	outcome, _ := event.Field("dev.superpipeline.question.outcome").(map[string]any)
	return outcome
}

// awaitAnswer waits for the question as its asker and wants it answered with a value.
func (s *stage) awaitAnswer(question, value string, by *testserver.User) {
	s.t.Helper()
	outcome, err := s.client().Await(s.ctx, question)
	s.ok(err)
	if !outcome.Chose(value) {
		got, _ := outcome.Value()
		s.t.Fatalf("the answer is %q (%v), want %q", got, outcome.State, value)
	}
	if who, _ := outcome.Responder(); who.ID != by.ID {
		s.t.Errorf("answered by %s, want %s", who.ID, by.ID)
	}
}

// count says how many of the room's events match.
func (s *stage) count(match func(e testserver.Event) bool) int {
	s.t.Helper()
	events, err := s.alice.Messages(s.ctx, s.room)
	s.ok(err)
	n := 0
	for _, e := range events {
		if match(e) {
			n++
		}
	}
	return n
}

func coreAsk() *schema.CoreAsk {
	return &schema.CoreAsk{Prompt: "May I run the tests?", Options: []schema.AskOption{
		{Value: "run_them", Label: "Run the tests", Style: schema.StyleDefault}, {Value: "skip", Label: "Skip them", Style: schema.StyleDefault},
	}}
}
