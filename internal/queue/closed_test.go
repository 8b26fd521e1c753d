package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// calls makes every call of a host about a pending candidate, and says what came of each.
func calls(r *rig, c queue.Candidate) []any {
	r.Helper()
	ctx := r.ctx
	outcome, stands, err1 := r.Propose(ctx, proposal(a1, "new", 1))
	next, err2 := r.Next(ctx, queue.Request{Agent: a1, Turn: 1})
	result, err3 := r.Answer(ctx, queue.Reply{Agent: a1, Candidate: c.ID, Text: "yes", Turn: 1})
	usedNow, err4 := r.Use(ctx, a1, []string{"a"}, 1)
	gone, err5 := r.Gone(ctx, a1, []string{"a"}, 1)
	pruned, err6 := r.Prune(ctx, a1, 1000)
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		r.ok(err)
	}
	return []any{outcome, stands == nil, next == nil, result, usedNow, gone, pruned}
}

// The switch is read on every call: the one of the environment and the one of the database.
func TestTheKillSwitch(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		asks, env := 0, true
		r.Disabled = func() bool { asks++; return env }
		nothing := []any{queue.Disabled, true, true, queue.Result{Reason: queue.ReasonDisabled}, 0, 0, 0}
		r.is("switched off by the environment", calls(r, c), nothing)
		r.is("looked", asks, 6)
		env = false
		r.ok(r.db.SetQueueOff(r.ctx, true))
		r.is("switched off in the database", calls(r, c), nothing)
		r.is("stored", r.stored(c), c)
		highest, err := r.db.HighestTurn(r.ctx, a1)
		r.ok(err)
		r.is("turns", highest, queue.Turn(0))
		r.ok(r.db.SetQueueOff(r.ctx, false))
		r.next(a1, 1, c.ID)
		if _, _, err := r.Propose(r.ctx, queue.Proposal{}); bridge.CodeOf(err) != queue.CodeInvalidCandidate {
			r.Errorf("a bad proposal: %v", err)
		}
	})
}

// Without its database, the queue asks nothing and never fails its host; reading fails.
func TestADeadStore(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.ok(r.db.Close())
		r.is("calls", calls(r, c), []any{queue.Dropped, true, true, queue.Result{Reason: queue.ReasonError}, 0, 0, 0})
		if n := strings.Count(r.log.String(), "The question queue failed"); n != 6 {
			r.Errorf("%d lines in the log:\n%s", n, r.log)
		}
		_, err1 := r.Candidate(r.ctx, a1, c.ID)
		_, _, err2 := r.Candidates(r.ctx, queue.Listing{Agent: a1})
		_, err3 := r.Evidence(r.ctx, a1, "a")
		for _, err := range []error{err1, err2, err3} {
			if err == nil || bridge.CodeOf(err) != "" {
				r.Errorf("reading gives %v", err)
			}
		}
		if _, _, err := r.Propose(r.ctx, queue.Proposal{}); bridge.CodeOf(err) != queue.CodeInvalidCandidate {
			r.Errorf("a bad proposal: %v", err)
		}
	})
}

// Where the switch cannot be read, it may be off: then nothing is done.
func TestASwitchThatCannotBeRead(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.Store = blind{r.db}
		r.is("calls", calls(r, c), []any{queue.Dropped, true, true, queue.Result{Reason: queue.ReasonError}, 0, 0, 0})
		r.is("stored", r.stored(c), c)
		all, _, err := r.Candidates(r.ctx, queue.Listing{Agent: a1, Limit: 9})
		r.ok(err)
		r.is("candidates", len(all), 1)
	})
}

// blind is a store whose switch cannot be read.
type blind struct{ queue.Store }

func (blind) QueueOff(context.Context) (bool, error) { return false, errors.New("unreadable") }

// A turn out of its limits is the caller's fault.
func TestTurnsOutOfLimits(t *testing.T) {
	both(t, func(r *rig) {
		for _, turn := range []queue.Turn{-1, queue.MaxTurn + 1} {
			_, err1 := r.Next(r.ctx, queue.Request{Agent: a1, Turn: turn})
			_, err2 := r.Answer(r.ctx, queue.Reply{Agent: a1, Turn: turn})
			_, err3 := r.Use(r.ctx, a1, []string{"a"}, turn)
			_, err4 := r.Gone(r.ctx, a1, []string{"a"}, turn)
			_, err5 := r.Prune(r.ctx, a1, turn)
			for _, err := range []error{err1, err2, err3, err4, err5} {
				if bridge.CodeOf(err) != queue.CodeInvalidTurn {
					r.Errorf("turn %d: %v", turn, err)
				}
			}
		}
		p := proposal(a1, "a", queue.MaxTurn)
		r.next(a1, queue.MaxTurn, r.propose(p, queue.Proposed).ID)
		r.next(a1, queue.MaxTurn)
	})
}

// While somebody has the agent's queue, others wait for a bounded time, and then drop their proposal.
func TestABusyQueueDropsProposals(t *testing.T) {
	both(t, func(r *rig) {
		r.propose(proposal(a1, "a", 0), queue.Proposed)
		held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			ended <- r.db.Atomically(r.ctx, func(ctx context.Context) error {
				err := r.db.LockAgent(ctx, a1)
				close(held)
				<-release
				return err
			})
		}()
		<-held
		r.LockWait = 50 * time.Millisecond
		r.propose(proposal(a1, "b", 0), queue.Dropped)
		r.next(a1, 0)
		if !strings.Contains(r.log.String(), "busy") {
			r.Error("it is not in the log")
		}
		r.LockWait = time.Minute
		if r.config.Type == sqlstore.Postgres { // on SQLite there is one writer anyway
			r.propose(proposal(a2, "b", 0), queue.Proposed)
		}
		close(release)
		r.ok(<-ended)
		r.propose(proposal(a1, "b", 0), queue.Proposed)
	})
}

// It is the wait that is bounded, and not what comes after it.
func TestAPatientQueue(t *testing.T) {
	both(t, func(r *rig) {
		r.LockWait = time.Second
		r.Store = slow{r.db, r.LockWait}
		r.propose(proposal(a1, "a", 0), queue.Proposed)
	})
}

// slow is a store that takes its time once it has the agent's queue.
type slow struct {
	queue.Store
	takes time.Duration
}

func (s slow) SimilarCandidates(ctx context.Context, w queue.Similarity) ([]queue.Candidate, error) {
	<-time.After(s.takes + s.takes/10) // the time itself is what the test is about
	return s.Store.SimilarCandidates(ctx, w)
}
