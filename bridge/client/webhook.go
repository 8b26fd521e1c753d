package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// MaxWebhookBytes bounds what is read of a webhook request; the largest event of this project's server is a fraction.
	MaxWebhookBytes = 1 << 20
	// WebhookTolerance is how far a request's timestamp may be from the clock of this machine, either way.
	WebhookTolerance = 5 * time.Minute

	minSecretBytes = 24 // of the Standard Webhooks specification
	secretPrefix   = "whsec_"
)

// Webhook tells an asker that does not wait how its questions ended: it verifies and reads the requests that a server
// posts to it (The Question Protocol 1.1, section 7, "Outgoing-webhook event"), signed as Standard Webhooks says. It is
// safe for concurrent use.
//
// An event comes at least once, and in any order with those of other questions. A receiver does each thing once by
// remembering what it is done with: the [Event]'s ID, which is the same for every attempt, or its QuestionID, which is
// the same for every endpoint too, since a question ends once. Remember them for at least 30 days.
type Webhook struct{ keys []*standardwebhooks.Webhook }

// NewWebhook takes the secret of the endpoint, "whsec_" and a key of at least 24 bytes in Base64, as "questiond webhook
// secret" makes it. While it is being changed there are two, and a request signed with either is genuine.
func NewWebhook(secrets ...string) (*Webhook, error) {
	if len(secrets) == 0 {
		return nil, errors.New("client: no webhook secret")
	}
	w := &Webhook{}
	for i, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if n, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix)); err != nil || len(n) < minSecretBytes {
			// The secret itself is not shown, nor how it is wrong.
			return nil, fmt.Errorf("client: webhook secret %d is not %q and at least %d bytes in Base64", i+1, secretPrefix, minSecretBytes)
		}
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("client: webhook secret %d is not in Base64", i+1)
		}
		w.keys = append(w.keys, key)
	}
	return w, nil
}

// Reconcile verifies a webhook request, whose body must not have been read, and gives the event that it tells of. An asker
// that did not wait knows its question again by [Outcome.Correlation] or the QuestionID. It reads at most MaxWebhookBytes.
// Every error is a [*WebhookError], and nothing of a request that is not genuine is given.
func (w *Webhook) Reconcile(r *http.Request) (*Event, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, MaxWebhookBytes+1)); err != nil {
			return nil, &WebhookError{Code: CodeMalformed, Detail: "the body could not be read to its end"}
		}
	}
	if len(body) > MaxWebhookBytes {
		return nil, &WebhookError{Code: CodeTooLarge, Detail: fmt.Sprintf("the body is larger than %d bytes", MaxWebhookBytes)}
	}
	if err := w.verify(body, r.Header); err != nil {
		return nil, err
	}
	return readEvent(r.Header.Get(standardwebhooks.HeaderWebhookID), body)
}

// verify looks at the signature before the time: what is not genuine is not called old.
func (w *Webhook) verify(body []byte, header http.Header) error {
	for _, key := range w.keys {
		if key.VerifyIgnoringTimestamp(body, header) != nil {
			continue
		}
		if key.Verify(body, header) != nil {
			return &WebhookError{Code: CodeOutOfTime, Detail: fmt.Sprintf("the timestamp is more than %s away", WebhookTolerance)}
		}
		return nil
	}
	return &WebhookError{Code: CodeBadSignature, Detail: "there is no signature with a secret of this endpoint"}
}
