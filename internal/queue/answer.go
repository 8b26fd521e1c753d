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
	ReasonCooled      Reason = "cooled"       // it was no answer: the candidate may be asked again after its cooldown
	ReasonNotOpen     Reason = "not_open"     // it comes too late: nothing changed
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
// loses the evidence and never counts it twice. Anything else cools it. A late reply changes nothing. The error is an
// unknown candidate, or a turn out of its limits. (Question Queue, "Answer recognition", "Answers are evidence".)
func (q *Queue) Answer(ctx context.Context, r Reply) (Result, error) {
	if err := r.Turn.Check(); err != nil {
		return Result{Reason: ReasonError}, err
	}
	off, err := q.off(ctx)
	switch {
	case q.failed(ctx, err, "read the switch"):
		return Result{Reason: ReasonError}, nil
	case off:
		return Result{Reason: ReasonDisabled}, nil
	}
	var result Result
	var answered []Candidate
	err = q.locked(ctx, r.Agent, r.Turn, func(ctx context.Context) (err error) {
		result, answered, err = q.reply(ctx, r)
		return err
	})
	switch {
	case err != nil:
		return Result{Reason: ReasonError}, q.fault(ctx, err, "record a reply")
	case len(answered) == 0:
		return result, nil
	case q.failed(ctx, q.Apply(ctx, answered...), "apply an answer"):
		return Result{Reason: ReasonApplyFailed, Option: result.Option}, nil
	}
	return Result{Applied: true, Reason: ReasonApplied, Option: result.Option}, nil
}

// reply does what a reply says in the caller's transaction. answered are all those candidates that it answers.
func (q *Queue) reply(ctx context.Context, r Reply) (result Result, answered []Candidate, err error) {
	c, err := q.Store.Candidate(ctx, r.Agent, r.Candidate)
	if err != nil {
		return Result{}, nil, err
	}
	if c.Status != Delivered && c.Status != Pending {
		return Result{Reason: ReasonNotOpen}, nil, nil
	}
	chosen, ok := Recognize(c.Options, r.Text).(Chosen)
	e := repliedTo(c, r.Turn)
	if ok {
		e = answeredBy(c, chosen.Option, r.Turn)
	}
	moved, err := q.end(ctx, c, e)
	switch {
	case err != nil:
		return Result{}, nil, err
	case len(moved) == 0:
		return Result{Reason: ReasonNotOpen}, nil, nil
	case !ok:
		return Result{Reason: ReasonCooled}, nil, nil
	}
	return Result{Option: &chosen.Option}, moved, nil
}

// Apply counts the evidence of answered candidates of one group, once however often it is called. It is a transaction of
// its own.
func (q *Queue) Apply(ctx context.Context, answered ...Candidate) error {
	return q.Store.Atomically(ctx, func(ctx context.Context) error {
		for _, c := range answered {
			if err := q.Store.LockAgent(ctx, q.group(c.Agent)[0]); err != nil {
				return err
			}
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
	evidence := []Evidence{}
	for _, effect := range c.Effects(*c.AnswerOption) {
		known, err := q.Store.Evidence(ctx, agent, effect.Key)
		if err != nil {
			return err
		}
		known = known.Answered(effect.Signal)
		if err := q.Store.SaveEvidence(ctx, agent, known); err != nil {
			return err
		}
		evidence = append(evidence, known)
	}
	return q.Reporter.Answered(ctx, c, evidence)
}
