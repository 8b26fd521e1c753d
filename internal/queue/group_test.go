package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

const a3 bridge.AgentID = "a3"

// grouped has two agents in a group, and a third one in none.
func grouped(t *testing.T, f func(r *rig)) {
	both(t, func(r *rig) {
		r.Groups = [][]bridge.AgentID{{"x", "y"}, {a1, a2}}
		f(r)
	})
}

// alike is what each agent proposes in its own words for its own keys: one answer answers all of them.
func alike(agent bridge.AgentID, turn queue.Turn) queue.Proposal {
	p := proposal(agent, "key of "+string(agent), turn)
	p.Text = map[bridge.AgentID]string{a1: "Is the freeze over?", a2: "is the FREEZE over", a3: "Is the freeze over?"}[agent]
	return p
}

// Equal candidates of a group are asked once, and whoever proposed one learns the answer; only the agent whose question it
// was has spent its budget.
func TestAGroupAsksOnce(t *testing.T) {
	grouped(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 2, Per: 1 << 50}
		second := r.propose(alike(a2, 40), queue.Proposed)
		outside := r.propose(alike(a3, 0), queue.Proposed)
		first := r.propose(alike(a1, 0), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Turn: 1, Whom: "@alice:example.org", Delivery: r.room}, first.ID)
		followed := r.stored(second)
		r.is("status", followed.Status, queue.Delivered)
		r.is("delivered on its own agent's turn", *followed.DeliveredTurn, queue.Turn(40))
		r.is("leader", followed.Leader, first.ID)
		r.is("question", followed.Question, r.stored(first).Question)
		r.status(outside, queue.Pending)
		c, ok, err := r.db.CandidateOf(r.ctx, followed.Question)
		r.ok(err)
		r.is("candidate of the question", fmt.Sprint(c.ID, ok), fmt.Sprint(first.ID, true))

		other := r.propose(proposal(a2, "other", 40), queue.Proposed)
		r.nextOf(queue.Request{Agent: a2, Turn: 40, Whom: "@alice:example.org", Delivery: r.room}, other.ID) // its budget was left
		r.is("asked", r.room.asked, []queue.CandidateID{first.ID, other.ID})

		r.answer(first, "no", 3, queue.ReasonApplied)
		r.status(second, queue.Answered)
		r.is("option", *r.stored(second).AnswerOption, 1)
		r.is("resolved on its own agent's turn", *r.stored(second).ResolvedTurn, queue.Turn(40))
		r.evidence(a1, "key of a1", 0.2, 3)
		r.evidence(a2, "key of a2", 0.2, 3)
		r.evidence(a3, "key of a3", 0.5, 0)
		r.evidence(a1, "key of a2", 0.5, 0)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(first.ID) + " by asker: answered"})
	})
}

// Whoever proposes what the group is asking right now joins in.
func TestAGroupIsJoined(t *testing.T) {
	grouped(t, func(r *rig) {
		first := r.propose(alike(a1, 0), queue.Proposed)
		r.next(a1, 0, first.ID)
		late := r.propose(alike(a2, 7), queue.Proposed)
		r.is("status", late.Status, queue.Delivered)
		r.is("stored", r.stored(late), late)
		r.is("leader", late.Leader, first.ID)
		r.next(a2, 7)
		r.answer(first, "yes", 1, queue.ReasonApplied)
		r.evidence(a2, "key of a2", 0.8, 3)
	})
}

// A group's other options, kinds and orders are other questions.
func TestAGroupAsksWhatDiffers(t *testing.T) {
	grouped(t, func(r *rig) {
		first := r.propose(alike(a1, 0), queue.Proposed)
		turned := alike(a2, 0)
		turned.Options[0], turned.Options[1] = turned.Options[1], turned.Options[0]
		second := r.propose(turned, queue.Proposed)
		r.next(a1, 0, first.ID)
		r.next(a2, 0, second.ID)
		r.is("leader", r.stored(second).Leader, queue.CandidateID(""))
	})
}

// What ends the delivery of the one ends that of the others, in the turns of their own agents.
func TestAGroupCools(t *testing.T) {
	grouped(t, func(r *rig) {
		first, second := r.propose(alike(a1, 0), queue.Proposed), r.propose(alike(a2, 40), queue.Proposed)
		r.next(a1, 0, first.ID)
		used(r, a2, []string{"x"}, 44)
		r.answer(first, "not sure", 1, queue.ReasonCooled)
		r.is("cooled until", *r.stored(second).CooldownUntil, queue.Turn(54))
		r.is("resolved", *r.stored(second).ResolvedTurn, queue.Turn(44))
		used(r, a2, []string{"key of a2"}, 54)
		r.next(a2, 53)
		r.next(a2, 54, second.ID) // asked by the other, with the first one's cooldown over for it or not
		r.is("followed", r.stored(first).Leader, second.ID)
	})
}

// However fast an agent's turns go by, it does not ask again what stands unanswered; the question is the leader's.
func TestAFollowerWaitsForItsLeader(t *testing.T) {
	grouped(t, func(r *rig) {
		first, second := r.propose(alike(a1, 0), queue.Proposed), r.propose(alike(a2, 0), queue.Proposed)
		r.next(a1, 0, first.ID)
		for turn := queue.Turn(1); turn < 60; turn++ {
			used(r, a2, []string{"key of a2"}, turn)
			r.next(a2, turn)
		}
		r.status(second, queue.Delivered)
		r.next(a1, 10) // ignored
		r.status(first, queue.Cooled)
		r.is("cooled until", *r.stored(second).CooldownUntil, queue.Turn(10))
	})
}

// A leader whose facts are gone leaves the others to be asked again.
func TestAFollowerOutlivesItsLeader(t *testing.T) {
	grouped(t, func(r *rig) {
		first, second := r.propose(alike(a1, 0), queue.Proposed), r.propose(alike(a2, 0), queue.Proposed)
		r.next(a1, 0, first.ID)
		n, err := r.Gone(r.ctx, a1, []string{"key of a1"}, 1)
		r.ok(err)
		r.is("expired", n, 1)
		r.status(second, queue.Cooled)
		used(r, a2, []string{"key of a2"}, 10)
		r.next(a2, 10, second.ID)
		r.is("leader", r.stored(second).Leader, queue.CandidateID(""))
	})
}

// A follower alone: its end is not that of the question.
func TestAFollowerEndsAlone(t *testing.T) {
	grouped(t, func(r *rig) {
		first, second := r.propose(alike(a1, 0), queue.Proposed), r.propose(alike(a2, 0), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Delivery: r.room}, first.ID)
		if _, err := r.Gone(r.ctx, a2, []string{"key of a2"}, 1); err != nil {
			r.Fatal(err)
		}
		r.status(second, queue.Expired)
		r.status(first, queue.Delivered)
		r.is("withdrawn", r.room.withdrawn, []string(nil))
		r.answer(first, "yes", 1, queue.ReasonApplied)
		r.status(second, queue.Expired)
	})
}

// Agents of a group that propose and ask at once ask once.
func TestAGroupAtOnce(t *testing.T) {
	grouped(t, func(r *rig) {
		agents := []bridge.AgentID{a1, a2}
		for round := range 10 {
			turn := queue.Turn(10 * round)
			asked := make([]bool, 2)
			demand.Parallel(2, func(i int) {
				p := alike(agents[i], turn)
				p.Text, p.Targets[0].Key = fmt.Sprint(p.Text, round), fmt.Sprint("key ", round)
				if _, _, err := r.Propose(r.ctx, p); err != nil {
					r.Error(err)
				}
				c, err := r.Next(r.ctx, queue.Request{Agent: agents[i], Turn: turn})
				if err != nil {
					r.Error(err)
				}
				asked[i] = c != nil && c.Targets[0] == p.Targets[0]
			})
			if asked[0] == asked[1] {
				r.Fatalf("round %d: asked %v", round, asked)
			}
		}
	})
}

// What an agent proposes while another one's delivery is not yet committed joins that, too: it waits.
func TestAGroupIsJoinedAtTheLastMoment(t *testing.T) {
	grouped(t, func(r *rig) {
		first := r.propose(alike(a1, 0), queue.Proposed)
		proposed := make(chan queue.Candidate, 1)
		beside := queue.New(r.Parts)
		r.Store = led{r.db, func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, c, err := beside.Propose(r.ctx, alike(a2, 0))
				if err != nil || c == nil {
					r.Errorf("not proposed: %v", err)
					c = &queue.Candidate{}
				}
				proposed <- *c
			}()
			select {
			case <-done: // it did not wait
			case <-time.After(200 * time.Millisecond): // nobody says that somebody waits
			}
		}}
		r.next(a1, 0, first.ID)
		r.is("leader", (<-proposed).Leader, first.ID)
	})
}

// led is a store where something happens once a delivery has looked for its followers.
type led struct {
	queue.Store
	meanwhile func()
}

func (l led) EqualCandidates(ctx context.Context, c queue.Candidate, others []bridge.AgentID) ([]queue.Candidate, error) {
	found, err := l.Store.EqualCandidates(ctx, c, others)
	l.meanwhile()
	return found, err
}

// What waited too long by its own agent's turns is not asked with another one.
func TestAGroupLeavesOutWhatLapsed(t *testing.T) {
	grouped(t, func(r *rig) {
		second := r.propose(alike(a2, 0), queue.Proposed)
		used(r, a2, []string{"x"}, 21)
		r.next(a1, 0, r.propose(alike(a1, 0), queue.Proposed).ID)
		r.status(second, queue.Pending)
	})
}
