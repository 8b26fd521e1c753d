package collector

import (
	"context"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
)

// Settling implements [bridge.Feature]: the end of a question that asks for a gate's approval is the end of that, in the
// same transaction. Only an answer decides anything.
func (c *Collector) Settling(ctx context.Context, q bridge.Question) error {
	g, ok, err := c.Store.GateOfQuestion(ctx, q.ID)
	if err != nil || !ok || g.State != Open {
		return err
	}
	to := g
	switch q.State {
	case bridge.Answered:
		return c.answered(ctx, g, q)
	case bridge.Expired:
		to.State = Expired
	default:
		to.State, to.Reason = Withheld, Withdrawn
	}
	return c.move(ctx, g, to)
}

// Expiring implements [bridge.Selective].
func (c *Collector) Expiring(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return c.Store.GatesOfQuestions(ctx, ids)
}

// answered takes a person's answer in the room as the response to the approval query.
func (c *Collector) answered(ctx context.Context, g Gate, q bridge.Question) error {
	answer, err := answerOf(q)
	if err != nil {
		return err
	}
	a := Accepted{ReceivedAt: q.Answer.At, Response: Response{
		ID: gate.NewResponseID(q.Answer.At), Query: g.Approval.ID, Respondent: Human, Provenance: Mediated, Answer: answer,
		RespondedAt: q.Answer.At,
	}}
	if reason := unfit(g, g.Approval, a.Response); reason != "" {
		return fmt.Errorf("the answer to question %s is none to gate %s: %s", q.ID, g.ID, reason)
	}
	first, err := c.Store.Accept(ctx, a)
	if err != nil {
		return err
	}
	if !first {
		return errMoved
	}
	_, err = c.accepted(ctx, g, a, q.Answer.By.ID)
	return err
}

// answerOf is the answer to a question that asks an approval query: its options have the choices for ids.
func answerOf(q bridge.Question) (Answer, error) {
	if len(q.Answer.Items) != 1 || len(q.Answer.Items[0].Selected) != 1 {
		return Answer{}, fmt.Errorf("question %s is not answered with one of its options", q.ID)
	}
	choice := string(q.Answer.Items[0].Selected[0])
	return Answer{Choice: &choice}, nil
}
