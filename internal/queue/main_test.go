package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// One PostgreSQL serves all tests, each with a database of its own.
var (
	stopPostgres = func() {}
	postgres     = sync.OnceValues(func() (string, error) {
		address, stop, err := testserver.Postgres(context.Background())
		if err == nil {
			stopPostgres = stop
		}
		return address, err
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopPostgres()
	os.Exit(code)
}

// both runs a test with a queue on each database.
func both(t *testing.T, f func(r *rig)) {
	t.Run("SQLite", func(t *testing.T) {
		f(newRig(t, sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "store.db")}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server, err := postgres()
		if err != nil {
			t.Fatal(err)
		}
		uri, err := testserver.NewDatabase(t.Context(), server, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := testserver.DropDatabase(ctx, uri); err != nil {
				t.Error(err)
			}
		})
		f(newRig(t, sqlstore.Config{Type: sqlstore.Postgres, URI: uri}))
	})
}

// rig is a queue on a real store.
type rig struct {
	*testing.T
	*queue.Queue
	db     *sqlstore.Store
	config sqlstore.Config
	clock  *clocktest.Clock
	log    *bytes.Buffer
	ctx    context.Context
	room   *room
}

func newRig(t *testing.T, config sqlstore.Config) *rig {
	t.Helper()
	r := &rig{T: t, config: config, clock: clocktest.At(start), log: &bytes.Buffer{}, room: &room{}}
	log := zerolog.New(zerolog.SyncWriter(r.log)).Level(zerolog.TraceLevel)
	r.ctx, r.config.Log = log.WithContext(t.Context()), log
	db, err := sqlstore.Open(t.Context(), r.config)
	r.ok(err)
	t.Cleanup(func() { _ = db.Close() })
	r.db = db
	r.Queue = queue.New(queue.Parts{Store: db, Clock: r.clock, LockWait: time.Minute, Withdrawer: r.room})
	return r
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// room is where questions are asked; it remembers which, and how they were withdrawn.
type room struct {
	asked     []queue.CandidateID
	withdrawn []string
	refuse    error
	ended     map[bridge.QuestionID]bool
}

func (r *room) Deliver(_ context.Context, c queue.Candidate) (bridge.QuestionID, error) {
	if r.refuse != nil {
		return "", r.refuse
	}
	r.asked = append(r.asked, c.ID)
	return bridge.QuestionID("q_" + string(c.ID)), nil
}

func (r *room) Ready(context.Context) error { return nil }

func (r *room) Withdraw(_ context.Context, id bridge.QuestionID, by bridge.CancelledBy, reason string) (bool, error) {
	if r.ended[id] {
		return false, nil
	}
	r.withdrawn = append(r.withdrawn, fmt.Sprintf("%s by %s: %s", id, by, reason))
	return true, nil
}

const (
	a1 bridge.AgentID = "a1"
	a2 bridge.AgentID = "a2"
)

// proposal is a confirmation about a key, proposed on a turn.
func proposal(agent bridge.AgentID, key string, turn queue.Turn) queue.Proposal {
	return queue.Proposal{
		Agent: agent, Turn: turn, Text: "Is " + key + " so?", Kind: queue.Confirmation, Signal: queue.SignalGateRefusal,
		Targets: []queue.Target{{Key: key}},
		Options: []queue.Option{{Label: "yes", Acted: []string{key}}, {Label: "no", Contradicted: []string{key}}},
	}
}

// propose proposes and demands the outcome.
func (r *rig) propose(p queue.Proposal, want queue.Outcome) queue.Candidate {
	r.Helper()
	outcome, c, err := r.Propose(r.ctx, p)
	r.ok(err)
	r.is("outcome", outcome, want)
	if c == nil {
		return queue.Candidate{}
	}
	return *c
}

// next asks for the next question and demands that it is this candidate, or none.
func (r *rig) next(agent bridge.AgentID, turn queue.Turn, want ...queue.CandidateID) {
	r.Helper()
	r.nextOf(queue.Request{Agent: agent, Turn: turn}, want...)
}

func (r *rig) nextOf(request queue.Request, want ...queue.CandidateID) {
	r.Helper()
	c, err := r.Next(r.ctx, request)
	r.ok(err)
	var got []queue.CandidateID
	if c != nil {
		got = append(got, c.ID)
		r.is("delivered", *c, r.stored(*c))
	}
	r.is(fmt.Sprintf("next on turn %d", request.Turn), got, want)
}

// answer replies and demands the reason that came of it.
func (r *rig) answer(c queue.Candidate, text string, turn queue.Turn, want queue.Reason) queue.Result {
	r.Helper()
	result, err := r.Answer(r.ctx, queue.Reply{Agent: c.Agent, Candidate: c.ID, Text: text, Turn: turn})
	r.ok(err)
	r.is("reason", result.Reason, want)
	r.is("applied", result.Applied, want == queue.ReasonApplied)
	return result
}

// stored reads a candidate past the queue.
func (r *rig) stored(c queue.Candidate) queue.Candidate {
	r.Helper()
	stored, err := r.db.Candidate(r.ctx, c.Agent, c.ID)
	r.ok(err)
	return stored
}

func (r *rig) status(c queue.Candidate, want queue.Status) {
	r.Helper()
	r.is("status", r.stored(c).Status, want)
}

// evidence demands how often a key was observed.
func (r *rig) evidence(agent bridge.AgentID, key string, confidence float64, count int) {
	r.Helper()
	e, err := r.Evidence(r.ctx, agent, key)
	r.ok(err)
	if e.Key != key || e.Count != count || math.Abs(e.Confidence-confidence) > 1e-9 {
		r.Fatalf("evidence of %s: got %+v, want %v of %d", key, e, confidence, count)
	}
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) is(what string, got, want any) {
	r.Helper()
	if !reflect.DeepEqual(got, want) {
		r.Fatalf("%s: got %+v, want %+v", what, got, want)
	}
}
