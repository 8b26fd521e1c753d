package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

const (
	room   bridge.ConversationID = "!ops:example.org"
	secret                       = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
)

// rig is a store, an engine with the webhooks as its feature, and a lane of each endpoint once they are started.
type rig struct {
	t       *testing.T
	path    string
	store   *sqlstore.Store
	feature *Feature
	engine  *bridge.Engine
	retry   Retry
	egress  egress.Config
	lanes   map[string]*outbox.Worker
	asked   int
}

func newRig(t *testing.T, endpoints ...Endpoint) *rig {
	t.Helper()
	r := &rig{
		t: t, path: filepath.Join(t.TempDir(), "q.db"), lanes: map[string]*outbox.Worker{}, egress: egress.Config{Allow: []string{"127.0.0.1"}},
		retry: Retry{First: 20 * time.Millisecond, Longest: 100 * time.Millisecond, Asked: time.Hour, GiveUp: time.Minute},
	}
	for i := range endpoints {
		endpoints[i].Rooms = []string{EveryRoom}
		if endpoints[i].Secrets == nil {
			endpoints[i].Secrets = []string{secret}
		}
	}
	r.feature = &Feature{Endpoints: endpoints, Rooms: places{room: {Names: []string{string(room)}, Name: "Ops", Code: "OPS"}}, Clock: bridge.SystemClock{}}
	r.open()
	return r
}

// places is what rooms are called.
type places map[bridge.ConversationID]Place

func (p places) Place(_ context.Context, conv bridge.ConversationID) (Place, error) {
	return p[conv], nil
}

type nobody struct{}

func (nobody) Notify(bridge.QuestionID) {}

// open opens the store, once more when it was closed: all that was in memory is new then.
func (r *rig) open() {
	r.t.Helper()
	store, err := sqlstore.Open(r.t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: r.path, Log: zerolog.Nop()})
	r.ok(err)
	r.t.Cleanup(func() { _ = store.Close() })
	r.ok(store.ReleaseDeliveries(r.t.Context(), time.Now()))
	r.store, r.feature.Store = store, store
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: store, Notifier: nobody{}, Clock: bridge.SystemClock{}, Features: []bridge.Feature{r.feature},
		Owed: func() {
			for _, l := range r.lanes {
				l.Wake()
			}
		},
	})
}

// start works on every endpoint's lane, and gives what ends that and waits until it has ended.
func (r *rig) start() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	for _, e := range r.feature.Endpoints {
		lane := &outbox.Worker{
			Store: r.store.Lane(e.Name, bridge.SystemClock{}), Clock: bridge.SystemClock{}, Parallel: 4, Lease: time.Minute,
			Kinds: map[bridge.EffectKind]outbox.Kind{bridge.EffectWebhook: {Handler: r.sender(e, bridge.SystemClock{})}},
		}
		r.lanes[e.Name] = lane
		running.Go(func() { _ = lane.Run(ctx) })
	}
	stop = func() { cancel(); running.Wait() }
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) sender(e Endpoint, clock bridge.Clock) *Sender {
	r.t.Helper()
	client, err := egress.New(r.egress)
	r.ok(err)
	s, err := NewSender(e, Means{Caller: client, Book: r.store, Clock: clock, Retry: r.retry})
	r.ok(err)
	return s
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// ask stores a question.
func (r *rig) ask() bridge.Question {
	r.t.Helper()
	r.asked++
	id, now := bridge.QuestionID(fmt.Sprintf("q_%d", r.asked)), bridge.SystemClock{}.Now()
	corr := "corr-" + string(id)
	q := bridge.Question{
		ID: id, Asker: "ci", AskedBy: "CI", Conversation: room, Dialect: bridge.Core, ElicitationID: string(id), CorrelationID: &corr,
		Items: []bridge.Item{{Prompt: "Why?", Text: &bridge.TextInput{MaxLength: 60}}}, Data: []byte(`{"build":12345678901234567890,"html":"<b>&"}`),
		Scope: bridge.Room, CreatedAt: now, ExpiresAt: now.Add(time.Hour), ForgetAfter: now.Add(90 * 24 * time.Hour),
		State: bridge.Pending, Delivery: bridge.Delivery{State: bridge.Posted, Message: "$posted"},
	}
	r.ok(r.store.CreateQuestion(r.t.Context(), q))
	return q
}

const hard = "<b>& é\u2028\u2029\"\\"

// answer settles a question with a text, as the engine does.
func (r *rig) answer(q bridge.Question, text string) {
	r.t.Helper()
	now := bridge.SystemClock{}.Now()
	r.ok(r.store.Atomically(r.t.Context(), func(ctx context.Context) error {
		q, won, err := r.store.Settle(ctx, bridge.Settlement{
			Question: q.ID, State: bridge.Answered, Revision: -1, At: now,
			Answer: &bridge.Answer{
				Choice: bridge.Choice{Items: []bridge.ItemChoice{{Text: &text}}, Via: bridge.ViaReply}, At: now, Event: "$answer",
				By: bridge.Responder{ID: "@alice:example.org", DisplayName: "Alice"},
			},
		})
		if err != nil || !won {
			return fmt.Errorf("not settled: %v", err)
		}
		return r.feature.Settling(ctx, q)
	}))
	r.engine.Owed()
}

// cancel settles a question by the engine itself.
func (r *rig) cancel(q bridge.Question) {
	r.t.Helper()
	_, err := r.engine.Cancel(r.t.Context(), q.Asker, q.ID)
	r.ok(err)
}

// eventually waits until something holds of the database, which tells nobody when it changes.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(end) {
			r.t.Fatalf("it never came to this: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (r *rig) endpoint(name string) bridge.WebhookEndpoint {
	r.t.Helper()
	all, err := r.store.Endpoints(r.t.Context())
	r.ok(err)
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	return bridge.WebhookEndpoint{}
}

func (r *rig) deliveries(endpoint string, states ...bridge.WebhookState) []bridge.WebhookDelivery {
	r.t.Helper()
	all, err := r.store.Deliveries(r.t.Context(), endpoint, 10_000, states...)
	r.ok(err)
	return all
}

// got is one request that came.
type got struct {
	header http.Header
	body   string
}

// receiver is a real server; answer says what it answers to the n-th request, from 1 on.
type receiver struct {
	*httptest.Server
	came chan got
}

func receive(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{came: make(chan got, 10_000)}
	var mu sync.Mutex
	n := 0
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		n++
		this := n
		mu.Unlock()
		if err := apitest.Webhook(r.Header, body); err != nil && !strings.Contains(string(body), `"webhook.test"`) {
			t.Errorf("an event is not as it is described: %v\n%s", err, body)
		}
		rec.came <- got{r.Header.Clone(), string(body)}
		if answer != nil {
			answer(this, w, r)
		}
	}))
	t.Cleanup(rec.Close)
	return rec
}

func (rec *receiver) next(t *testing.T) got {
	t.Helper()
	select {
	case g := <-rec.came:
		return g
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		return got{}
	}
}

// rest gives what came beside, without waiting.
func (rec *receiver) rest() (all []got) {
	for {
		select {
		case g := <-rec.came:
			all = append(all, g)
		default:
			return all
		}
	}
}

func statuses(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

func id(g got) string { return g.header.Get("webhook-id") }

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
