package collector_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

var postgres testserver.SharedPostgres

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// both runs a test with a collector on each database.
func both(t *testing.T, f func(r *rig)) {
	t.Run("SQLite", func(t *testing.T) {
		f(newRig(t, sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "store.db")}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		uri, drop, err := postgres.NewDatabase(t.Context(), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := drop(); err != nil {
				t.Error(err)
			}
		})
		f(newRig(t, sqlstore.Config{Type: sqlstore.Postgres, URI: uri}))
	})
}

// rig is a collector on a real store.
type rig struct {
	*testing.T
	*collector.Collector
	db    *sqlstore.Store
	clock *clocktest.Clock
	ctx   context.Context
	log   *bytes.Buffer
	news  *news
	made  *memory
	due   []time.Time
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	agent bridge.AgentID        = "agent"
	room  bridge.ConversationID = "!room:example.org"
)

func newRig(t *testing.T, config sqlstore.Config) *rig {
	t.Helper()
	r := &rig{T: t, clock: clocktest.At(start), log: &bytes.Buffer{}, news: &news{}, made: &memory{}}
	config.Log = zerolog.New(zerolog.SyncWriter(r.log)).Level(zerolog.TraceLevel)
	r.ctx = config.Log.WithContext(t.Context())
	db, err := sqlstore.Open(t.Context(), config)
	r.ok(err)
	t.Cleanup(func() { _ = db.Close() })
	r.db = db
	r.Collector = collector.New(collector.Parts{
		Store: db, Rooms: rooms{db}, Decisions: r.made, Announcer: r.news, Clock: r.clock, Key: collector.Key{1, 2, 3},
		Endpoint: func(id gate.QueryID) string {
			return "https://collector.example/api/queries/" + string(id) + "/responses"
		},
		Deadline: func(at time.Time) { r.due = append(r.due, at) },
	})
	return r
}

// givingWay is a store whose every transaction gives way to somebody else once, and runs again.
type givingWay struct{ collector.Store }

var errGaveWay = errors.New("gave way")

func (s givingWay) Atomically(ctx context.Context, f func(context.Context) error) error {
	err := s.Store.Atomically(ctx, func(ctx context.Context) error { return errors.Join(f(ctx), errGaveWay) })
	if !errors.Is(err, errGaveWay) {
		return err
	}
	return s.Store.Atomically(ctx, f)
}

// rooms stores questions as the engine does, and posts none.
type rooms struct{ db *sqlstore.Store }

func (r rooms) AskWith(ctx context.Context, q bridge.Question, with func(context.Context, bridge.Question) error) (bridge.Question, bool, error) {
	return q, true, r.db.Atomically(ctx, func(ctx context.Context) error {
		return errors.Join(r.db.CreateQuestion(ctx, q), with(ctx, q))
	})
}

// news is what was announced.
type news struct {
	mu     sync.Mutex
	heard  []bridge.Announcement
	refuse error
}

func (n *news) Announce(_ context.Context, a bridge.Announcement) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heard = append(n.heard, a)
	return n.refuse
}

func (n *news) events() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := []string{}
	for _, a := range n.heard {
		out = append(out, a.Event)
	}
	return out
}

// memory is a decision that is remembered, and what was done with it.
type memory struct {
	stored collector.Decision
	used   []collector.Use
	made   []collector.Made
	asked  []collector.Scope
}

func (m *memory) Recall(_ context.Context, s collector.Scope) (collector.Decision, error) {
	m.asked = append(m.asked, s)
	return m.stored, nil
}

func (m *memory) Used(_ context.Context, u collector.Use) error {
	m.used = append(m.used, u)
	return nil
}

func (m *memory) Remember(_ context.Context, made collector.Made) error {
	m.made = append(m.made, made)
	return nil
}

const secret = "The protected prompt, which nobody may see"

// opening is for the host of whoever opens it: an hour for the approval, two for what follows.
func opening(changes ...func(*collector.Opening)) collector.Opening {
	o := collector.Opening{
		Agent: agent, Conversation: room, Requester: "Provider", Purpose: "feedback",
		Principal: collector.Principal{Kind: "user", ID: "usr_pairwise_Q7c", Scope: "pairwise"}, Prompt: "May the provider receive a report?",
		TTL: time.Hour, Route: collector.ByReturn, Mode: collector.Off,
		Protected: collector.Protected{
			Type: "feedback", Respondent: collector.Agent, Prompt: secret, Timing: "after_outcome_known",
			Format: collector.Format{MaxLength: 10}, TTL: 2 * time.Hour,
		},
		Question: func(q collector.Query) (bridge.Question, error) {
			id := bridge.NewQuestionID()
			item := bridge.Item{Prompt: q.Prompt}
			for _, choice := range q.Format.Choices {
				item.Options = append(item.Options, bridge.Option{ID: bridge.OptionID(choice), Label: choice, Meaning: bridge.Choose})
			}
			return bridge.Question{
				ID: id, Asker: agent, AskedBy: "Agent", Conversation: room, Dialect: bridge.Core, ElicitationID: string(id), Items: []bridge.Item{item},
				Scope: bridge.Room, CreatedAt: start, ExpiresAt: q.ExpiresAt, ForgetAfter: q.ExpiresAt.Add(time.Hour), State: bridge.Pending,
				Delivery: bridge.Delivery{State: bridge.Queued},
			}, nil
		},
	}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func inRoom(o *collector.Opening) { o.Route = collector.InRoom }

func mode(m collector.Mode) func(*collector.Opening) {
	return func(o *collector.Opening) { o.Mode = m }
}

func requested(key string, hash byte) func(*collector.Opening) {
	return func(o *collector.Opening) { o.Request = collector.Request{Key: key, Hash: [32]byte{hash}} }
}

// open opens a gate, and must not be refused.
func (r *rig) open(changes ...func(*collector.Opening)) collector.Gate {
	r.Helper()
	g, opened, err := r.Open(r.ctx, opening(changes...))
	r.ok(err)
	r.is("opened", opened, true)
	return g
}

// said is a person's choice, through another host.
func said(to gate.QueryID, id, choice string) collector.Response {
	return collector.Response{
		ID: gate.ResponseID(id), Query: to, Respondent: collector.Human, Provenance: collector.Mediated,
		Answer: collector.Answer{Choice: &choice}, RespondedAt: start,
	}
}

// wrote is an agent's own text.
func wrote(to gate.QueryID, id, text string) collector.Response {
	return collector.Response{
		ID: gate.ResponseID(id), Query: to, Respondent: collector.Agent, Provenance: collector.Direct,
		Answer: collector.Answer{Text: &text}, RespondedAt: start,
	}
}

// respond submits a response, and must get a receipt.
func (r *rig) respond(s collector.Response) collector.Receipt {
	r.Helper()
	receipt, err := r.Respond(r.ctx, s)
	r.ok(err)
	return receipt
}

// approve opens a gate and has it approved.
func (r *rig) approve(changes ...func(*collector.Opening)) (collector.Gate, collector.Receipt) {
	r.Helper()
	g := r.open(changes...)
	receipt := r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved))
	r.is("status", receipt.Status, collector.ReceiptAccepted)
	return r.stored(g), receipt
}

func (r *rig) stored(g collector.Gate) collector.Gate {
	r.Helper()
	stored, err := r.Gate(r.ctx, g.Agent, g.ID)
	r.ok(err)
	return stored
}

func (r *rig) state(g collector.Gate, want collector.State) {
	r.Helper()
	r.is("state", r.stored(g).State, want)
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) code(err error, want bridge.Code) {
	r.Helper()
	if got := bridge.CodeOf(err); got != want {
		r.Fatalf("error %v, want %s", err, want)
	}
}

func (r *rig) is(what string, got, want any) {
	r.Helper()
	if !reflect.DeepEqual(got, want) {
		r.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}
