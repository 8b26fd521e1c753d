package queue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
)

// there is where the tests ask.
const there bridge.ConversationID = "!room:example.org"

func wholeRoom() queue.Place {
	return queue.Place{Conversation: there, Scope: bridge.Room, Lifetime: time.Hour}
}

func dana() queue.Place {
	return queue.Place{Conversation: there, Scope: bridge.Direct, Target: "@dana:example.org", AskedBy: "Planner", Lifetime: time.Hour}
}

// engine gives the rig's queue a real engine to ask by, in a channel that is no network.
func (r *rig) engine(c *channel) *bridge.Engine {
	e := bridge.NewEngine(bridge.Parts{
		Store: r.db, Channel: c, Gatekeeper: c, Notifier: c, Clock: r.clock, Features: []bridge.Feature{r.Queue},
		Quota: func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: c.quota} },
		Owed:  func() { c.owed++ },
	})
	r.Asker, r.Withdrawer = e, e
	return e
}

// channel refuses what a test wants refused.
type channel struct {
	bridge.Channel
	bridge.Gatekeeper
	supports error
	tooLarge string // a prompt that cannot be posted
	quota    int
	owed     int
}

func (c *channel) Supports(context.Context, bridge.ConversationID) error { return c.supports }

func (c *channel) Check(_ context.Context, q bridge.Question) error {
	if q.Items[0].Prompt == c.tooLarge {
		return &bridge.Error{Code: bridge.CodeInvalidQuestion, Reason: "too large"}
	}
	return nil
}

func (c *channel) Rights(_ context.Context, _ bridge.Question, who bridge.UserID, _ bool) (bridge.Rights, error) {
	return bridge.Rights{Member: who != "@away:example.org"}, nil
}

func (c *channel) Notify(bridge.QuestionID) {}

// asked delivers a candidate in a room and gives its question.
func (r *rig) asked(c queue.Candidate, turn queue.Turn, p queue.Place) bridge.Question {
	r.Helper()
	got, err := r.NextIn(r.ctx, queue.Request{Agent: c.Agent, Turn: turn}, p)
	r.ok(err)
	if got == nil || got.ID != c.ID {
		r.Fatalf("next gave %+v", got)
	}
	return r.question(got.Question)
}

func (r *rig) question(id bridge.QuestionID) bridge.Question {
	r.Helper()
	q, err := r.db.Question(r.ctx, id)
	r.ok(err)
	return q
}

// owedOf gives the effects of a question that are due.
func (r *rig) owedOf(id bridge.QuestionID) (kinds []string, found []bridge.Effect) {
	r.Helper()
	all, err := r.db.ClaimEffects(r.ctx, r.clock.Now().Add(time.Hour), time.Minute, 100)
	r.ok(err)
	for _, f := range all {
		if f.Question == id {
			kinds, found = append(kinds, string(f.Kind)), append(found, f)
		}
	}
	slices.Sort(kinds)
	return kinds, found
}

// Claim, question and what posts it are stored together, and the asker's outbox is woken after the commit.
func TestACandidateIsAskedInARoom(t *testing.T) {
	both(t, func(r *rig) {
		c := &channel{}
		r.engine(c)
		candidate := r.propose(proposal(a1, "a", 0), queue.Proposed)
		q := r.asked(candidate, 1, dana())
		r.is("asker", fmt.Sprintln(q.Asker, q.AskedBy, q.Scope, q.Target, q.Rationed, q.State), "a1 Planner direct @dana:example.org true pending\n")
		r.is("prompt", q.Items[0].Prompt, candidate.Text)
		r.is("options", q.Items[0].Options, []bridge.Option{
			{ID: "1", Label: "yes", Meaning: bridge.Choose, Style: "default"}, {ID: "2", Label: "no", Meaning: bridge.Choose, Style: "default"},
		})
		r.is("expires", q.ExpiresAt.Sub(q.CreatedAt), time.Hour)
		r.is("candidate", fmt.Sprint(r.stored(candidate).Status, r.stored(candidate).Question), fmt.Sprint(queue.Delivered, q.ID))
		kinds, _ := r.owedOf(q.ID)
		r.is("owed", kinds, []string{"render"})
		r.is("woken", c.owed, 1)
	})
}

// What keeps the room from being asked claims nothing and spends nothing, neither the agent's budget nor the person's.
func TestARoomThatCannotBeAsked(t *testing.T) {
	refusal := &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: "the bot has not joined this room"}
	both(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 1, Per: time.Hour}
		for name, tt := range map[string]struct {
			change func(c *channel)
			place  queue.Place
			code   bridge.Code
		}{
			"no support": {func(c *channel) { c.supports = refusal }, dana(), bridge.CodeRoomUnanswerable},
			"no target": {
				func(c *channel) {},
				queue.Place{Conversation: there, Scope: bridge.Direct, Target: "@away:example.org", Lifetime: time.Hour}, bridge.CodeTargetNotPermitted,
			},
			"no quota": {func(c *channel) { c.quota = 1 }, dana(), bridge.CodeQuotaExceeded},
		} {
			c := &channel{}
			engine := r.engine(c)
			_, _, err := engine.Ask(r.ctx, bridge.Question{
				ID: bridge.NewQuestionID(), ElicitationID: name, Asker: a1, Conversation: there, Dialect: bridge.Core, Items: []bridge.Item{{Prompt: "?"}},
				CreatedAt: start, ExpiresAt: start.Add(time.Hour), ForgetAfter: start.Add(time.Hour),
			})
			r.ok(err)
			tt.change(c)
			candidate := r.propose(proposal(a1, "of "+name, 1), queue.Proposed)
			got, err := r.NextIn(r.ctx, queue.Request{Agent: a1, Turn: 1}, tt.place)
			if got != nil || bridge.CodeOf(err) != tt.code {
				r.Errorf("%s: %+v %v", name, got, err)
			}
			r.status(candidate, queue.Pending)
			listed, err := r.db.PendingIn(r.ctx, there, 100)
			r.ok(err)
			if slices.ContainsFunc(listed, func(q bridge.Question) bool { return q.Rationed }) {
				r.Errorf("%s: asked all the same", name)
			}
		}
		r.engine(&channel{})
		c, err := r.NextIn(r.ctx, queue.Request{Agent: a1, Turn: 1}, dana()) // nothing was spent
		if err != nil || c == nil {
			r.Errorf("then %+v %v", c, err)
		}
	})
}

// A candidate that does not fit into a room stays, and the next one is asked.
func TestACandidateThatDoesNotFit(t *testing.T) {
	both(t, func(r *rig) {
		large, small := r.propose(proposal(a1, "large", 1), queue.Proposed), r.propose(proposal(a1, "small", 0), queue.Proposed)
		r.engine(&channel{tooLarge: large.Text})
		r.asked(small, 1, wholeRoom())
		r.status(large, queue.Pending)
	})
}

// What a person is left with counts across agents; what the room as a whole is left with is another budget.
func TestPersonBudgetInRooms(t *testing.T) {
	both(t, func(r *rig) {
		r.PersonBudget = queue.PersonBudget{Asks: 1, Per: time.Hour}
		r.engine(&channel{})
		first, second := r.propose(proposal(a1, "a", 0), queue.Proposed), r.propose(proposal(a2, "b", 0), queue.Proposed)
		r.asked(first, 0, dana())
		c, err := r.NextIn(r.ctx, queue.Request{Agent: a2}, dana())
		r.ok(err)
		if c != nil {
			r.Errorf("the person is asked twice: %+v", c)
		}
		r.status(second, queue.Pending)
		r.asked(second, 0, wholeRoom())
	})
}

// How a question in a room ends is how its candidate goes on, on the highest turn that its agent has sent; the evidence of an
// answer is owed in the same transaction, and counts once.
func TestTheEndOfAQuestionInARoom(t *testing.T) {
	answered := func(option bridge.OptionID) bridge.Settlement {
		return bridge.Settlement{State: bridge.Answered, Revision: -1, Answer: &bridge.Answer{
			Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{option}}}, Via: bridge.ViaReply}, At: start,
		}}
	}
	both(t, func(r *rig) {
		for i, tt := range []struct {
			end    bridge.Settlement
			status queue.Status
			until  queue.Turn
			option int
			owed   []string
		}{
			{answered("2"), queue.Answered, 0, 1, []string{"evidence", "render"}},
			{bridge.Settlement{State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByResponder, Reason: bridge.ReasonCooled}, queue.Cooled, 17, 0, []string{"render"}},
			{bridge.Settlement{State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker}, queue.Cooled, 10, 0, []string{"render"}},
		} {
			agent, key := bridge.AgentID(fmt.Sprint("agent", i)), fmt.Sprint("key", i)
			e := r.engine(&channel{})
			c := r.propose(proposal(agent, key, 0), queue.Proposed)
			q := r.asked(c, 0, wholeRoom())
			_, err := r.Use(r.ctx, agent, []string{"another"}, 7)
			r.ok(err)
			tt.end.Question, tt.end.At = q.ID, start
			r.ok(r.db.Atomically(r.ctx, func(ctx context.Context) error {
				settled, won, err := r.db.Settle(ctx, tt.end)
				if err != nil || !won {
					return fmt.Errorf("settle: %v %w", won, err)
				}
				return e.Features[0].Settling(ctx, settled)
			}))
			stored := r.stored(c)
			r.is("status", stored.Status, tt.status)
			r.is("resolved", *stored.ResolvedTurn, queue.Turn(7))
			if tt.until > 0 {
				r.is("cooldown", *stored.CooldownUntil, tt.until)
			}
			kinds, owed := r.owedOf(q.ID)
			r.is("owed", kinds, tt.owed)
			if tt.status != queue.Answered {
				r.evidence(agent, key, 0.5, 0)
				continue
			}
			r.is("option", *stored.AnswerOption, tt.option)
			r.evidence(agent, key, 0.5, 0) // not yet
			for range 2 {
				for _, f := range owed {
					if f.Kind == queue.EffectEvidence {
						r.ok(r.Queue.Run(r.ctx, f))
					}
				}
				r.evidence(agent, key, 0.2, 3)
			}
		}
	})
}

// A question that expires cools its candidate.
func TestAQuestionInARoomExpires(t *testing.T) {
	both(t, func(r *rig) {
		e := r.engine(&channel{})
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.asked(c, 0, wholeRoom())
		r.clock.Move(time.Hour)
		n, err := e.Expire(r.ctx, 10)
		r.ok(err)
		r.is("expired", n, 1)
		r.status(c, queue.Cooled)
	})
}

// What the queue ends itself, it withdraws in the room, and moves the candidate as it says: the end of the question does
// not cool it.
func TestTheQueueWithdrawsInARoom(t *testing.T) {
	both(t, func(r *rig) {
		c := &channel{}
		r.engine(c)
		ended := func(q bridge.Question, by bridge.CancelledBy, reason string) {
			r.Helper()
			q = r.question(q.ID)
			r.is("ended", fmt.Sprint(q.State, q.CancelledBy, q.Reason), fmt.Sprint(bridge.Cancelled, by, reason))
		}
		first := r.propose(proposal(a1, "a", 0), queue.Proposed)
		q := r.asked(first, 0, wholeRoom())
		c.owed = 0
		r.answer(first, "yes", 1, queue.ReasonApplied)
		r.status(first, queue.Answered)
		ended(q, bridge.ByAsker, bridge.ReasonElsewhere)
		r.is("woken", c.owed, 1)

		second := r.propose(proposal(a1, "b", 5), queue.Proposed)
		q = r.asked(second, 5, wholeRoom())
		r.answer(second, "not sure", 6, queue.ReasonCooled)
		r.is("cooldown", *r.stored(second).CooldownUntil, queue.Turn(16))
		ended(q, bridge.ByResponder, bridge.ReasonCooled)

		third := r.propose(proposal(a1, "c", 10), queue.Proposed)
		q = r.asked(third, 10, wholeRoom())
		gone, err := r.Gone(r.ctx, a1, []string{"c"}, 11)
		r.ok(err)
		r.is("gone", gone, 1)
		r.status(third, queue.Expired)
		ended(q, bridge.ByAsker, bridge.ReasonGone)

		fourth := r.propose(proposal(a1, "d", 15), queue.Proposed)
		q = r.asked(fourth, 15, wholeRoom())
		r.next(a1, 25)
		r.status(fourth, queue.Cooled)
		ended(q, bridge.ByAsker, bridge.ReasonIgnored)
	})
}

// Everybody who is told of one answer in a room: whoever asked, who followed, and who joined while it was asked.
func TestAGroupIsAnsweredInARoom(t *testing.T) {
	grouped(t, func(r *rig) {
		e := r.engine(&channel{})
		told := &reporter{}
		r.Reporter = told
		first := r.propose(alike(a1, 0), queue.Proposed)
		q := r.asked(first, 0, wholeRoom())
		late := r.propose(alike(a2, 7), queue.Proposed)
		r.is("joined", fmt.Sprint(r.stored(late).Status, r.stored(late).Question), fmt.Sprint(queue.Delivered, q.ID))
		r.ok(r.db.Atomically(r.ctx, func(ctx context.Context) error {
			settled, _, err := r.db.Settle(ctx, bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: -1, At: start, Answer: &bridge.Answer{
				Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"1"}}}}, At: start,
			}})
			if err != nil {
				return err
			}
			return e.Features[0].Settling(ctx, settled)
		}))
		r.status(first, queue.Answered)
		r.status(late, queue.Answered)
		_, owed := r.owedOf(q.ID)
		for _, f := range owed {
			if f.Kind == queue.EffectEvidence {
				r.ok(r.Queue.Run(r.ctx, f))
			}
		}
		r.is("told", told.of, []queue.CandidateID{first.ID, late.ID})
		r.evidence(a2, "key of a2", 0.8, 3)
	})
}

type reporter struct{ of []queue.CandidateID }

func (r *reporter) Answered(_ context.Context, c queue.Candidate, _ []queue.Evidence) error {
	r.of = append(r.of, c.ID)
	return nil
}

// What !queue reads: what a room is asked, and what waits of the agents that have asked there; nothing of anybody else.
func TestWhatWaitsInARoom(t *testing.T) {
	grouped(t, func(r *rig) {
		r.engine(&channel{})
		shows := func(wantAsked, wantWaiting []queue.CandidateID) {
			r.Helper()
			asked, err := r.db.AskedThere(r.ctx, there, 10)
			r.ok(err)
			waiting, err := r.db.WaitingThere(r.ctx, there, 10)
			r.ok(err)
			r.is("asked", ids(asked), wantAsked)
			r.is("waiting", ids(waiting), wantWaiting)
		}
		first := r.propose(alike(a1, 1), queue.Proposed)
		r.propose(proposal(a3, "elsewhere", 0), queue.Proposed)
		old := r.propose(proposal(a1, "old", 0), queue.Proposed)
		shows(nil, nil)
		r.asked(first, 1, wholeRoom())
		follower := r.propose(alike(a2, 0), queue.Proposed) // follows the first
		shows([]queue.CandidateID{first.ID}, []queue.CandidateID{old.ID})
		fresh := r.propose(proposal(a1, "fresh", 3), queue.Proposed)
		shows([]queue.CandidateID{first.ID}, []queue.CandidateID{fresh.ID, old.ID})
		r.answer(first, "skip", 3, queue.ReasonCooled)
		again := r.stored(first)
		shows(nil, []queue.CandidateID{fresh.ID, again.ID, old.ID, follower.ID})
		_, err := r.Use(r.ctx, a1, []string{"nothing"}, 22)
		r.ok(err)
		shows(nil, []queue.CandidateID{fresh.ID, follower.ID}) // by the turns of their agents, the others have lapsed
	})
}

func ids(all []queue.Candidate) (out []queue.CandidateID) {
	for _, c := range all {
		out = append(out, c.ID)
	}
	return out
}
