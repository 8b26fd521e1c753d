package queue

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// Request asks for the next question, once per turn.
type Request struct {
	Agent bridge.AgentID
	Turn  Turn
	// Cues are tokens of what the turn is about, see [CueTokens]; nil for whatever is next.
	Cues []string
	// Whom is the person who would be asked, or the room that would be as a whole, and has a [PersonBudget]; "" for nobody
	// that the bridge knows.
	Whom string
	// Delivery asks the candidate, as part of its claim; nil where the host does that by itself.
	Delivery Delivery
}

// Delivery asks a candidate in a room.
type Delivery interface {
	// Ready says whether anything could be asked there now. It may use the network, and is called outside of transactions,
	// when there is something to ask; nothing is claimed and nothing spent when it fails. A *bridge.Error is given to the
	// caller of Next.
	Ready(ctx context.Context) error
	// Deliver makes the candidate a question in the transaction of ctx, which may be rolled back and run again. Nothing is
	// claimed and nothing spent when it fails; a *bridge.Error is given to the caller of Next. One with
	// bridge.CodeInvalidQuestion says that this candidate can never be asked there: the next one is tried.
	Deliver(ctx context.Context, c Candidate) (bridge.QuestionID, error)
}

// Next gives the one question that the agent may ask on a turn, or nil. It is delivered with that, and has spent the
// budgets; nothing is spent when there is none. Before that, whatever nobody replied to cools, and what waited too long or
// is stale expires. (Question Queue, "The budget", "Relevance timing", "Expiry and dedup".)
func (q *Queue) Next(ctx context.Context, r Request) (*Candidate, error) {
	if err := r.Turn.Check(); err != nil {
		return nil, err
	}
	if q.idle(ctx) {
		return nil, nil
	}
	if q.failed(ctx, q.age(ctx, r.Agent, r.Turn), "age candidates") || q.failed(ctx, q.recall(ctx, r), "check what is asked") {
		return nil, nil
	}
	left, err := q.Store.BudgetLeft(ctx, q.spending(r))
	if q.failed(ctx, err, "read the budget") || !left {
		return nil, nil
	}
	fit, err := q.fit(ctx, r)
	if q.failed(ctx, err, "look for a candidate") || len(fit) == 0 {
		return nil, nil
	}
	if r.Delivery != nil {
		if err := r.Delivery.Ready(ctx); err != nil {
			return nil, q.fault(ctx, err, "look where to ask")
		}
	}
	claimed, err := q.claim(ctx, r, fit)
	if err != nil && !errors.Is(err, errNothing) {
		return nil, q.fault(ctx, err, "claim a candidate")
	}
	return claimed, nil
}

func (q *Queue) spending(r Request) Spending {
	now := q.Clock.Now()
	return Spending{Agent: r.Agent, Turn: r.Turn, Now: now, Until: now.Add(BucketTTL)}
}

// mostAsked is how many candidates that wait for a reply are checked on one turn; there are few, as asking is rationed.
const mostAsked = 200

// recall expires what was delivered and is stale.
func (q *Queue) recall(ctx context.Context, r Request) error {
	if q.Staleness == nil {
		return nil
	}
	asked, _, err := q.Store.ListCandidates(ctx, Listing{Agent: r.Agent, Status: Delivered, Limit: mostAsked})
	if err == nil && len(asked) > 0 {
		_, err = q.fresh(ctx, r, asked)
	}
	return err
}

// How many candidates are looked at together, and on one turn.
const (
	pageSize = 32
	mostSeen = 1024
)

// fit gives candidates that may be claimed, in order of delivery. Stale ones are expired on the way.
func (q *Queue) fit(ctx context.Context, r Request) ([]Candidate, error) {
	w := Window{Agent: r.Agent, Turn: r.Turn, Cues: r.Cues, Limit: pageSize}
	for range mostSeen / pageSize {
		page, err := q.Store.WaitingCandidates(ctx, w)
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

// fresh gives the candidates that are not stale, and expires those that are. One that cannot be checked is neither.
func (q *Queue) fresh(ctx context.Context, r Request, candidates []Candidate) ([]Candidate, error) {
	if q.Staleness == nil {
		return candidates, nil
	}
	stale, failed := q.Staleness.Stale(ctx, r.Agent, candidates)
	var old, fresh []Candidate
	for _, c := range candidates {
		switch {
		case failed[c.ID]:
		case stale[c.ID]:
			old = append(old, c)
		default:
			fresh = append(fresh, c)
		}
	}
	if len(old) == 0 {
		return fresh, nil
	}
	return fresh, q.locked(ctx, r.Agent, r.Turn, func(ctx context.Context) error {
		_, err := q.expire(ctx, r.Turn, old)
		return err
	})
}

// errNothing takes a claim back that delivered nothing.
var errNothing = errors.New("nothing to deliver")

// claim spends the budgets and delivers the first candidate that is still to be had, in one transaction.
func (q *Queue) claim(ctx context.Context, r Request, fit []Candidate) (claimed *Candidate, err error) {
	err = q.locked(ctx, r.Agent, r.Turn, func(ctx context.Context) error {
		claimed = nil
		switch granted, err := q.spend(ctx, r); {
		case err != nil:
			return err
		case !granted:
			return errNothing
		}
		for _, c := range fit {
			if claimed, err = q.deliver(ctx, r, c.ID); claimed != nil || err != nil {
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

// spend takes one delivery from the agent's budget, and one ask from that of whoever is asked.
func (q *Queue) spend(ctx context.Context, r Request) (granted bool, err error) {
	granted, err = q.Store.SpendBudget(ctx, q.spending(r))
	if err != nil || !granted || r.Whom == "" || q.PersonBudget == (PersonBudget{}) {
		return granted, err
	}
	return q.Store.SpendPersonBudget(ctx, PersonSpending{Whom: r.Whom, Now: q.Clock.Now(), PersonBudget: q.PersonBudget})
}

// deliver claims one candidate, and gives nil if that is not to be had any more.
func (q *Queue) deliver(ctx context.Context, r Request, id CandidateID) (*Candidate, error) {
	c, err := q.Store.Candidate(ctx, r.Agent, id)
	if bridge.CodeOf(err) == CodeCandidateUnknown { // it was pruned
		return nil, nil
	}
	if err != nil || !c.Deliverable(r.Turn) {
		return nil, err
	}
	var asked bridge.QuestionID
	if r.Delivery != nil {
		asked, err = r.Delivery.Deliver(ctx, c)
		if bridge.CodeOf(err) == bridge.CodeInvalidQuestion {
			zerolog.Ctx(ctx).Warn().Str("candidate_id", string(c.ID)).Msg("A candidate cannot be asked in this room")
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	delivered := c.delivered(r.Turn, asked, "")
	switch moved, err := q.Store.MoveCandidate(ctx, c, delivered); {
	case err != nil:
		return nil, err
	case !moved: // and so there must not be a question of it either
		return nil, errNothing
	}
	return &delivered, q.lead(ctx, delivered)
}
