package matrix

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// real is a bridge running against a real Dendrite, through a proxy that can cut connections.
type real struct {
	*Service
	t      *testing.T
	hs     *testserver.Server
	engine *bridge.Engine
	db     *sqlstore.Store
	alice  *testserver.User
	bob    *testserver.User
	pod    *testserver.User
	owed   chan struct{}
	stop   func()       // ends the bridge
	cutPUT atomic.Int32 // how many sends lose their answer, once the homeserver has them
	onCut  func()
	lie    atomic.Pointer[func(path string, body []byte) []byte] // what the homeserver's answers become
}

// fullPower is what the creator of a room has.
var fullPower int64 = 100

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // a killed homeserver may hold its pushes back for more than a minute
	t.Cleanup(cancel)
	return ctx
}

func startReal(t *testing.T) *real { return startRealWith(t, func(*Config, *sqlstore.Store) {}) }

// startRealWith starts one whose configuration is changed.
func startRealWith(t *testing.T, change func(*Config, *sqlstore.Store)) *real {
	t.Helper()
	return setup{change: change}.start(t)
}

// setup is how a bridge is made.
type setup struct {
	change   func(*Config, *sqlstore.Store)
	database sqlstore.Config        // a new file of SQLite unless set
	between  func(real Store) Store // what the channel keeps things in; the database unless set
}

func (up setup) start(t *testing.T) *real {
	t.Helper()
	r := &real{t: t, owed: make(chan struct{}, 1)}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	reg := NewRegistration("questions", "http://"+listener.Addr().String(), "questions", "question.test")
	path := filepath.Join(dir, "registration.yaml")
	noError(t, reg.Save(path))
	r.hs, err = testserver.Start(within(t), testserver.Options{DataDir: filepath.Join(dir, "dendrite"), Registrations: []string{path}})
	noError(t, err)
	t.Cleanup(func() { _ = r.hs.Stop() })
	if up.database.Type == "" {
		up.database = sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(dir, "q.db")}
	}
	up.database.Log = zerolog.Nop()
	r.db, err = sqlstore.Open(t.Context(), up.database)
	noError(t, err)
	for name, into := range map[string]**testserver.User{"alice": &r.alice, "bob": &r.bob, "pod": &r.pod} {
		*into, err = r.hs.Register(within(t), testserver.Account{Name: name})
		noError(t, err)
	}
	cfg := Config{
		ServerName: "question.test", HomeserverURL: r.proxy(), Registration: reg, Invite: []string{"question.test"}, Keycaps: true,
		Redactions: RedactionsAuto, Admins: Admins{PowerLevel: &fullPower}, Carriers: []Carrier{{User: bridge.UserID(r.pod.ID), Agent: "pod"}},
	}
	cfg.IsCommand = func(text string) bool { return r.engine.IsCommand(text) }
	up.change(&cfg, r.db)
	store := Store(r.db)
	if up.between != nil {
		store = up.between(r.db)
	}
	r.Service, err = New(cfg, store, bridge.SystemClock{})
	noError(t, err)
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: r.db, Channel: r.Service, Gatekeeper: r.Service, Notifier: noNotifier{}, Clock: bridge.SystemClock{},
		Unthreaded: bridge.UnthreadedDirect, Commanders: []bridge.Commander{listing{}}, Owed: func() {
			select {
			case r.owed <- struct{}{}:
			default:
			}
		},
	})
	r.serve(listener)
	return r
}

// serve runs everything until the test ends.
func (r *real) serve(listener net.Listener) {
	log := zerolog.Nop()
	if os.Getenv("QUESTION_TEST_LOG") != "" {
		log = zerolog.New(zerolog.NewTestWriter(r.t))
	}
	ctx, stop := context.WithCancel(log.WithContext(context.Background()))
	server := &http.Server{Handler: r.Handler(), BaseContext: func(net.Listener) context.Context { return ctx }}
	_, err := r.Connect(ctx)
	noError(r.t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	running.Go(func() { _ = r.Run(ctx, r.engine) })
	running.Go(func() { r.outbox(ctx) })
	r.stop = func() {
		stop()
		_ = server.Close()
		running.Wait()
	}
	r.t.Cleanup(func() {
		r.stop()
		_ = r.db.Close()
	})
}

// outbox does what is owed, as the real worker would.
func (r *real) outbox(ctx context.Context) {
	for ctx.Err() == nil {
		effects, err := r.db.ClaimEffects(ctx, time.Now(), time.Minute, 10)
		if err != nil || len(effects) == 0 {
			select {
			case <-ctx.Done():
			case <-r.owed:
			case <-time.After(200 * time.Millisecond):
			}
			continue
		}
		for _, f := range effects {
			switch err := r.engine.Run(ctx, f); {
			case err == nil:
				_ = r.db.FinishEffect(ctx, f.ID)
			default:
				var retry *bridge.ErrRetry
				after := 300 * time.Millisecond
				if errors.As(err, &retry) {
					after = retry.After
				}
				_ = r.db.PostponeEffect(ctx, f.ID, time.Now().Add(after), err.Error())
			}
		}
	}
}

// proxy stands between the bridge and the homeserver.
func (r *real) proxy() string {
	target, err := url.Parse(r.hs.URL)
	noError(r.t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorLog = nil
	forward.ModifyResponse = func(resp *http.Response) error {
		if lie := r.lie.Load(); lie != nil {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			body = (*lie)(resp.Request.URL.Path, body)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		if resp.Request.Method == http.MethodPut && strings.Contains(resp.Request.URL.Path, "/send/m.room.") && r.cutPUT.Add(-1) >= 0 {
			if r.onCut != nil {
				r.onCut()
			}
			return errors.New("cut")
		}
		return nil
	}
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(r.t, err)
	server := &http.Server{Handler: forward}
	go func() { _ = server.Serve(listener) }()
	r.t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// room makes a room of alice and bob that the bot was invited to, and waits until it is in there.
func (r *real) room(invite ...string) string {
	r.t.Helper()
	ctx := within(r.t)
	id, err := r.alice.CreateRoom(ctx, testserver.Room{Name: "Ops", Invite: append([]string{r.bob.ID, string(r.Bot())}, invite...)})
	noError(r.t, err)
	_, err = r.bob.Join(ctx, id)
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, id, string(r.Bot()), "join"))
	return id
}

// ask asks and waits until the question stands in the room.
func (r *real) ask(room string, q bridge.Question) (bridge.Question, string) {
	r.t.Helper()
	return r.stood(room, r.asked(room, q))
}

// named makes a new question of its own, asked in the room.
func (r *real) named(room string, q bridge.Question) bridge.Question {
	q.ID = bridge.NewQuestionID()
	q.Dialect, q.Asker, q.AskedBy, q.Conversation, q.ElicitationID, q.Digest = bridge.Core, "ci", "ci", bridge.ConversationID(room), string(q.ID), string(q.ID)
	return now(q)
}

// now is a question that is asked now.
func now(q bridge.Question) bridge.Question {
	q.CreatedAt = bridge.SystemClock{}.Now()
	q.ExpiresAt, q.ForgetAfter = q.CreatedAt.Add(time.Hour), q.CreatedAt.Add(24*time.Hour)
	return q
}

// stands asks a question whose asker and id are set.
func (r *real) stands(room string, q bridge.Question) (bridge.Question, string) {
	r.t.Helper()
	return r.stood(room, r.stored(q))
}

// stood waits until a question stands in the room.
func (r *real) stood(room string, q bridge.Question) (bridge.Question, string) {
	r.t.Helper()
	var m string
	r.eventually("the question stands in the room", func() bool { // the homeserver may be down meanwhile
		all, _ := r.alice.Messages(within(r.t), room)
		for _, e := range all {
			if e.Field("elicitation_id") == q.ElicitationID && e.NewBody() == "" {
				m = e.ID
			}
		}
		return m != ""
	})
	return q, m
}

// asked asks a question, which may have to wait.
func (r *real) asked(room string, q bridge.Question) bridge.Question {
	r.t.Helper()
	return r.stored(r.named(room, q))
}

func (r *real) stored(q bridge.Question) bridge.Question {
	r.t.Helper()
	q = now(q)
	_, _, err := r.engine.Ask(within(r.t), q)
	noError(r.t, err)
	return q
}

func (r *real) wait(u *testserver.User, room string, match func(testserver.Event) bool) testserver.Event {
	r.t.Helper()
	e, err := u.WaitFor(within(r.t), room, match)
	noError(r.t, err)
	return e
}

// outcome waits for the notice that says how a question ended.
func (r *real) outcome(room string, id string) map[string]any {
	r.t.Helper()
	e := r.wait(r.alice, room, func(e testserver.Event) bool {
		o, ok := e.Field(outcomeKey).(map[string]any)
		return ok && o["elicitation_id"] == id
	})
	if e.MsgType() != "m.notice" {
		r.t.Errorf("the outcome is a %s", e.MsgType())
	}
	return e.Field(outcomeKey).(map[string]any)
}

func (r *real) eventually(what string, ok func() bool) {
	r.t.Helper()
	ctx := within(r.t)
	for !ok() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("it never came to this: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
