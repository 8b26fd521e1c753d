package client

import "net/http"

// WebhookCode says what is wrong with a webhook request.
type WebhookCode string

// The codes of a [WebhookError].
const (
	CodeBadSignature WebhookCode = "bad_signature"        // none, or none with a secret of this endpoint
	CodeOutOfTime    WebhookCode = "timestamp_not_recent" // genuine, but sent too long ago, or by a clock that is ahead
	CodeTooLarge     WebhookCode = "too_large"
	CodeMalformed    WebhookCode = "malformed"     // genuine, but no event that can be understood without guessing
	CodeUnknownEvent WebhookCode = "unknown_event" // genuine, but of another kind, such as webhook.test: see Ignorable
)

// WebhookError says why a request gives no event.
type WebhookError struct {
	Code   WebhookCode
	Event  string // the event's name, with CodeUnknownEvent: text of the server
	Detail string // half a sentence for a person; nothing of the request
}

func (e *WebhookError) Error() string { return "client: no webhook event: " + e.Detail }

// Ignorable says whether there is nothing wrong: the event is of a kind that this package does not know, and is to be
// answered like any other and forgotten.
func (e *WebhookError) Ignorable() bool { return e.Code == CodeUnknownEvent }

// Status is what to answer to the request: 204 where it is ignorable, else 400, 401 or 413. A server tries again after
// anything but 2xx.
func (e *WebhookError) Status() int {
	switch e.Code {
	case CodeUnknownEvent:
		return http.StatusNoContent
	case CodeBadSignature, CodeOutOfTime:
		return http.StatusUnauthorized
	case CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusBadRequest
	}
}
