package client

import (
	"bytes"
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// The events that there are. Each tells of the end of one question, and names the state that it ended in.
const (
	EventAnswered  = "question.answered"
	EventExpired   = "question.expired"
	EventCancelled = "question.cancelled"
)

// Event is a genuine webhook event: how one question ended.
type Event struct {
	ID      string // of the delivery (webhook-id): the same for every attempt, another for every endpoint
	Name    string // EventAnswered, EventExpired or EventCancelled
	Outcome        // with QuestionID, CorrelationID, ReplyTo and Data; its Question is nil
	Room    schema.WebhookRoom
	At      time.Time       // when the question ended
	Raw     json.RawMessage // the body, with the properties that this package does not know
}

// readEvent reads the body of a request that is genuine.
func readEvent(id string, body []byte) (*Event, error) {
	var named struct {
		Event string `json:"event"`
	}
	if decodeOne(body, &named) != nil || named.Event == "" {
		return nil, malformed("it is not a webhook event")
	}
	switch named.Event {
	case EventAnswered, EventExpired, EventCancelled:
	default:
		return nil, &WebhookError{Code: CodeUnknownEvent, Event: named.Event, Detail: "it is an event of another kind"}
	}
	var e schema.WebhookEvent
	if decodeOne(body, &e) != nil {
		return nil, malformed("it does not have the shape of an event")
	}
	if e.QuestionID == "" || e.Event != "question."+string(e.State) {
		return nil, malformed("it does not say which question ended, and how")
	}
	if err := checkAnswer(e.State, e.Answer); err != nil {
		return nil, malformed(err.Error())
	}
	at, err := e.Timestamp.Time()
	if err != nil {
		return nil, malformed("it does not say when the question ended")
	}
	return &Event{
		ID: id, Name: e.Event, Outcome: Outcome{AnswerEnvelope: e.AnswerEnvelope}, Room: e.Room, At: at,
		Raw: bytes.Clone(bytes.TrimSpace(body)),
	}, nil
}

func malformed(detail string) error { return &WebhookError{Code: CodeMalformed, Detail: detail} }
