package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Poll is one poll of a wait that goes on.
type Poll struct {
	ID       string        // of the question or gate that is waited for
	Question *Question     // as it stands, still pending or being submitted; nil when the poll failed, and of a gate
	Err      error         // why the poll failed; nil when it did not
	RetryIn  time.Duration // until the next poll
}

// pace is how a wait polls.
type pace struct {
	hold       time.Duration // how long the server is asked to hold a poll; whole seconds, at most 30
	pause      time.Duration // after a poll that came back early without an outcome
	firstRetry time.Duration // after the first failed poll; doubled by each one after it
	lastRetry  time.Duration // what the doubling ends at
	longest    time.Duration // the longest Retry-After that is kept
}

var defaultPace = pace{
	hold: 25 * time.Second, pause: time.Second,
	firstRetry: 500 * time.Millisecond, lastRetry: 30 * time.Second, longest: 5 * time.Minute,
}

// Await waits until the question ends, and the answer to a query is submitted, and says how. It polls for as long as that
// takes: a lost connection, a restart of the server, 429, any 5xx and a response that cannot be read are tried again, at
// growing intervals of at most 30 seconds, or when Retry-After says (5 minutes at most).
//
// It gives up when ctx ends, with an error that wraps ctx.Err(), and on a definite refusal (any other 4xx, a redirect), with an
// [*Error]. The question stays as it is then, and may be awaited again.
func (c *Client) Await(ctx context.Context, id string) (*Outcome, error) {
	path, err := questionPath(id)
	if err != nil {
		return nil, err
	}
	wait := request{
		method: http.MethodGet, path: path + "/wait", hold: c.pace.hold,
		query: url.Values{"timeout": {strconv.Itoa(c.holdSeconds())}},
	}
	var outcome *Outcome
	err = c.poll(ctx, "question "+id, func() (over bool, p Poll) {
		q, err := c.question(ctx, id, wait)
		if err == nil {
			outcome, over = q.Outcome()
			over = over && !q.submitting()
		}
		return over, Poll{ID: id, Question: q, Err: err}
	})
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

func (c *Client) holdSeconds() int { return int(c.pace.hold / time.Second) }

// poll tries until it is over.
func (c *Client) poll(ctx context.Context, what string, try func() (over bool, p Poll)) error {
	var failure error
	for failures := 0; ; {
		if ctx.Err() != nil {
			return waitEnded(ctx, what, failure)
		}
		start := time.Now()
		over, p := try()
		switch failure = p.Err; {
		case over:
			return nil
		case failure == nil:
			failures = 0
			if time.Since(start) < c.pace.hold {
				p.RetryIn = c.pace.pause
			}
		case ctx.Err() != nil:
			continue
		case !passing(failure):
			return failure
		default:
			failures++
			p.RetryIn = c.pace.backOff(failures, failure)
		}
		if c.onPoll != nil {
			c.onPoll(p)
		}
		sleep(ctx, p.RetryIn)
	}
}

func waitEnded(ctx context.Context, what string, failure error) error {
	if failure != nil && !errors.Is(failure, ctx.Err()) {
		return fmt.Errorf("client: waiting for %s: %w (the last poll failed: %v)", what, ctx.Err(), failure)
	}
	return fmt.Errorf("client: waiting for %s: %w", what, ctx.Err())
}

// backOff doubles with each failure. Half of it is chance, so that clients that lost a server together do not come back
// together.
func (p pace) backOff(failures int, err error) time.Duration {
	d := min(p.firstRetry<<min(failures-1, 16), p.lastRetry)
	d = d/2 + rand.N(d/2+1)
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		d = max(d, min(e.RetryAfter, p.longest)+rand.N(p.firstRetry))
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
