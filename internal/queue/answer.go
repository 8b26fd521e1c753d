package queue

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
)

// Result is what became of a reply.
type Result struct {
	Applied bool
	Reason  Reason
	Option  *int // that was chosen, from 0
}

// Reason says what became of a reply, in one word.
type Reason string

// The reasons (Question Queue, "Fail-closed behavior").
const (
	ReasonApplied     Reason = "applied"
	ReasonCooledDown  Reason = "cooled"       // it was no answer: the candidate may be asked again after its cooldown
	ReasonNotOpen     Reason = "not_open"     // it comes too late, or was never asked: nothing changed
	ReasonApplyFailed Reason = "apply_failed" // it is answered, and its evidence is lost
	ReasonDisabled    Reason = "disabled"
	ReasonError       Reason = "error"
)

// Reply is what a person said to a candidate. The text is read and kept nowhere.
type Reply struct {
	Agent     bridge.AgentID
	Candidate CandidateID
	Text      string
	Turn      Turn
}

// Answer takes a reply. One that names an option answers the candidate, and then counts as evidence: a crash in between
// loses the evidence and never counts it twice. Anything else cools it. A late reply changes nothing. An error is an
// unknown candidate. (Question Queue, "Answer recognition", "Answers are evidence".)
func (q *Queue) Answer(ctx context.Context, r Reply) (Result, error) {
	if q.off(ctx) {
		return Result{Reason: ReasonDisabled}, nil
	}
	c, err := q.Store.Candidate(ctx, r.Agent, r.Candidate)
	if err != nil {
		return Result{Reason: ReasonError}, q.faultOf(ctx, err, "read a candidate")
	}
	if c.Status != Delivered && c.Status != Pending {
		return Result{Reason: ReasonNotOpen}, nil
	}
	chosen, ok := Recognize(c.Options, r.Text).(Chosen)
	if !ok {
		return q.coolDown(ctx, r, c), nil
	}
	answered, err := q.claimAnswer(ctx, c, chosen.Option, r.Turn)
	switch {
	case q.failed(ctx, err, "record an answer"):
		return Result{Reason: ReasonError}, nil
	case len(answered) == 0:
		return Result{Reason: ReasonNotOpen}, nil
	case q.failed(ctx, q.Apply(ctx, answered...), "apply an answer"):
		return Result{Reason: ReasonApplyFailed, Option: &chosen.Option}, nil
	}
	return Result{Applied: true, Reason: ReasonApplied, Option: &chosen.Option}, nil
}

func (q *Queue) coolDown(ctx context.Context, r Reply, c Candidate) Result {
	var moved bool
	err := q.locked(ctx, c.Agent, r.Turn, func(ctx context.Context) (err error) {
		moved, err = q.cool(ctx, c, r.Turn+CooldownTurns, bridge.ByResponder)
		return err
	})
	switch {
	case q.failed(ctx, err, "cool a candidate"):
		return Result{Reason: ReasonError}
	case !moved:
		return Result{Reason: ReasonNotOpen}
	}
	return Result{Reason: ReasonCooledDown}
}

// claimAnswer makes a candidate answered if it still stands as it was read, and gives it with those that were asked with
// it; none if it was moved meanwhile.
func (q *Queue) claimAnswer(ctx context.Context, c Candidate, option int, turn Turn) (answered []Candidate, err error) {
	err = q.locked(ctx, c.Agent, turn, func(ctx context.Context) (err error) {
		answered, err = q.answered(ctx, c, option)
		return err
	})
	return answered, err
}

// answered is claimAnswer in the caller's transaction.
func (q *Queue) answered(ctx context.Context, c Candidate, option int) ([]Candidate, error) {
	moved, err := q.Store.Move(ctx, Move{From: c, To: Answered, AnswerOption: &option})
	if err != nil || !moved {
		return nil, err
	}
	followers, err := q.Store.Followers(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	all := []Candidate{c}
	for _, f := range followers {
		moved, err := q.Store.Move(ctx, Move{From: f, To: Answered, AnswerOption: &option})
		if err != nil {
			return nil, err
		}
		if moved {
			all = append(all, f)
		}
	}
	return all, q.withdraw(ctx, c, bridge.ByAsker)
}

// Apply counts the evidence of answered candidates in one transaction, once however often it is called.
func (q *Queue) Apply(ctx context.Context, answered ...Candidate) error {
	return q.Store.Atomically(ctx, func(ctx context.Context) error {
		for _, c := range answered {
			if err := q.apply(ctx, c.Agent, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *Queue) apply(ctx context.Context, agent bridge.AgentID, id CandidateID) error {
	c, err := q.Store.Candidate(ctx, agent, id)
	if err != nil || c.AnswerOption == nil {
		return err
	}
	first, err := q.Store.MarkApplied(ctx, id)
	if err != nil || !first {
		return err
	}
	for _, effect := range c.Effects(*c.AnswerOption) {
		known, err := q.Store.Evidence(ctx, agent, effect.Key)
		if err != nil {
			return err
		}
		known.Key = effect.Key
		if err := q.Store.SaveEvidence(ctx, agent, known.Answered(effect.Signal)); err != nil {
			return err
		}
	}
	return nil
}
