package host_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/fixtures"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

const (
	agent bridge.AgentID        = "ci"
	room  bridge.ConversationID = "!ops:example.org"
)

var start = time.Date(2026, 7, 30, 17, 0, 0, 0, time.UTC)

// rig is a host over a real store and engine, with a real collector that the test answers for.
type rig struct {
	*testing.T
	store     *sqlstore.Store
	engine    *bridge.Engine
	host      *host.Host
	submitter *host.Submitter
	clock     *clocktest.Clock
	collector *collector
	notified  []bridge.QuestionID
	announced []bridge.Announcement
}

// channel takes every question.
type channel struct{ bridge.Channel }

func (channel) Check(context.Context, bridge.Question) error          { return nil }
func (channel) Supports(context.Context, bridge.ConversationID) error { return nil }

func (r *rig) Notify(id bridge.QuestionID) { r.notified = append(r.notified, id) }

func (r *rig) Announce(_ context.Context, a bridge.Announcement) error {
	r.announced = append(r.announced, a)
	return nil
}

func newRig(t *testing.T, allow ...string) *rig {
	t.Helper()
	r := &rig{T: t, clock: clocktest.At(start), collector: newCollector(t)}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	r.ok(err)
	t.Cleanup(func() { _ = store.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(r.collector.Certificate())
	client, err := egress.New(egress.Config{Allow: allow, Roots: roots})
	r.ok(err)
	r.store = store
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: store, Channel: channel{}, Notifier: r, Clock: r.clock, Features: []bridge.Feature{&host.Feature{Store: store}},
	})
	r.host = host.New(host.Parts{Store: store, Engine: r.engine, Guard: client, Clock: r.clock})
	r.submitter = &host.Submitter{Store: store, Caller: client, Clock: r.clock, Notifier: r, Announcer: r}
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// query is one of the document's, to be answered at the rig's collector.
func (r *rig) query(n int, edit func(*schema.Query)) *schema.QueryAsk {
	r.Helper()
	raw, err := fixtures.FS.ReadFile("queries/examples.json")
	r.ok(err)
	var corpus map[string]struct {
		Valid []struct{ Content json.RawMessage }
	}
	r.ok(json.Unmarshal(raw, &corpus))
	q, err := schema.Decode[schema.Query](corpus[schema.ProtocolVersion+"/query"].Valid[n].Content)
	r.ok(err)
	q.Delivery.Endpoint, q.Delivery.Capability = r.collector.URL+"/responses", "capability-of-this-query"
	if edit != nil {
		edit(q)
	}
	return &schema.QueryAsk{Query: *q}
}

func (r *rig) handIn(ask *schema.QueryAsk) (bridge.Question, bool, error) {
	return r.host.Ask(r.Context(), ask, dialect.AskContext{Asker: agent, AskedBy: "CI", Conversation: room, Now: r.clock.Now()})
}

func (r *rig) asked(ask *schema.QueryAsk) bridge.Question {
	r.Helper()
	q, created, err := r.handIn(ask)
	r.ok(err)
	if !created {
		r.Fatal("it was asked before")
	}
	return q
}

// answered settles a question as the engine does, and gives the submission that is owed.
func (r *rig) answered(q bridge.Question, choice bridge.OptionID) bridge.Effect {
	r.Helper()
	item := bridge.ItemChoice{Selected: []bridge.OptionID{choice}}
	meaning := bridge.Choose
	if o, ok := q.Items[0].Option(choice); ok {
		meaning = o.Meaning
	} else {
		item = bridge.ItemChoice{Text: (*string)(&choice)}
	}
	now := r.clock.Now()
	r.ok(r.store.Atomically(r.Context(), func(ctx context.Context) error {
		q, _, err := r.store.Settle(ctx, bridge.Settlement{
			Question: q.ID, State: bridge.Answered, Revision: -1, At: now,
			Answer: &bridge.Answer{
				Choice: bridge.Choice{Items: []bridge.ItemChoice{item}, Via: bridge.ViaReply}, Meaning: meaning, At: now,
				By: bridge.Responder{ID: "@alice:example.org", DisplayName: "Alice"},
			},
		})
		if err != nil {
			return err
		}
		return (&host.Feature{Store: r.store}).Settling(ctx, q)
	}))
	return r.owed()
}

// owed gives the one submission that is owed.
func (r *rig) owed() bridge.Effect {
	r.Helper()
	all := r.submissions()
	if len(all) != 1 {
		r.Fatalf("%d submissions are owed", len(all))
	}
	return all[0]
}

func (r *rig) submissions() (all []bridge.Effect) {
	r.Helper()
	claimed, err := r.store.ClaimEffects(r.Context(), r.clock.Now().Add(24*time.Hour), 0, 100)
	r.ok(err)
	for _, f := range claimed {
		if f.Kind == host.EffectSubmit {
			all = append(all, f)
		}
	}
	return all
}

// tried makes the n-th try of a submission, and gives what came of it.
func (r *rig) tried(f bridge.Effect, n int) (host.Asked, error) {
	r.Helper()
	f.Attempts = n
	err := r.submitter.Run(r.Context(), f)
	a, ok, of := r.host.Of(r.Context(), f.Question)
	r.ok(of)
	if !ok {
		r.Fatal("the query is gone")
	}
	return a, err
}

// collector is a collector's endpoint; answer says what it answers.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	auth   []string
	answer func(w http.ResponseWriter, response schema.Response)
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		response, err := schema.Decode[schema.Response](body)
		if err != nil {
			t.Errorf("a response breaks the rules: %v", err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies, c.auth = append(c.bodies, string(body)), append(c.auth, r.Header.Get("Authorization"))
		c.answer(w, *response)
	}))
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

// receipt answers with a receipt, edited.
func receipt(status int, edit func(r *schema.Receipt)) func(http.ResponseWriter, schema.Response) {
	return func(w http.ResponseWriter, response schema.Response) {
		out := schema.Receipt{
			ProtocolVersion: schema.ProtocolVersion, QueryID: response.QueryID, ResponseID: response.ResponseID,
			Status: schema.ReceiptAccepted, ReceivedAt: "2026-07-30T17:05:13Z",
		}
		if edit != nil {
			edit(&out)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out)
	}
}

func plain(status int, body string, header ...string) func(http.ResponseWriter, schema.Response) {
	return func(w http.ResponseWriter, _ schema.Response) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// following is the document's follow-up.
func (r *rig) following(edit func(*schema.Query)) *schema.Query {
	q := r.query(1, nil).Query
	q.Delivery = schema.QueryDelivery{Binding: "https", Capability: "capability-of-the-next"}
	if edit != nil {
		edit(&q)
	}
	return &q
}

func queryID(q *schema.QueryAsk) gate.QueryID { return gate.QueryID(q.Query.QueryID) }
