package dialect

import (
	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// ToEnvelope gives how a settled question ended (The Question Protocol 1.1, section 4).
func ToEnvelope(q bridge.Question) schema.AnswerEnvelope {
	return schema.AnswerEnvelope{
		QuestionID: string(q.ID), State: schema.State(q.State), Answer: toAnswer(q),
		CorrelationID: q.CorrelationID, ReplyTo: q.ReplyTo, Data: data(q),
		CancelledBy: string(q.CancelledBy), Delivery: toDelivery(q.Delivery),
	}
}

// ToWebhookEvent gives what a webhook is told of a settled question (section 7, "Outgoing-webhook event"). A room without
// a name or a code has null there.
func ToWebhookEvent(q bridge.Question, room schema.WebhookRoom) schema.WebhookEvent {
	at := q.CreatedAt
	if q.SettledAt != nil {
		at = *q.SettledAt
	}
	return schema.WebhookEvent{
		Event: "question." + string(q.State), AnswerEnvelope: ToEnvelope(q), Room: room, Timestamp: timestamp(at),
	}
}
