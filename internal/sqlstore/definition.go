package sqlstore

import (
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// definition is what was asked, as the column of that name holds it: JSON under the names of the Go fields, also those of
// the bridge types. A field that is renamed needs an upgrade step; a test holds a row of the first version.
type definition struct {
	AskedBy           string
	Dialect           bridge.Dialect
	Carried           *bridge.Carried
	Title             string
	Items             []bridge.Item
	Scope             bridge.ResponderScope
	Target            bridge.UserID
	Subject           *bridge.Subject
	ApprovalRequestID string
	RemindAt          *time.Time
	EscalateAt        *time.Time
	Digest            string
	ReplyTo           *string
	Dismissible       bool
	Warnings          []string
}

func define(q bridge.Question) definition {
	d := definition{
		AskedBy: q.AskedBy, Dialect: q.Dialect, Carried: q.Carried, Title: q.Title, Items: q.Items, Scope: q.Scope,
		Target: q.Target, ApprovalRequestID: q.ApprovalRequestID, RemindAt: maybeKept(q.RemindAt),
		EscalateAt: maybeKept(q.EscalateAt), Digest: q.Digest, ReplyTo: q.ReplyTo, Dismissible: q.Dismissible,
		Warnings: q.Warnings,
	}
	if q.Subject != nil {
		subject := *q.Subject
		subject.LapsesAt = maybeKept(subject.LapsesAt)
		d.Subject = &subject
	}
	return d
}

func (d definition) into(q *bridge.Question) {
	q.AskedBy, q.Dialect, q.Carried, q.Title, q.Items, q.Scope = d.AskedBy, d.Dialect, d.Carried, d.Title, d.Items, d.Scope
	q.Target, q.Subject, q.ApprovalRequestID, q.RemindAt = d.Target, d.Subject, d.ApprovalRequestID, d.RemindAt
	q.EscalateAt, q.Digest, q.ReplyTo, q.Dismissible, q.Warnings = d.EscalateAt, d.Digest, d.ReplyTo, d.Dismissible, d.Warnings
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

const questionColumns = `id, asker, elicitation_id, conversation, correlation_id, state, revision, settled_at, cancelled_by, reason,
	created_at, expires_at, forget_after, delivery_state, delivery_message, delivery_reason, answer, definition, data, content`

func scanQuestion(row dbutil.Scannable) (bridge.Question, error) {
	var q bridge.Question
	var d definition
	err := row.Scan(text(&q.ID), text(&q.Asker), text(&q.ElicitationID), text(&q.Conversation), maybeText(&q.CorrelationID),
		text(&q.State), &q.Revision, maybeMoment(&q.SettledAt), text(&q.CancelledBy), text(&q.Reason),
		moment(&q.CreatedAt), moment(&q.ExpiresAt), moment(&q.ForgetAfter), text(&q.Delivery.State),
		text(&q.Delivery.Message), text(&q.Delivery.Reason), decoded(&q.Answer), decoded(&d), raw(&q.Data), raw(&q.Content))
	d.into(&q)
	return q, err
}
