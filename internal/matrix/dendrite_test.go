package matrix

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
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
	cutPUT atomic.Int32 // how many sends lose their answer, once the homeserver has them
	onCut  func()
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func startReal(t *testing.T) *real {
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
	r.db, err = sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(dir, "q.db"), Log: zerolog.Nop()})
	noError(t, err)
	for name, into := range map[string]**testserver.User{"alice": &r.alice, "bob": &r.bob, "pod": &r.pod} {
		*into, err = r.hs.Register(within(t), testserver.Account{Name: name})
		noError(t, err)
	}
	r.Service, err = New(Config{
		ServerName: "question.test", HomeserverURL: r.proxy(), Registration: reg, Invite: []string{"question.test"}, Keycaps: true,
		Redactions: RedactionsAuto, Carriers: []Carrier{{User: bridge.UserID(r.pod.ID), Agent: "pod"}},
	}, r.db, bridge.SystemClock{})
	noError(t, err)
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: r.db, Channel: r.Service, Gatekeeper: r.Service, Notifier: noNotifier{}, Clock: bridge.SystemClock{},
		Unthreaded: bridge.UnthreadedDirect, Owed: func() {
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
	r.t.Cleanup(func() {
		stop()
		_ = server.Close()
		running.Wait()
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
		if resp.Request.Method == http.MethodPut && strings.Contains(resp.Request.URL.Path, "/send/m.room.message/") && r.cutPUT.Add(-1) >= 0 {
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
	q.ID = bridge.NewQuestionID()
	q.Dialect, q.Asker, q.AskedBy, q.Conversation, q.ElicitationID, q.Digest = bridge.Core, "ci", "ci", bridge.ConversationID(room), string(q.ID), string(q.ID)
	q.CreatedAt = time.Now().UTC().Truncate(time.Millisecond)
	q.ExpiresAt, q.ForgetAfter = q.CreatedAt.Add(time.Hour), q.CreatedAt.Add(24*time.Hour)
	_, _, err := r.engine.Ask(within(r.t), q)
	noError(r.t, err)
	var m string
	r.eventually("the question stands in the room", func() bool { // the homeserver may be down meanwhile
		all, _ := r.alice.Messages(within(r.t), room)
		for _, e := range all {
			if e.Field("elicitation_id") == string(q.ID) && e.NewBody() == "" {
				m = e.ID
			}
		}
		return m != ""
	})
	return q, m
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

func TestDendrite(t *testing.T) {
	r := startReal(t)
	t.Run("answers", func(t *testing.T) { r.t = t; testAnswers(r) })
	t.Run("set", func(t *testing.T) { r.t = t; testRealSet(r) })
	t.Run("redaction", func(t *testing.T) { r.t = t; testRealRedaction(r) })
	t.Run("carrier", func(t *testing.T) { r.t = t; testRealCarrier(r) })
	t.Run("upgrade", func(t *testing.T) { r.t = t; testRealUpgrade(r) })
	t.Run("kick", func(t *testing.T) { r.t = t; testRealKick(r) })
	t.Run("encrypted", func(t *testing.T) { r.t = t; testRealEncrypted(r) })
	t.Run("lost answer", func(t *testing.T) { r.t = t; testRealLostAnswer(r) })
}

// testAnswers: every way in which people answer, and what they see afterwards.
func testAnswers(r *real) {
	room := r.room()
	for name, answer := range map[string]func(ctx context.Context, m string) error{
		"thread": func(ctx context.Context, m string) error {
			_, err := r.bob.ThreadReply(ctx, room, m, "SKIP them")
			return err
		},
		"element thread": func(ctx context.Context, m string) error {
			_, err := r.bob.SendEvent(ctx, room, "m.room.message", map[string]any{"msgtype": "m.text", "body": "2", "m.mentions": map[string]any{},
				"m.relates_to": map[string]any{"rel_type": "io.element.thread", "event_id": m, "is_falling_back": true}})
			return err
		},
		"reply with the old quote": func(ctx context.Context, m string) error {
			_, err := r.bob.Reply(ctx, room, m, "> <@questions:question.test> May I?\n> 1. Run the tests\n> 2. Skip them\n\nskip")
			return err
		},
		"reaction": func(ctx context.Context, m string) error {
			_, err := r.bob.React(ctx, room, m, "2️⃣")
			return err
		},
		"correction": func(ctx context.Context, m string) error {
			id, err := r.bob.ThreadReply(ctx, room, m, "wait, let me look")
			if err != nil {
				return err
			}
			_, err = r.bob.Edit(ctx, room, id, "2")
			return err
		},
	} {
		r.t.Run(name, func(t *testing.T) {
			r := &real{Service: r.Service, t: t, hs: r.hs, engine: r.engine, db: r.db, alice: r.alice, bob: r.bob, pod: r.pod}
			q, m := r.ask(room, plain())
			r.wait(r.alice, room, func(e testserver.Event) bool {
				return e.Type == "m.reaction" && e.Relation().EventID == m && e.Relation().Key == "2️⃣"
			})
			noError(t, answer(within(t), m))
			o := r.outcome(room, string(q.ID))
			if o["option_id"] != "skip" || o["decided_by"] != r.bob.ID || o["question_event_id"] != m {
				t.Errorf("the outcome is %v", o)
			}
			r.wait(r.alice, room, func(e testserver.Event) bool {
				return e.Relation().Type == "m.replace" && e.Relation().EventID == m && strings.HasPrefix(e.NewBody(), "Answered by bob")
			})
			r.eventually("both reactions are gone", func() bool {
				effects, err := r.db.SendsOf(within(t), q.ID)
				noError(t, err)
				gone := 0
				for _, s := range effects {
					if !strings.Contains(s.Key, keycapPart) || s.Message == "" {
						continue
					}
					if e, err := r.alice.Event(within(t), room, string(s.Message)); err == nil && len(e.Relation().Key) == 0 {
						gone++
					}
				}
				return gone == 2
			})
		})
	}
}

func testRealSet(r *real) {
	room := r.room()
	set := plain()
	set.Items[0].Header = "tests"
	set.Items = append(set.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	q, m := r.ask(room, set)
	_, err := r.bob.ThreadReply(within(r.t), room, m, "1")
	noError(r.t, err)
	r.wait(r.bob, room, func(e testserver.Event) bool {
		return e.Field("elicitation_id") == string(q.ID)+"/2" && e.NewBody() == ""
	})
	r.eventually("the second step has come back", func() bool {
		p, err := r.db.Posting(within(r.t), q.ID)
		noError(r.t, err)
		current, _ := p.Current()
		return !p.Moving && len(p.Messages) == 2 && current.Seq != 0
	})
	_, err = r.bob.ThreadReply(within(r.t), room, m, "main")
	noError(r.t, err)
	if o := r.outcome(room, string(q.ID)); len(o["items"].([]any)) != 2 {
		r.t.Errorf("the outcome is %v", o)
	}
}

// testRealRedaction: Dendrite never pushes redactions, so this one comes by /sync.
func testRealRedaction(r *real) {
	room := r.room()
	q, m := r.ask(room, plain())
	r.eventually("the sync has begun", func() bool {
		token, err := r.db.Value(within(r.t), valueSyncToken)
		noError(r.t, err)
		return token != ""
	})
	_, err := r.alice.Redact(within(r.t), room, m)
	noError(r.t, err)
	r.eventually("the question is redacted", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == bridge.ReasonRedacted
	})
}

func testRealCarrier(r *real) {
	room := r.room(r.pod.ID)
	ctx := within(r.t)
	_, err := r.pod.Join(ctx, room)
	noError(r.t, err)
	var content object = readObject([]byte(carriedQuestion))
	m, err := r.pod.SendEvent(ctx, room, "m.room.message", content)
	noError(r.t, err)
	r.eventually("the question is adopted", func() bool {
		_, ok, err := r.db.QuestionOf(ctx, bridge.ConversationID(room), bridge.MessageID(m))
		noError(r.t, err)
		return ok
	})
	_, err = r.bob.ThreadReply(ctx, room, m, "1")
	noError(r.t, err)
	e := r.wait(r.pod, room, func(e testserver.Event) bool { return e.Field(outcomeKey) != nil })
	if o := e.Field(outcomeKey).(map[string]any); o["option_id"] != "run_them" || o["board_id"] != "brd_1" || e.Relation().EventID != m {
		r.t.Errorf("the carrier reads %v", o)
	}
}

func testRealUpgrade(r *real) {
	room := r.room()
	q, _ := r.ask(room, plain())
	ctx := within(r.t)
	next, err := r.alice.Upgrade(ctx, room, "11")
	noError(r.t, err)
	r.eventually("the question is unanswerable", func() bool {
		q, err := r.db.Question(ctx, q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == bridge.ReasonRoomUpgraded
	})
	noError(r.t, r.alice.Invite(ctx, next, string(r.Bot())))
	again := r.wait(r.alice, next, func(e testserver.Event) bool { return e.Field("elicitation_id") == string(q.ID) })
	_, err = r.alice.ThreadReply(ctx, next, again.ID, "2")
	noError(r.t, err)
	if o := r.outcome(next, string(q.ID)); o["option_id"] != "skip" {
		r.t.Errorf("the outcome is %v", o)
	}
}

func testRealKick(r *real) {
	room := r.room()
	q, _ := r.ask(room, plain())
	ctx := within(r.t)
	noError(r.t, r.alice.Kick(ctx, room, string(r.Bot())))
	r.eventually("the question is unanswerable", func() bool {
		q, err := r.db.Question(ctx, q.ID)
		noError(r.t, err)
		return q.Delivery.Reason == reasonNotInRoom
	})
	if err := r.Supports(ctx, bridge.ConversationID(room)); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
		r.t.Errorf("a room we were kicked from: %v", err)
	}
}

func testRealEncrypted(r *real) {
	ctx := within(r.t)
	room, err := r.alice.CreateRoom(ctx, testserver.Room{Invite: []string{string(r.Bot())}, Encrypted: true})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, room, string(r.Bot()), "join"))
	err = r.Supports(ctx, bridge.ConversationID(room))
	if bridge.CodeOf(err) != bridge.CodeRoomUnanswerable || !strings.Contains(err.Error(), "built without encryption") {
		r.t.Errorf("an encrypted room: %v", err)
	}
}

// testRealLostAnswer: the homeserver takes the question, the answer to that is lost, and the homeserver is killed, which
// makes it forget its transaction ids. The question is posted once.
func testRealLostAnswer(r *real) {
	room := r.room()
	restarted := make(chan struct{})
	r.onCut = func() {
		defer close(restarted)
		_ = r.hs.Kill()
		_ = r.hs.Restart(context.Background())
	}
	r.cutPUT.Store(1)
	q, m := r.ask(room, plain())
	<-restarted
	r.eventually("the question counts as posted", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return q.Delivery.State == bridge.Posted && string(q.Delivery.Message) == m
	})
	_, err := r.bob.ThreadReply(within(r.t), room, m, "2")
	noError(r.t, err)
	r.outcome(room, string(q.ID))
	all, err := r.alice.Messages(within(r.t), room)
	noError(r.t, err)
	posted := 0
	for _, e := range all {
		if e.Field("elicitation_id") == string(q.ID) && e.NewBody() == "" {
			posted++
		}
	}
	if posted != 1 {
		r.t.Errorf("posted %d times", posted)
	}
}
