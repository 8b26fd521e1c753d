package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"superpipeline.dev/question-bridge/internal/egress"
)

// webhooks asks every configured endpoint whether it is there, by a HEAD, which is no event.
func (c *check) webhooks(ctx context.Context) {
	if len(c.cfg.Webhooks) == 0 {
		return
	}
	client, err := outward(c.cfg, egress.Timeouts{Whole: checkTimeout})
	if err != nil { // the configuration was checked for that
		c.add(Finding{What: "egress can be read", Err: err, Hint: "networks, addresses and host names; a file of certificates"})
		return
	}
	for _, w := range c.cfg.Webhooks {
		f := Finding{What: "the webhook " + w.Name + " can be reached", Hint: "is its url right, and may this machine connect there?"}
		_, f.Err = client.Do(ctx, egress.Request{Method: http.MethodHead, URL: w.URL})
		if _, refused := errors.AsType[*egress.RefusedError](f.Err); refused {
			f.Hint = "egress.allow lists what may be called besides public addresses, by https"
		}
		c.add(f)
	}
}

// deliveries says how the configured endpoints took what they were sent.
func (c *check) deliveries(ctx context.Context) {
	if len(c.cfg.Webhooks) == 0 {
		return
	}
	endpoints, err := c.endpoints(ctx)
	if err != nil {
		c.add(Finding{What: "the webhooks' deliveries can be read", Err: err, Hint: "see the database"})
		return
	}
	for _, e := range endpoints {
		if e.Configured {
			c.add(deliveriesOf(e))
		}
	}
}

func (c *check) endpoints(ctx context.Context) ([]Endpoint, error) {
	hooks, err := OpenWebhooks(ctx, c.cfg)
	if err != nil {
		return nil, err
	}
	endpoints, err := hooks.Endpoints(ctx)
	return endpoints, errors.Join(err, hooks.Close())
}

func deliveriesOf(e Endpoint) Finding {
	f := Finding{What: "the webhook " + e.Name + " takes what it is sent"}
	at := func(t *time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case e.DisabledAt != nil:
		f.Err = fmt.Errorf("it answered 410 Gone and is disabled since %s; it is owed %d events", at(e.DisabledAt), e.Pending)
		f.Hint = "`questiond webhook enable " + e.Name + "`, if it is there again"
	case e.FailedAt != nil && (e.SucceededAt == nil || e.SucceededAt.Before(*e.FailedAt)):
		f.Err = fmt.Errorf("the last attempt, at %s, failed: %s; it is owed %d events", at(e.FailedAt), e.Failure, e.Pending)
		f.Hint = "`questiond webhook test " + e.Name + "` tries it now"
	case e.Failed > 0:
		f.Note = fmt.Sprintf("%d events were given up; `questiond webhook replay --failed %s` sends them again", e.Failed, e.Name)
	}
	return f
}
