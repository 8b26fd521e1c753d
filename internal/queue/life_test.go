package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/producer"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/queue"
)

// What nobody delivers expires after so many turns; nobody is told.
func TestExpiry(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.is("used", used(r, a1, []string{"a"}, 20), 1)
		r.next(a1, 0)
		r.status(c, queue.Pending)
		r.next(a1, 21)
		r.status(c, queue.Expired)
		r.is("withdrawn", r.room.withdrawn, []string(nil))
		again := r.propose(proposal(a1, "a", 21), queue.Proposed) // an expired one is no duplicate
		if again.ID == c.ID {
			r.Error("the expired one stands again")
		}
	})
}

// The gate: used within five turns.
func TestRecentUse(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 2), queue.Proposed)
		r.next(a1, 1)
		r.next(a1, 8)
		r.is("used", used(r, a1, []string{"x", "a"}, 9), 1)
		r.is("used again", used(r, a1, []string{"a"}, 9), 0)
		r.is("used before", used(r, a1, []string{"a"}, 8), 0)
		r.is("used by another", used(r, a2, []string{"a"}, 10), 0)
		r.next(a1, 14, c.ID)
	})
}

// A delivery that nobody replies to cools, and is asked again, unless it waited too long by then.
func TestIgnored(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		request := queue.Request{Agent: a1, Turn: 3, Delivery: r.room}
		r.nextOf(request, c.ID)
		r.next(a1, 12)
		r.status(c, queue.Delivered)
		used(r, a1, []string{"a"}, 13)
		request.Turn = 13
		r.nextOf(request, c.ID) // which is when its cooldown is over
		r.is("asks", r.stored(c).AskCount, 2)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(c.ID) + " by asker: ignored"})
		used(r, a1, []string{"a"}, 23)
		r.next(a1, 23) // cooled once more, and expired with that
		r.status(c, queue.Expired)
	})
}

// Whoever decided on an old delivery that it was ignored does not cool the new one.
func TestIgnoredButDeliveredAgain(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.next(a1, 0, c.ID)
		before := r.stored(c)
		used(r, a1, []string{"a"}, 10)
		r.next(a1, 10, c.ID)
		r.Store = outdated{r.db, before}
		r.next(a1, 12)
		r.status(c, queue.Delivered)
		r.answer(c, "yes", 12, queue.ReasonApplied)
	})
}

// outdated is a store that still reads a delivery which is over.
type outdated struct {
	queue.Store
	read queue.Candidate
}

func (o outdated) IgnoredCandidates(context.Context, bridge.AgentID, queue.Turn, int) ([]queue.Candidate, error) {
	return []queue.Candidate{o.read}, nil
}

// staleness says of each key whether it is gone, or cannot be checked.
type staleness struct {
	gone, unknown map[string]bool
	mu            sync.Mutex
	checked       int
}

func (s *staleness) Stale(_ context.Context, _ bridge.AgentID, candidates []queue.Candidate) (stale, failed map[queue.CandidateID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stale, failed = map[queue.CandidateID]bool{}, map[queue.CandidateID]bool{}
	for _, c := range candidates {
		s.checked++
		stale[c.ID], failed[c.ID] = s.gone[c.Targets[0].Key], s.unknown[c.Targets[0].Key]
	}
	return stale, failed
}

// What is stale expires, also when it was asked already; what cannot be checked neither expires nor is asked.
func TestStaleness(t *testing.T) {
	both(t, func(r *rig) {
		check := &staleness{gone: map[string]bool{}, unknown: map[string]bool{}}
		r.Staleness = check
		request := queue.Request{Agent: a1, Delivery: r.room}
		asked := r.propose(proposal(a1, "asked", 0), queue.Proposed)
		r.nextOf(request, asked.ID)

		gone, unknown, good := r.propose(proposal(a1, "gone", 7), queue.Proposed), r.propose(proposal(a1, "unknown", 6), queue.Proposed), r.propose(proposal(a1, "good", 5), queue.Proposed)
		check.gone["gone"], check.gone["unknown"], check.unknown["unknown"], check.unknown["asked"] = true, true, true, true
		request.Turn = 4
		r.nextOf(request) // without a budget, only what is asked is checked
		r.is("checked", check.checked, 2)
		request.Turn = 7
		r.nextOf(request, good.ID)
		r.status(gone, queue.Expired)
		r.status(unknown, queue.Pending)
		r.status(asked, queue.Delivered)

		check.gone["asked"], check.unknown["asked"] = true, false
		request.Turn = 8
		r.nextOf(request)
		r.status(asked, queue.Expired)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(asked.ID) + " by asker: expired"})
		r.answer(asked, "yes", 8, queue.ReasonNotOpen)
	})
}

// Behind many that cannot be checked stands one that can.
func TestStalenessGoesOn(t *testing.T) {
	both(t, func(r *rig) {
		check := &staleness{unknown: map[string]bool{}}
		r.Staleness = check
		for i := range 70 {
			key := fmt.Sprint("key ", i)
			check.unknown[key] = true
			r.propose(proposal(a1, key, 1), queue.Proposed)
		}
		c := r.propose(proposal(a1, "good", 0), queue.Proposed)
		r.next(a1, 1, c.ID)
	})
}

// The host reports keys that are gone.
func TestGone(t *testing.T) {
	both(t, func(r *rig) {
		asked := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Delivery: r.room}, asked.ID)
		waits, stays := r.propose(proposal(a1, "b", 0), queue.Proposed), r.propose(proposal(a1, "c", 0), queue.Proposed)
		other := r.propose(proposal(a2, "a", 0), queue.Proposed)
		gone := func(keys ...string) int {
			n, err := r.Gone(r.ctx, a1, keys, 1)
			r.ok(err)
			return n
		}
		r.is("expired", []int{gone(), gone("x"), gone("a", "b", "x"), gone("a", "b")}, []int{0, 0, 2, 0})
		r.status(asked, queue.Expired)
		r.status(waits, queue.Expired)
		r.status(stays, queue.Pending)
		r.status(other, queue.Pending)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(asked.ID) + " by asker: expired"})
	})
}

// An open candidate is touched; an answered one is no reason to ask again, unless the keys are others.
func TestDuplicates(t *testing.T) {
	both(t, func(r *rig) {
		pair := func(a, b string, turn queue.Turn) queue.Proposal {
			live := []producer.Disjoined{{ID: a + b, A: producer.Fact{Key: a, Statement: a}, B: producer.Fact{Key: b, Statement: b}}}
			return dialect.FromProposal(a1, &producer.FromDisjunctions(int(turn), live)[0])
		}
		ab := r.propose(pair("a", "b", 0), queue.Proposed)
		r.is("touched", r.propose(pair("a", "c", 3), queue.Touched).ID, ab.ID)
		r.is("last seen", r.stored(ab).LastSeenTurn, queue.Turn(3))
		r.propose(pair("b", "a", 1), queue.Touched)
		r.is("last seen", r.stored(ab).LastSeenTurn, queue.Turn(3)) // only forwards
		words := proposal(a1, "z", 4)
		words.Text = "  " + ab.Text + "!! "
		r.is("the same words", r.propose(words, queue.Touched).ID, ab.ID)

		r.next(a1, 4, ab.ID)
		r.answer(ab, "1", 7, queue.ReasonApplied)
		r.is("answered", r.propose(pair("b", "a", 8), queue.Duplicate).ID, ab.ID)
		r.propose(pair("b", "a", 7+queue.RetentionTurns), queue.Duplicate)
		ac := r.propose(pair("a", "c", 8), queue.Proposed) // the document's known limitation, mended
		r.next(a1, 9, ac.ID)
		r.is("of what is open", r.propose(pair("b", "a", 10), queue.Touched).ID, ac.ID)
		r.answer(ac, "1", 10, queue.ReasonApplied)
		r.propose(pair("b", "a", 8+queue.RetentionTurns), queue.Proposed)
	})
}

// Of equal proposals at once, one is stored.
func TestProposalsAtOnce(t *testing.T) {
	both(t, func(r *rig) {
		outcomes := make([]queue.Outcome, 8)
		demand.Parallel(len(outcomes), func(i int) {
			var err error
			if outcomes[i], _, err = r.Propose(r.ctx, proposal(a1, "a", 0)); err != nil {
				r.Error(err)
			}
		})
		count := map[queue.Outcome]int{}
		for _, o := range outcomes {
			count[o]++
		}
		r.is("outcomes", count, map[queue.Outcome]int{queue.Proposed: 1, queue.Touched: 7})
		all, _, err := r.Candidates(r.ctx, queue.Listing{Agent: a1, Limit: 9})
		r.ok(err)
		r.is("candidates", len(all), 1)
	})
}

// What is old is deleted, unless it is pending. A question that stands in a room is withdrawn before.
func TestPrune(t *testing.T) {
	both(t, func(r *rig) {
		answered, asked := r.propose(proposal(a1, "a", 0), queue.Proposed), r.propose(proposal(a1, "b", 0), queue.Proposed)
		r.next(a1, 0, min(answered.ID, asked.ID))
		if asked.ID < answered.ID {
			answered, asked = asked, answered
		}
		r.answer(answered, "no", 2, queue.ReasonApplied)
		r.nextOf(queue.Request{Agent: a1, Turn: 5, Delivery: r.room}, asked.ID)
		waits := r.propose(proposal(a1, "c", 2), queue.Proposed)
		prune := func(turn queue.Turn) int {
			n, err := r.Prune(r.ctx, a1, turn)
			r.ok(err)
			return n
		}
		r.is("pruned", prune(2+queue.RetentionTurns), 0)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(asked.ID) + " by asker: ignored"})
		r.status(asked, queue.Expired)
		r.status(waits, queue.Expired)
		r.is("pruned", prune(3+queue.RetentionTurns), 1)
		if _, err := r.Candidate(r.ctx, a1, answered.ID); bridge.CodeOf(err) != queue.CodeCandidateUnknown {
			r.Errorf("a pruned candidate: %v", err)
		}
		r.evidence(a1, answered.Targets[0].Key, 0.2, 3) // stays
	})
}
