package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/webhook"
)

// Webhooks are the endpoints and what is owed to them, as the webhook commands manage them, also while the bridge runs.
type Webhooks struct {
	cfg   config.Config
	store *sqlstore.Store
}

// Delivery is one event owed to one endpoint, or that was.
type Delivery = bridge.WebhookDelivery

// DeliveryState says how far a delivery came.
type DeliveryState = bridge.WebhookState

// The states that a command asks for.
const (
	DeliveryPending = bridge.WebhookPending
	DeliveryFailed  = bridge.WebhookFailed
)

// Endpoint is one endpoint and how it is.
type Endpoint struct {
	bridge.WebhookEndpoint
	Configured bool // false of one that only the database knows: nothing is sent to it
}

// OpenWebhooks opens those of the configured database.
func OpenWebhooks(ctx context.Context, cfg config.Config) (*Webhooks, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Webhooks{cfg: cfg, store: store}, nil
}

// Close closes the database.
func (w *Webhooks) Close() error { return w.store.Close() }

// Endpoints gives the configured endpoints in their order, then those that only the database knows.
func (w *Webhooks) Endpoints(ctx context.Context) ([]Endpoint, error) {
	known, err := w.store.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	var all []Endpoint
	for _, c := range w.cfg.Webhooks {
		e := Endpoint{Configured: true}
		e.Name = c.Name
		if i := slices.IndexFunc(known, func(k bridge.WebhookEndpoint) bool { return k.Name == c.Name }); i >= 0 {
			e.WebhookEndpoint = known[i]
			known = slices.Delete(known, i, i+1)
		}
		all = append(all, e)
	}
	for _, k := range known {
		all = append(all, Endpoint{WebhookEndpoint: k})
	}
	return all, nil
}

// Deliveries gives an endpoint's newest deliveries, at most limit; with states (pending, delivered, failed), only those in
// one of them.
func (w *Webhooks) Deliveries(ctx context.Context, endpoint string, limit int, states ...DeliveryState) ([]Delivery, error) {
	return w.store.Deliveries(ctx, endpoint, limit, states...)
}

// Replay makes deliveries due again under their old ids. The error names those that cannot be, and then none is.
func (w *Webhooks) Replay(ctx context.Context, ids ...string) error {
	var faults []error
	err := w.store.Atomically(ctx, func(ctx context.Context) error {
		faults = nil
		for _, id := range ids {
			d, err := w.store.Delivery(ctx, id)
			switch {
			case bridge.CodeOf(err) == bridge.CodeNotFound:
				faults = append(faults, fmt.Errorf("there is no delivery %q", id))
			case err != nil:
				return err
			case d.State == bridge.WebhookPending:
				faults = append(faults, fmt.Errorf("%s is still pending", id))
			case !w.configured(d.Endpoint):
				faults = append(faults, fmt.Errorf("%s is for %s, which is not configured", id, d.Endpoint))
			}
		}
		if len(faults) > 0 {
			return errors.Join(faults...)
		}
		_, err := w.store.Replay(ctx, now(), ids...)
		return err
	})
	return err
}

// Enable lets an endpoint have what waits for it; was is false when it was neither disabled nor paused.
func (w *Webhooks) Enable(ctx context.Context, name string) (was bool, err error) {
	if !w.configured(name) {
		return false, fmt.Errorf("webhooks has no endpoint %q", name)
	}
	return w.store.EnableEndpoint(ctx, name, now())
}

func (w *Webhooks) configured(name string) bool {
	return slices.ContainsFunc(w.cfg.Webhooks, func(c config.Webhook) bool { return c.Name == name })
}

func now() time.Time { return bridge.SystemClock{}.Now() }

// TestWebhook posts one test event to a configured endpoint from here, past the database, and gives the status that it
// was answered with.
func TestWebhook(ctx context.Context, cfg config.Config, name string) (status int, err error) {
	client, err := outward(cfg, egress.Timeouts{})
	if err != nil {
		return 0, err
	}
	for _, e := range endpoints(cfg) {
		if e.Name != name {
			continue
		}
		sender, err := webhook.NewSender(e, webhook.Means{Caller: client, Clock: bridge.SystemClock{}})
		if err != nil {
			return 0, err
		}
		return sender.Test(ctx)
	}
	return 0, fmt.Errorf("webhooks has no endpoint %q", name)
}

// NewWebhookSecret makes what an endpoint's events can be signed with.
func NewWebhookSecret() string { return webhook.NewSecret() }
