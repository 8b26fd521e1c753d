package queue

import (
	"context"
	"slices"
)

// Outcome is what became of a proposal.
type Outcome string

// What becomes of proposals.
const (
	Proposed  Outcome = "proposed"
	Touched   Outcome = "touched"   // an open candidate asks it already, and was used now
	Duplicate Outcome = "duplicate" // it was answered already
	Dropped   Outcome = "dropped"   // the queue is busy, or its database failed
	Disabled  Outcome = "disabled"
)

// Propose stores a proposal as a new candidate, unless one asks for the same already, and gives the candidate that stands;
// nil for a proposal that was dropped. A new candidate whose equal another agent of the group is asking right now is
// delivered with that one. (Question Queue, "Expiry and dedup".)
func (q *Queue) Propose(ctx context.Context, p Proposal) (Outcome, *Candidate, error) {
	if err := p.Check(); err != nil {
		return "", nil, err
	}
	off, err := q.off(ctx)
	switch {
	case q.failed(ctx, err, "read the switch"):
		return Dropped, nil, nil
	case off:
		return Disabled, nil, nil
	}
	var outcome Outcome
	var stands Candidate
	err = q.locked(ctx, p.Agent, p.Turn, func(ctx context.Context) (err error) {
		outcome, stands, err = q.propose(ctx, p)
		return err
	})
	if q.failed(ctx, err, "propose") {
		return Dropped, nil, nil
	}
	return outcome, &stands, nil
}

func (q *Queue) propose(ctx context.Context, p Proposal) (Outcome, Candidate, error) {
	similar, err := q.Store.SimilarCandidates(ctx, Similarity{
		Agent: p.Agent, Text: p.Text, Keys: keysOf(p.Targets), Disjunction: p.Disjunction, AnsweredSince: p.Turn - RetentionTurns,
	})
	if err != nil {
		return "", Candidate{}, err
	}
	repeated := slices.DeleteFunc(similar, func(c Candidate) bool { return !p.Repeats(c) })
	if i := slices.IndexFunc(repeated, Candidate.Open); i >= 0 {
		c := repeated[i]
		c.LastSeenTurn = max(c.LastSeenTurn, p.Turn)
		return Touched, c, q.Store.TouchCandidate(ctx, c.ID, p.Turn)
	}
	if len(repeated) > 0 {
		return Duplicate, repeated[0], nil
	}
	c := p.candidate(q.Clock.Now())
	if err := q.Store.AddCandidate(ctx, c); err != nil {
		return "", Candidate{}, err
	}
	c, err = q.join(ctx, c)
	return Proposed, c, err
}
