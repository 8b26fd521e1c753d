package sqlstore

import (
	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// definition is what was asked, as the column of that name holds it: JSON under the names of the Go fields, without those
// that have a column of their own. A field that is renamed needs an upgrade step; a test holds a row of the first version.
type definition struct {
	bridge.Question

	// These hide the fields of the same name.
	ID, Asker, ElicitationID, Conversation, CorrelationID, Data, Content *struct{} `json:",omitempty"`
	CreatedAt, ExpiresAt, ForgetAfter                                    *struct{} `json:",omitempty"`
	State, Revision, Answer, SettledAt, CancelledBy, DismissedBy         *struct{} `json:",omitempty"`
	Reason, Delivery                                                     *struct{} `json:",omitempty"`
}

func define(q bridge.Question) definition {
	q.RemindAt, q.EscalateAt = maybeKept(q.RemindAt), maybeKept(q.EscalateAt)
	if q.Subject != nil {
		subject := *q.Subject
		subject.LapsesAt = maybeKept(subject.LapsesAt)
		q.Subject = &subject
	}
	return definition{Question: q}
}

// encodeAnswer gives NULL for no answer.
func encodeAnswer(a *bridge.Answer) (any, error) {
	if a == nil {
		return nil, nil
	}
	stored := *a
	stored.At = kept(stored.At)
	return encode(stored)
}

const questionColumns = `id, asker, elicitation_id, conversation, correlation_id, state, revision, settled_at, cancelled_by, dismissed_by, reason,
	created_at, expires_at, forget_after, delivery_state, delivery_message, delivery_reason, answer, definition, data, content`

func scanQuestion(row dbutil.Scannable) (bridge.Question, error) {
	var d definition
	q := &d.Question
	err := row.Scan(text(&q.ID), text(&q.Asker), text(&q.ElicitationID), text(&q.Conversation), maybeText(&q.CorrelationID),
		text(&q.State), &q.Revision, maybeMoment(&q.SettledAt), text(&q.CancelledBy), text(&q.DismissedBy), text(&q.Reason),
		moment(&q.CreatedAt), moment(&q.ExpiresAt), moment(&q.ForgetAfter), text(&q.Delivery.State),
		text(&q.Delivery.Message), text(&q.Delivery.Reason), decoded(&q.Answer), decoded(&d), raw(&q.Data), raw(&q.Content))
	return d.Question, err
}
