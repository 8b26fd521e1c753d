package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"superpipeline.dev/question-bridge/schema"
)

// Gates are an agent's gated exchanges (Approval and continuations): each asks a person for approval first, and shows its
// query to nobody before that. It is safe for concurrent use.
type Gates struct{ api *Client }

// Gates gives the agent's, whose token needs the scope gate.
func (c *Client) Gates() *Gates { return &Gates{c} }

// Open opens a gate. Asked in a room, the approval is a question like others; for the ask return, only what this returns has
// the approval query with its capability, which is for a host of the agent's own. A stored decision may have answered
// already: look at the State.
//
// An opening that breaks a rule is not sent: the error is then a [*schema.Refusal]. A refusal by the server is an [*Error].
// It is tried again as [Client.Ask] is, and opens one gate, under a key of its own unless the caller gives one.
func (g *Gates) Open(ctx context.Context, room string, o *schema.GateOpening, options ...AskOption) (*schema.Gate, error) {
	segment, err := pathSegment("room", room)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("client: the gate cannot be written as JSON: %w", err)
	}
	if _, err := schema.Decode[schema.GateOpening](body); err != nil {
		return nil, fmt.Errorf("client: the gate is not opened: %w", err)
	}
	r := request{method: http.MethodPost, path: "/api/agent/rooms/" + segment + "/gates", body: body, key: IdempotencyKey(rand.Text())}
	for _, o := range options {
		o.applyTo(&r)
	}
	if err := r.key.Check(); err != nil {
		return nil, err
	}
	return persistent(ctx, g.api, func() (*schema.Gate, error) { return documentOf(ctx, g.api, r, isGate) })
}

func isGate(g *schema.Gate) bool { return g.GateID != "" && g.State != "" }

// Fetch reads one gate. Where its approval was asked in a room, or a stored decision gave it, NextQuery is the continuation
// with its capability, until that is answered.
func (g *Gates) Fetch(ctx context.Context, id string) (*schema.Gate, error) {
	return g.read(ctx, id, request{})
}

// Await waits until a gate has left a state, schema.GateOpen or schema.GateApproved, and gives it as it stands. Failures
// are tried again as by [Client.Await].
func (g *Gates) Await(ctx context.Context, id, state string) (*schema.Gate, error) {
	wait := request{
		hold:  g.api.pace.hold,
		query: url.Values{"wait": {strconv.Itoa(g.api.holdSeconds())}, "while": {state}},
	}
	var gate *schema.Gate
	err := g.api.poll(ctx, "gate "+id, func() (over bool, p Poll) {
		var err error
		gate, err = g.read(ctx, id, wait)
		return err == nil && gate.State != state, Poll{ID: id, Err: err}
	})
	if err != nil {
		return nil, err
	}
	return gate, nil
}

func (g *Gates) read(ctx context.Context, id string, r request) (*schema.Gate, error) {
	segment, err := pathSegment("gate id", id)
	if err != nil {
		return nil, err
	}
	r.method, r.path = http.MethodGet, "/api/agent/gates/"+segment
	return documentOf(ctx, g.api, r, func(gate *schema.Gate) bool { return isGate(gate) && gate.GateID == id })
}

// GateOptions says which gates to list. The zero value lists all of them.
type GateOptions struct {
	State         string // schema.GateOpen, …; "" for every one
	CorrelationID string // "" for any
	PageSize      int    // gates per request, 1–MaxPage; 0 for the server's default
}

// List gives the agent's gates, newest first and without anything that has a capability, and asks for further pages as the
// loop gets to them. An error is the last thing it gives.
func (g *Gates) List(ctx context.Context, o GateOptions) iter.Seq2[*schema.Gate, error] {
	return func(yield func(*schema.Gate, error) bool) {
		for cursor := ""; ; {
			page, err := g.page(ctx, o, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Gates {
				if !yield(&page.Gates[i], nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			cursor = *page.NextCursor
		}
	}
}

func (g *Gates) page(ctx context.Context, o GateOptions, cursor string) (*schema.Gates, error) {
	query := url.Values{}
	for name, value := range map[string]string{"state": o.State, "correlation_id": o.CorrelationID, "cursor": cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if o.PageSize > 0 {
		query.Set("limit", strconv.Itoa(min(o.PageSize, MaxPage)))
	}
	return documentOf(ctx, g.api, request{method: http.MethodGet, path: "/api/agent/gates", query: query}, func(p *schema.Gates) bool {
		return p.Gates != nil && (p.NextCursor == nil || *p.NextCursor != cursor)
	})
}
