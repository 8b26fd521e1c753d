package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// IdempotencyKey is an [AskOption]: it names one asking, so that however often it is sent, also by another run of the
// program, the question is asked once. What comes back is the first response again: the question as it was then, which
// [Client.Fetch] and [Client.Await] have as it is now. The same key with another ask is 409 idempotency_conflict. It is
// 1–255 printable ASCII characters without spaces, and counts for this agent and this room alone.
type IdempotencyKey string

// AskOption changes how a question is asked, and not the question.
type AskOption interface{ applyTo(*request) }

func (k IdempotencyKey) applyTo(r *request) { r.key = k }

const maxKeyLength = 255

// Check says what is wrong with a key; nil for nothing. [Client.Ask] checks it too, and sends nothing with a wrong one.
func (k IdempotencyKey) Check() error {
	switch {
	case k == "":
		return errors.New("client: the idempotency key is empty")
	case len(k) > maxKeyLength:
		return fmt.Errorf("client: the idempotency key is longer than %d characters", maxKeyLength)
	}
	for i := range len(k) {
		if k[i] <= ' ' || k[i] > '~' {
			return errors.New("client: the idempotency key holds a space or a character that is not printable ASCII")
		}
	}
	return nil
}

// persist sends a request that may be repeated until there is a definite response. A failure that may pass is tried again
// for as long as the configuration says, unless ctx would end before the next try: then the failure is returned at once.
func (c *Client) persist(ctx context.Context, id string, r request) (*Question, error) {
	return persistent(ctx, c, func() (*Question, error) { return c.question(ctx, id, r) })
}

func persistent[T any](ctx context.Context, c *Client, try func() (*T, error)) (*T, error) {
	p := c.pace
	p.longest = c.retryFor // one that asks for more is not tried again
	end := time.Now().Add(c.retryFor)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	for failures := 1; ; failures++ {
		got, err := try()
		if err == nil || ctx.Err() != nil || !passing(err) || hopeless(err) {
			return got, err
		}
		wait := p.backOff(failures, err)
		if !time.Now().Add(wait).Before(end) {
			return nil, err
		}
		if c.onRetry != nil {
			c.onRetry(err, wait)
		}
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("client: %w (the last try failed: %v)", ctx.Err(), err)
		}
	}
}

// hopeless says whether there is no such server, or another one in its place, which time alone does not heal.
func hopeless(err error) bool {
	var name *net.DNSError
	var impostor *tls.CertificateVerificationError
	return errors.As(err, &name) && name.IsNotFound || errors.As(err, &impostor)
}
