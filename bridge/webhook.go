package bridge

import (
	"context"
	"encoding/json"
	"time"
)

// EffectWebhook posts one event to one endpoint. Its effects are kept apart from the others, each as a
// [WebhookDelivery], because what was delivered stays for a while; its Key is the delivery's id, its Payload the body.
const EffectWebhook EffectKind = "webhook"

// WebhookState says how far a delivery came.
type WebhookState string

// The states of a delivery. A failed one was given up.
const (
	WebhookPending   WebhookState = "pending"
	WebhookDelivered WebhookState = "delivered"
	WebhookFailed    WebhookState = "failed"
)

// WebhookDelivery is one event owed to one endpoint, or that was.
type WebhookDelivery struct {
	ID        string     // stable: the receiver sees it at every attempt
	Endpoint  string     // by its name in the configuration
	Question  QuestionID // the delivery is forgotten with it
	Event     string
	Body      json.RawMessage // the bytes to send, as they are
	CreatedAt time.Time

	State      WebhookState
	Due        time.Time // of a pending one that is being sent, the end of its lease
	Attempts   int       // since it was made, or last replayed
	FirstTry   *time.Time
	FinishedAt *time.Time // of one that is delivered or failed
	Why        string     // what went wrong last
}

// Announcement is something that webhooks are told beside how questions end. Only endpoints that name its event get it.
type Announcement struct {
	Event        string         // its name, such as "candidate.answered"
	Key          string         // what it is about: deliveries of the same event and key have the same ids
	Conversation ConversationID // where it happened; "" for nowhere: then endpoints of every room get it
	Question     QuestionID     // that its deliveries are forgotten with; "" for none
	At           time.Time
	Body         map[string]any // what the event says, beside event, room and timestamp
}

// Announcer owes announcements to webhooks.
type Announcer interface {
	// Announce stores what is owed in the transaction of ctx, and wakes whoever sends it after the commit. Announcing the same
	// twice is an error.
	Announce(ctx context.Context, a Announcement) error
}

// WebhookEndpoint is what is known of an endpoint: how it went, not where it is, which the configuration says.
type WebhookEndpoint struct {
	Name        string
	DisabledAt  *time.Time // it answered 410 Gone; nothing is sent until an operator enables it
	PausedUntil *time.Time // it asked for silence
	SucceededAt *time.Time
	FailedAt    *time.Time
	Failure     string // what went wrong at FailedAt

	Pending, Failed int // deliveries
}
