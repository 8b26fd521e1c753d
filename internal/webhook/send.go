package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/egress"
)

// Caller makes one guarded call; *egress.Client does.
type Caller interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, error)
}

// Book is what a sender has to know and to keep of its endpoint.
type Book interface {
	// Delivery reads one delivery; CodeNotFound when it is forgotten.
	Delivery(ctx context.Context, id string) (bridge.WebhookDelivery, error)
	// DisableEndpoint stops everything to an endpoint until an operator enables it.
	DisableEndpoint(ctx context.Context, name string, at time.Time) error
	// PauseEndpoint stops everything to an endpoint until a time.
	PauseEndpoint(ctx context.Context, name string, until time.Time) error
}

// Retry says how long an endpoint that does not take an event is tried.
type Retry struct {
	First   time.Duration // after the first attempt; it doubles with each further one
	Longest time.Duration // between two attempts, by our own reckoning
	Asked   time.Duration // the most that a Retry-After is believed
	GiveUp  time.Duration // from the first attempt on; no attempt begins later
}

// DefaultRetry tries about 30 times within three days.
func DefaultRetry() Retry {
	return Retry{First: 5 * time.Second, Longest: 4 * time.Hour, Asked: 24 * time.Hour, GiveUp: 72 * time.Hour}
}

// Sender posts what is owed to one endpoint. Its effects are of kind [bridge.EffectWebhook].
type Sender struct {
	endpoint Endpoint
	signer   signer
	caller   Caller
	book     Book
	clock    bridge.Clock
	retry    Retry
}

// Means is what a sender works with.
type Means struct {
	Caller Caller
	Book   Book
	Clock  bridge.Clock
	Retry  Retry
}

// NewSender makes the sender of an endpoint, whose secrets must be usable.
func NewSender(e Endpoint, m Means) (*Sender, error) {
	signer, err := newSigner(e.Secrets)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", e.Name, err)
	}
	return &Sender{endpoint: e, signer: signer, caller: m.Caller, book: m.Book, clock: m.Clock, retry: m.Retry}, nil
}

// Run makes one attempt. A nil error means that the endpoint took the event; *bridge.ErrRetry says when to come back,
// *bridge.ErrImpossible that it is given up. An attempt whose result is lost is made again, under the same id.
func (s *Sender) Run(ctx context.Context, f bridge.Effect) error {
	ctx = zerolog.Ctx(ctx).With().Str("endpoint", s.endpoint.Name).Str("delivery_id", f.Key).Logger().WithContext(ctx)
	r, err := s.post(ctx, f.Key, f.Payload)
	switch {
	case err == nil && r.Status >= 200 && r.Status <= 299:
		return nil
	case err != nil && ctx.Err() != nil:
		return err // we are ending: nothing is known of the endpoint
	case err == nil && r.Status == http.StatusGone:
		return s.gone(ctx)
	}
	why, asked := "", time.Duration(0)
	if err != nil {
		why = err.Error()
	} else {
		why = fmt.Sprintf("answered %d %s", r.Status, http.StatusText(r.Status))
		asked = min(r.RetryAfter(s.clock.Now()), s.retry.Asked)
	}
	if asked > 0 && (r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable) {
		if err := s.book.PauseEndpoint(ctx, s.endpoint.Name, s.clock.Now().Add(asked)); err != nil {
			return err
		}
	}
	return s.again(ctx, f, max(s.backoff(f.Attempts), later(asked)), why)
}

// again says when the next attempt is, or that there is none.
func (s *Sender) again(ctx context.Context, f bridge.Effect, wait time.Duration, why string) error {
	d, err := s.book.Delivery(ctx, f.Key)
	if err != nil && bridge.CodeOf(err) != bridge.CodeNotFound {
		return err
	}
	if d.FirstTry != nil && s.clock.Now().Add(wait).Sub(*d.FirstTry) > s.retry.GiveUp {
		return &bridge.ErrImpossible{Reason: fmt.Sprintf("given up after %d attempts: %s", f.Attempts, why)}
	}
	return &bridge.ErrRetry{After: wait, Err: errors.New(why)}
}

// gone disables the endpoint. The event stays owed: it goes out when an operator enables the endpoint.
func (s *Sender) gone(ctx context.Context) error {
	if err := s.book.DisableEndpoint(ctx, s.endpoint.Name, s.clock.Now()); err != nil {
		return err
	}
	zerolog.Ctx(ctx).Error().Msg("A webhook endpoint answered 410 Gone and is disabled; `questiond webhook enable` enables it")
	return &bridge.ErrRetry{After: s.retry.First, Err: errors.New("answered 410 Gone: the endpoint is disabled")}
}

// post makes one attempt: the bytes as they are, signed now.
func (s *Sender) post(ctx context.Context, id string, body []byte) (egress.Response, error) {
	headers, err := s.signer.headers(id, s.clock.Now(), body)
	if err != nil {
		return egress.Response{}, err
	}
	return s.caller.Do(ctx, egress.Request{Method: http.MethodPost, URL: s.endpoint.URL, Header: headers, Body: body})
}

// backoff is the wait after so many attempts, spread by a quarter either way so that many do not come back in lockstep.
func (s *Sender) backoff(attempts int) time.Duration {
	wait := s.retry.First
	for i := 1; i < attempts && wait < s.retry.Longest; i++ {
		wait *= 2
	}
	wait = min(wait, s.retry.Longest)
	return wait*3/4 + spread(wait/2)
}

// later is a time that somebody asked for and a little more, never less.
func later(asked time.Duration) time.Duration {
	if asked <= 0 {
		return 0
	}
	return asked + spread(asked/10)
}

// EventTest is the event of [Sender.Test]. The document has none such, so it looks like none of its own: nobody takes it
// for an answer, and a receiver that matches by name passes over it.
const EventTest = "webhook.test"

// Test posts one test event, once, whatever the endpoint's filter and state, and gives the status that it was answered
// with. Nothing is stored.
func (s *Sender) Test(ctx context.Context) (status int, err error) {
	body, err := json.Marshal(struct {
		Event     string `json:"event"`
		Endpoint  string `json:"endpoint"`
		Timestamp string `json:"timestamp"`
	}{EventTest, s.endpoint.Name, s.clock.Now().UTC().Format(time.RFC3339)})
	if err != nil {
		return 0, err
	}
	r, err := s.post(ctx, "msg_test_"+strings.ToLower(rand.Text()), body)
	return r.Status, err
}

func spread(d time.Duration) time.Duration { return mathrand.N(d + 1) }
