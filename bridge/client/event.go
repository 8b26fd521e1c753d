package client

import (
	"bytes"
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// The events that tell of the end of one question. Each names the state that it ended in.
const (
	EventAnswered  = "question.answered"
	EventExpired   = "question.expired"
	EventCancelled = "question.cancelled"
)

// EventGrantRevoked tells that somebody took back what an answer had granted. Only endpoints that name it get it.
const EventGrantRevoked = schema.EventGrantRevoked

// The events that tell where a gate went. Only endpoints that name one get it.
const (
	EventGateApproved = "gate." + schema.GateApproved
	EventGateDeclined = "gate." + schema.GateDeclined
	EventGateExpired  = "gate." + schema.GateExpired
	EventGateAnswered = "gate." + schema.GateAnswered
	EventGateWithheld = "gate." + schema.GateWithheld
)

// Event is a genuine webhook event: how one question ended, or what happened besides.
type Event struct {
	ID      string            // of the delivery (webhook-id): the same for every attempt, another for every endpoint
	Name    string            // EventAnswered, EventExpired or EventCancelled, or one of those that an endpoint names
	Outcome                   // with QuestionID, CorrelationID, ReplyTo and Data; its Question is nil. Empty where no question ended
	Grant   *schema.Grant     // with EventGrantRevoked
	Gate    *schema.GateEvent // with EventGateApproved and the others of gates; nothing of its queries is in it
	Room    schema.WebhookRoom
	At      time.Time       // when it happened
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
	case EventGrantRevoked:
		return readRevocation(id, body)
	case EventGateApproved, EventGateDeclined, EventGateExpired, EventGateAnswered, EventGateWithheld:
		return readGateMove(id, body)
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

func readRevocation(id string, body []byte) (*Event, error) {
	var e schema.GrantEvent
	if decodeOne(body, &e) != nil || e.Grant.ID == "" || e.Grant.QuestionID == "" || e.Grant.State != schema.GrantRevoked {
		return nil, malformed("it does not say which grant was revoked")
	}
	at, err := e.Timestamp.Time()
	if err != nil {
		return nil, malformed("it does not say when the grant was revoked")
	}
	return &Event{ID: id, Name: e.Event, Grant: &e.Grant, Room: e.Room, At: at, Raw: bytes.Clone(bytes.TrimSpace(body))}, nil
}

func readGateMove(id string, body []byte) (*Event, error) {
	var e schema.GateEvent
	if decodeOne(body, &e) != nil || e.GateID == "" || e.Event != "gate."+e.State {
		return nil, malformed("it does not say which gate moved, and where")
	}
	at, err := e.Timestamp.Time()
	if err != nil {
		return nil, malformed("it does not say when the gate moved")
	}
	return &Event{ID: id, Name: e.Event, Gate: &e, Room: e.Room, At: at, Raw: bytes.Clone(bytes.TrimSpace(body))}, nil
}

func malformed(detail string) error { return &WebhookError{Code: CodeMalformed, Detail: detail} }
