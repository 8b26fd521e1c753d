package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

// However many workers share an agent, its questions come on turns 0, 5 and 10, and nobody gets one twice.
func TestConcurrentWorkersShareOneRation(t *testing.T) {
	both(t, func(r *rig) {
		for i := range 20 {
			r.propose(proposal(a1, fmt.Sprint("early ", i), 0), queue.Proposed)
			r.propose(proposal(a1, fmt.Sprint("late ", i), 7), queue.Proposed)
		}
		var mu sync.Mutex
		turns, ids := map[queue.Turn]int{}, map[queue.CandidateID]bool{}
		demand.Parallel(8, func(int) {
			for turn := range queue.Turn(15) {
				c, err := r.Next(r.ctx, queue.Request{Agent: a1, Turn: turn})
				if err != nil {
					r.Error(err)
				}
				if c != nil {
					mu.Lock()
					turns[turn]++
					ids[c.ID] = true
					mu.Unlock()
				}
			}
		})
		r.is("deliveries", turns, map[queue.Turn]int{0: 1, 5: 1, 10: 1})
		r.is("candidates", len(ids), 3)
	})
}

// A turn before the last ask is granted nothing, and takes nothing back.
func TestARegressedTurnNeverGrants(t *testing.T) {
	both(t, func(r *rig) {
		first := r.propose(proposal(a1, "a", 10), queue.Proposed)
		r.next(a1, 10, first.ID)
		old := r.propose(proposal(a1, "b", 2), queue.Proposed)
		r.next(a1, 2)
		r.next(a1, 4)
		second := r.propose(proposal(a1, "c", 12), queue.Proposed)
		r.next(a1, 14) // 4+5 and more: had turn 4 rewound the bucket, it would be granted
		r.status(old, queue.Pending)
		r.next(a1, 15, second.ID)
	})
}

// An agent whose turns began anew is locked out for a week, not for ever.
func TestTheBucketHasAWallClockEnd(t *testing.T) {
	both(t, func(r *rig) {
		r.next(a1, 1000, r.propose(proposal(a1, "a", 1000), queue.Proposed).ID)
		anew := r.propose(proposal(a1, "b", 1), queue.Proposed)
		r.next(a1, 1)
		r.clock.Move(queue.BucketTTL - time.Millisecond)
		r.next(a1, 2)
		r.clock.Move(time.Millisecond)
		r.next(a1, 3, anew.ID)
		r.propose(proposal(a1, "c", 7), queue.Proposed)
		r.next(a1, 7) // and from then on the new turns count
	})
}

// Where nothing is delivered, nothing is spent: neither the agent's budget nor the person's.
func TestNothingIsSpentWithoutADelivery(t *testing.T) {
	both(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 1, Per: time.Hour}
		request := queue.Request{Agent: a1, Turn: 3, Whom: "@alice:example.org", Delivery: r.room}
		r.nextOf(request)
		c := r.propose(proposal(a1, "a", 3), queue.Proposed)

		r.room.refuse = &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: "nobody is there"}
		if got, err := r.Next(r.ctx, request); got != nil || bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
			r.Errorf("a room that cannot be asked: %v, %v", got, err)
		}
		r.room.refuse = errors.New("the disk is full")
		r.nextOf(request)

		// Somebody else takes the only candidate between the look and the claim.
		r.room.refuse = nil
		r.Store = stolen{r.db, func(ctx context.Context) {
			until, gone := queue.Turn(99), c
			gone.Status, gone.CooldownUntil, gone.ResolvedTurn = queue.Cooled, &until, &until
			_, err := r.db.MoveCandidate(ctx, c, gone)
			r.ok(err)
		}}
		r.nextOf(request)
		r.Store = r.db
		r.is("asked", len(r.room.asked), 0)

		// A claim that fails when the question was made takes that back, too.
		other := r.propose(proposal(a1, "b", 3), queue.Proposed)
		r.Store = failing{Store: r.db, unmoved: true}
		r.nextOf(request)
		r.Store = r.db
		r.nextOf(request, other.ID)
	})
}

// stolen is a store where something happens between reading what waits and what comes next.
type stolen struct {
	queue.Store
	between func(ctx context.Context)
}

func (s stolen) WaitingCandidates(ctx context.Context, w queue.Window) ([]queue.Candidate, error) {
	found, err := s.Store.WaitingCandidates(ctx, w)
	s.between(ctx)
	return found, err
}

// However many agents there are, a person is asked only so often; the agent whose question waits for that spends nothing.
func TestAPersonIsAskedOnlySoOften(t *testing.T) {
	both(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 2, Per: time.Hour}
		const alice, bob = "@alice:example.org", "@bob:example.org"
		agents := []bridge.AgentID{"a1", "a2", "a3", "a4"}
		var ids []queue.CandidateID
		for i, agent := range agents {
			ids = append(ids, r.propose(proposal(agent, fmt.Sprint("key ", i), 0), queue.Proposed).ID)
		}
		ask := func(i int, whom string) queue.Request { return queue.Request{Agent: agents[i], Whom: whom} }
		r.nextOf(ask(0, alice), ids[0])
		r.nextOf(ask(1, alice), ids[1])
		r.nextOf(ask(2, alice))
		r.nextOf(ask(2, bob), ids[2]) // its own budget was not spent
		r.clock.Move(time.Hour - time.Millisecond)
		r.nextOf(ask(3, alice))
		r.clock.Move(time.Millisecond)
		r.nextOf(ask(3, alice), ids[3])

		again := r.propose(proposal(agents[0], "more", 5), queue.Proposed)
		r.nextOf(queue.Request{Agent: agents[0], Turn: 5}, again.ID) // whoever the host asks by itself
	})
}

// At once, too.
func TestAPersonIsAskedOnlySoOftenAtOnce(t *testing.T) {
	both(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 3, Per: time.Hour}
		agent := func(i int) bridge.AgentID { return bridge.AgentID(fmt.Sprint("agent ", i)) }
		const agents = 10
		for i := range agents {
			r.propose(proposal(agent(i), "key", 0), queue.Proposed)
		}
		asked := make([]bool, agents)
		demand.Parallel(agents, func(i int) {
			c, err := r.Next(r.ctx, queue.Request{Agent: agent(i), Whom: "!room:example.org"})
			if err != nil {
				r.Error(err)
			}
			asked[i] = c != nil
		})
		n := 0
		for _, a := range asked {
			if a {
				n++
			}
		}
		r.is("asked", n, 3)
	})
}

// A question is asked when the turn is about it.
func TestRelevance(t *testing.T) {
	both(t, func(r *rig) {
		meeting := proposal(a1, "k1", 0)
		meeting.Text = "Does Dana prefer morning or afternoon meetings?"
		c := r.propose(meeting, queue.Proposed)
		for _, cues := range []string{"the database migration", "", "and the"} {
			r.nextOf(queue.Request{Agent: a1, Cues: queue.CueTokens(cues)})
		}
		r.nextOf(queue.Request{Agent: a1, Cues: queue.CueTokens("Morning stand-up")}, c.ID)
		other := r.propose(proposal(a1, "k2", 5), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Turn: 5}, other.ID)
	})
}

// The latest use goes first, then the fewest asks, then the oldest.
func TestOrderOfDelivery(t *testing.T) {
	both(t, func(r *rig) {
		old := r.propose(proposal(a1, "old", 0), queue.Proposed)
		young := r.propose(proposal(a1, "young", 1), queue.Proposed)
		r.is("used", used(r, a1, []string{"old"}, 2), 1)
		r.next(a1, 2, old.ID)
		r.answer(old, "dunno", 2, queue.ReasonCooled)
		for turn := queue.Turn(7); turn <= 12; turn += 5 {
			r.is("used", used(r, a1, []string{"old", "young"}, turn), 2)
		}
		r.next(a1, 12, young.ID) // both were used now; this one was asked less often
		r.next(a1, 17, old.ID)
	})
}

func used(r *rig, agent bridge.AgentID, keys []string, turn queue.Turn) int {
	r.Helper()
	n, err := r.Use(r.ctx, agent, keys, turn)
	r.ok(err)
	return n
}
