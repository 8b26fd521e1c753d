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
	moved, err := q.claimAnswer(ctx, c, chosen.Option, r.Turn)
	switch {
	case q.failed(ctx, err, "record an answer"):
		return Result{Reason: ReasonError}, nil
	case !moved:
		return Result{Reason: ReasonNotOpen}, nil
	case q.failed(ctx, q.Apply(ctx, c.Agent, c.ID), "apply an answer"):
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

// claimAnswer makes a candidate answered if it still stands as it was read, with those that were asked with it.
func (q *Queue) claimAnswer(ctx context.Context, c Candidate, option int, turn Turn) (moved bool, err error) {
	err = q.locked(ctx, c.Agent, turn, func(ctx context.Context) (err error) {
		moved, err = q.answered(ctx, c, option)
		return err
	})
	return moved, err
}

// answered is claimAnswer in the caller's transaction.
func (q *Queue) answered(ctx context.Context, c Candidate, option int) (moved bool, err error) {
	if moved, err = q.Store.Move(ctx, Move{From: c, To: Answered, AnswerOption: &option}); err != nil || !moved {
		return moved, err
	}
	followers, err := q.Store.Followers(ctx, c.ID)
	if err != nil {
		return true, err
	}
	for _, f := range followers {
		if _, err := q.Store.Move(ctx, Move{From: f, To: Answered, AnswerOption: &option}); err != nil {
			return true, err
		}
	}
	return true, q.withdraw(ctx, c, bridge.ByAsker)
}

// Apply counts the evidence of an answered candidate, once however often it is called.
func (q *Queue) Apply(ctx context.Context, agent bridge.AgentID, id CandidateID) error {
	return q.Store.Atomically(ctx, func(ctx context.Context) error {
		c, err := q.Store.Candidate(ctx, agent, id)
		if err != nil {
			return err
		}
		if c.AnswerOption == nil {
			return nil
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
	})
}
