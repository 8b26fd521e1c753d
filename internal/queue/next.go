package queue

import (
	"context"
	"errors"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
)

// Request asks for the next question, once per turn.
type Request struct {
	Agent bridge.AgentID
	Turn  Turn
	// Cues are tokens of what the turn is about, see [CueTokens]; nil for whatever is next.
	Cues []string
	// Delivery asks the candidate, as part of its claim; nil where the host does that by itself.
	Delivery Delivery
}

// Delivery asks a candidate in a room.
type Delivery interface {
	// Deliver makes the candidate a question in the transaction of ctx, which may be rolled back and run again. Nothing is
	// claimed and nothing spent when it fails; a *bridge.Error is given to the caller of Next.
	Deliver(ctx context.Context, c Candidate) (bridge.QuestionID, error)
}

// Next gives the one question that the agent may ask on a turn, or nil. It is delivered with that, and has spent the
// budget; nothing is spent when there is none. Before, what waited too long expires, and what nobody replied to cools.
// (Question Queue, "The budget", "Relevance timing", "Expiry and dedup".)
func (q *Queue) Next(ctx context.Context, r Request) (*Candidate, error) {
	if q.off(ctx) {
		return nil, nil
	}
	if q.failed(ctx, q.age(ctx, r.Agent, r.Turn), "age candidates") {
		return nil, nil
	}
	may, err := q.Store.CanSpend(ctx, q.spending(r))
	if q.failed(ctx, err, "read the budget") || !may {
		return nil, nil
	}
	fit, err := q.fit(ctx, r)
	if q.failed(ctx, err, "look for a candidate") || len(fit) == 0 {
		return nil, nil
	}
	claimed, err := q.claim(ctx, r, fit)
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err := q.faultOf(ctx, err, "claim a candidate"); err != nil {
		return nil, err
	}
	return claimed, nil
}

func (q *Queue) spending(r Request) Spending {
	now := q.Clock.Now()
	return Spending{Agent: r.Agent, Turn: r.Turn, Now: now, Until: now.Add(BucketTTL)}
}

// ageBatch is how many candidates one turn expires and cools.
const ageBatch = 1000

// age expires what waited too long and cools what was ignored, with the questions in rooms that they were asked by.
func (q *Queue) age(ctx context.Context, agent bridge.AgentID, turn Turn) error {
	return q.locked(ctx, agent, turn, func(ctx context.Context) error {
		lapsed, err := q.Store.Lapsed(ctx, agent, turn, ageBatch)
		if err != nil {
			return err
		}
		if _, err := q.expire(ctx, lapsed); err != nil {
			return err
		}
		ignored, err := q.Store.Ignored(ctx, agent, turn, ageBatch)
		if err != nil {
			return err
		}
		for _, c := range ignored {
			if _, err := q.cool(ctx, c, *c.DeliveredTurn+CooldownTurns, bridge.ByAsker); err != nil {
				return err
			}
		}
		return nil
	})
}

// expire expires candidates that still stand as they were read, in the caller's transaction.
func (q *Queue) expire(ctx context.Context, candidates []Candidate) (expired int, err error) {
	for _, c := range candidates {
		moved, err := q.Store.Move(ctx, Move{From: c, To: Expired})
		if err != nil {
			return 0, err
		}
		if !moved {
			continue
		}
		expired++
		if err := q.withdraw(ctx, c, bridge.ByAsker); err != nil {
			return 0, err
		}
	}
	return expired, nil
}

// cool cools a candidate that still stands as it was read, and those that were asked with it, in the caller's transaction.
func (q *Queue) cool(ctx context.Context, c Candidate, until Turn, by bridge.CancelledBy) (moved bool, err error) {
	moved, err = q.Store.Move(ctx, Move{From: c, To: Cooled, CooldownUntil: &until})
	if err != nil || !moved {
		return moved, err
	}
	followers, err := q.Store.Followers(ctx, c.ID)
	if err != nil {
		return true, err
	}
	for _, f := range followers {
		until := *f.DeliveredTurn + CooldownTurns
		if _, err := q.Store.Move(ctx, Move{From: f, To: Cooled, CooldownUntil: &until}); err != nil {
			return true, err
		}
	}
	return true, q.withdraw(ctx, c, by)
}

// withdraw ends the question that a delivered candidate was asked by.
func (q *Queue) withdraw(ctx context.Context, c Candidate, by bridge.CancelledBy) error {
	if c.Question == "" || c.Status != Delivered || c.Leader != "" {
		return nil
	}
	return q.Withdrawer.Withdraw(ctx, c.Question, by, ReasonCooled)
}

// How many candidates are looked at together, and on one turn.
const (
	pageSize = 32
	mostSeen = 1024
)

// fit gives candidates that may be claimed, in order of delivery. Stale ones are expired on the way.
func (q *Queue) fit(ctx context.Context, r Request) ([]Candidate, error) {
	w := Window{Agent: r.Agent, Turn: r.Turn, Cues: r.Cues, Limit: pageSize}
	for seen := 0; seen < mostSeen; seen += pageSize {
		page, err := q.Store.Waiting(ctx, w)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		w.After = &page[len(page)-1]
		fresh, err := q.fresh(ctx, r, page)
		if err != nil || len(fresh) > 0 {
			return fresh, err
		}
	}
	return nil, nil
}

// fresh gives those that are not stale, and expires those that are.
func (q *Queue) fresh(ctx context.Context, r Request, page []Candidate) ([]Candidate, error) {
	stale, failed := q.Staleness.Stale(ctx, r.Agent, page)
	var gone, fresh []Candidate
	for _, c := range page {
		switch {
		case failed[c.ID]:
		case stale[c.ID]:
			gone = append(gone, c)
		default:
			fresh = append(fresh, c)
		}
	}
	if len(gone) == 0 {
		return fresh, nil
	}
	err := q.locked(ctx, r.Agent, r.Turn, func(ctx context.Context) error {
		_, err := q.expire(ctx, gone)
		return err
	})
	return fresh, err
}

// errNothing takes a claim back that found no candidate: it spends nothing.
var errNothing = errors.New("nothing to deliver")

// claim spends the budget and delivers the first candidate that is still to be had, in one transaction.
func (q *Queue) claim(ctx context.Context, r Request, fit []Candidate) (claimed *Candidate, err error) {
	err = q.locked(ctx, r.Agent, r.Turn, func(ctx context.Context) error {
		claimed = nil
		granted, err := q.Store.Spend(ctx, q.spending(r))
		if err != nil {
			return err
		}
		if !granted {
			return errNothing
		}
		for _, c := range fit {
			if claimed, err = q.deliver(ctx, r, c); claimed != nil || err != nil {
				return err
			}
		}
		return errNothing
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// deliver claims one candidate, and gives nil if that is not to be had any more.
func (q *Queue) deliver(ctx context.Context, r Request, c Candidate) (*Candidate, error) {
	m := Move{From: c, To: Delivered, DeliveredTurn: &r.Turn}
	if r.Delivery != nil {
		var err error
		if m.Question, err = r.Delivery.Deliver(ctx, c); err != nil {
			return nil, err
		}
	}
	moved, err := q.Store.Move(ctx, m)
	if err != nil || !moved {
		return nil, err
	}
	if err := q.follow(ctx, c, m.Question); err != nil {
		return nil, err
	}
	c.Status, c.AskCount, c.DeliveredTurn, c.Question, c.CooldownUntil = Delivered, c.AskCount+1, &r.Turn, m.Question, nil
	return &c, nil
}

// follow delivers the equal candidates of the agent's group with this one, at no cost of theirs.
func (q *Queue) follow(ctx context.Context, c Candidate, asked bridge.QuestionID) error {
	others := q.others(c.Agent)
	if len(others) == 0 {
		return nil
	}
	equals, err := q.Store.Equals(ctx, c, others)
	if err != nil {
		return err
	}
	for _, e := range equals {
		turn, _, err := q.Store.HighestTurn(ctx, e.Agent)
		if err != nil {
			return err
		}
		if _, err := q.Store.Move(ctx, Move{From: e, To: Delivered, DeliveredTurn: &turn, Question: asked, Leader: c.ID}); err != nil {
			return err
		}
	}
	return nil
}

// others are the other agents of an agent's group.
func (q *Queue) others(agent bridge.AgentID) []bridge.AgentID {
	for _, group := range q.Groups {
		if slices.Contains(group, agent) {
			return slices.DeleteFunc(slices.Clone(group), func(a bridge.AgentID) bool { return a == agent })
		}
	}
	return nil
}
