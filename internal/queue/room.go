package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
)

// EffectEvidence counts the evidence of an answer that was given in a room. [Queue.Run] does it.
const EffectEvidence bridge.EffectKind = "evidence"

// laneEvidence keeps it from waiting for messages in the room.
const laneEvidence = "evidence"

// answers is the payload of an [EffectEvidence]: the candidates that one question answered.
type answers []answered

type answered struct {
	Agent     bridge.AgentID `json:"agent"`
	Candidate CandidateID    `json:"candidate"`
}

// Settling moves the candidate that a settled question was asked for, and those that were delivered with it, in the
// transaction that settles it: an answer answers them, on the highest turn that their agents have sent; a reply that is
// none cools them; and so does every other end, as one that was ignored. It takes no lock of the queue, whose own calls hold
// question and candidate in this order, too. Its evidence is owed, once however often it is counted.
func (q *Queue) Settling(ctx context.Context, settled bridge.Question) error {
	if !settled.Rationed || isWithdrawing(ctx, settled.ID) {
		return nil
	}
	c, ok, err := q.Store.CandidateOf(ctx, settled.ID)
	if err != nil || !ok || c.Status != Delivered {
		return err
	}
	turn, err := q.Store.HighestTurn(ctx, c.Agent)
	if err != nil {
		return err
	}
	e, err := endingBy(settled, c, turn)
	if err != nil {
		return err
	}
	stood, err := q.Store.MoveCandidate(ctx, c, e.to)
	if err != nil || !stood {
		return err
	}
	followers, err := q.endFollowers(ctx, c, e)
	if err != nil || e.to.Status != Answered {
		return err
	}
	return q.oweEvidence(ctx, settled, append([]Candidate{c}, followers...))
}

// Expiring implements [bridge.Selective].
func (q *Queue) Expiring(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return q.Store.AskedOf(ctx, ids)
}

// endingBy is what the end of its question means for a candidate.
func endingBy(settled bridge.Question, c Candidate, turn Turn) (ending, error) {
	switch {
	case settled.Answer != nil:
		option, err := chosen(settled, c)
		return answeredBy(c, option, turn), err
	case settled.CancelledBy == bridge.ByResponder:
		return repliedTo(c, turn), nil
	}
	return ignored(c, turn), nil
}

// chosen is the candidate's option, from 0, that its question was answered with.
func chosen(settled bridge.Question, c Candidate) (int, error) {
	for _, item := range settled.Answer.Items {
		for _, id := range item.Selected {
			if i := optionIndex(id, len(c.Options)); i >= 0 {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("question %s was answered with no option of its candidate", settled.ID)
}

func (q *Queue) oweEvidence(ctx context.Context, settled bridge.Question, moved []Candidate) error {
	var owed answers
	for _, c := range moved {
		owed = append(owed, answered{c.Agent, c.ID})
	}
	payload, err := json.Marshal(owed)
	if err != nil {
		return err
	}
	return q.Store.AddEffects(ctx, bridge.Effect{
		Kind: EffectEvidence, Question: settled.ID, Lane: laneEvidence, Key: fmt.Sprintf("%s/%s", settled.ID, EffectEvidence),
		Payload: payload, Due: q.Clock.Now(),
	})
}

// Run counts the evidence that an [EffectEvidence] is about. What was pruned meanwhile has none.
func (q *Queue) Run(ctx context.Context, f bridge.Effect) error {
	var owed answers
	if err := json.Unmarshal(f.Payload, &owed); err != nil {
		return fmt.Errorf("read whose evidence to count: %w", err)
	}
	for _, a := range owed {
		err := q.Apply(ctx, Candidate{Agent: a.Agent, ID: a.Candidate})
		if err != nil && bridge.CodeOf(err) != CodeCandidateUnknown {
			return err
		}
	}
	return nil
}

type withdrawingKey struct{}

// withdrawing marks that the queue withdraws a question itself, and moves the candidate as it sees fit.
func withdrawing(ctx context.Context, id bridge.QuestionID) context.Context {
	return context.WithValue(ctx, withdrawingKey{}, id)
}

func isWithdrawing(ctx context.Context, id bridge.QuestionID) bool {
	by, _ := ctx.Value(withdrawingKey{}).(bridge.QuestionID)
	return by == id
}
