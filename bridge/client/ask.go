package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// The values of the options of AskYesNo and AskApproval.
const (
	ValueApprove = "approve"
	ValueDeny    = "deny"
)

// longestTTL is the longest lifetime that is taken for one. A longer one, such as what time.Until makes of a date that
// was never set, is a mistake and no wish.
const longestTTL = 100 * 365 * 24 * time.Hour

// TTL is a lifetime for an ask, in whole seconds, rounded up. The server clamps it to 30 s–24 h (30 days for a question.v2
// content). A duration that is not positive, or longer than a hundred years, gives nil, which leaves the lifetime to the
// documented default: one hour (7 days).
func TTL(d time.Duration) *schema.Seconds {
	if d <= 0 || d > longestTTL {
		return nil
	}
	s := schema.Seconds((d-1)/time.Second + 1)
	return &s
}

// Ask asks a question in a room, named by its id, its alias, or the code that the server's configuration gives it. What it
// returns is the handle: the id, and the deadline that the server computed. The ask is a [*schema.CoreAsk] or a
// [*schema.ElicitationAsk], and is not changed. Left out, a label is the value, a style is the default one and a
// max_length is 60. A ttl that cannot be meant is left out, as [TTL] leaves it out, rather than refused.
//
// An ask that breaks a rule of its dialect, such as more than four options, is not sent: the error is then a
// [*schema.Refusal]. A refusal by the server is an [*Error].
//
// A lost connection, 429, any 5xx and a response that cannot be read are tried again, at growing intervals or when
// Retry-After says, for [Config.RetryFor] and never beyond ctx. Every try has the same [IdempotencyKey], one of its own
// unless the caller gives one, so the question is asked once. If the last try fails too, it is not known whether the
// question was asked: asking again with the same key, or a list by correlation id, tells.
func (c *Client) Ask(ctx context.Context, room string, ask schema.Ask, options ...AskOption) (*Question, error) {
	segment, err := pathSegment("room", room)
	if err != nil {
		return nil, err
	}
	body, err := askBody(ask)
	if err != nil {
		return nil, err
	}
	if _, err := schema.DecodeAsk(body); err != nil {
		return nil, fmt.Errorf("client: the ask is not sent: %w", err)
	}
	r := request{method: http.MethodPost, path: "/api/agent/rooms/" + segment + "/questions", body: body}
	r.key = IdempotencyKey(rand.Text())
	for _, o := range options {
		o.applyTo(&r)
	}
	if err := r.key.Check(); err != nil {
		return nil, err
	}
	return c.persist(ctx, "", r)
}

// AskYesNo asks with the options Yes and No, whose values are ValueApprove and ValueDeny.
func (c *Client) AskYesNo(ctx context.Context, room string, ask *schema.CoreAsk, options ...AskOption) (*Question, error) {
	binary, err := withOptions(ask, "Yes", "No")
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, room, binary, options...)
}

// AskApproval asks with the options Approve and Deny, whose values are ValueApprove and ValueDeny.
func (c *Client) AskApproval(ctx context.Context, room string, ask *schema.CoreAsk, options ...AskOption) (*Question, error) {
	binary, err := withOptions(ask, "Approve", "Deny")
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, room, binary, options...)
}

func withOptions(ask *schema.CoreAsk, approve, deny string) (*schema.CoreAsk, error) {
	if ask == nil {
		return nil, errors.New("client: no ask")
	}
	if len(ask.Options) > 0 || len(ask.Items) > 0 {
		return nil, errors.New("client: a binary question brings its own options")
	}
	binary := *ask
	binary.Options = []schema.AskOption{
		{Value: ValueApprove, Label: approve, Style: schema.StylePrimary},
		{Value: ValueDeny, Label: deny, Style: schema.StyleDanger},
	}
	return &binary, nil
}

func askBody(ask schema.Ask) ([]byte, error) {
	switch a := ask.(type) {
	case *schema.CoreAsk:
		if a != nil {
			return json.Marshal(completed(*a))
		}
	case *schema.ElicitationAsk:
		if a != nil && a.Elicitation != nil {
			return elicitationBody(a)
		}
	}
	return nil, errors.New("client: no ask")
}

// completed fills in what a CoreAsk may leave out but its JSON may not hold empty.
func completed(a schema.CoreAsk) schema.CoreAsk {
	a.AskTerms = completedTerms(a.AskTerms)
	a.Options, a.TextInput = completedOptions(a.Options), completedText(a.TextInput)
	a.Items = slices.Clone(a.Items)
	for i, item := range a.Items {
		a.Items[i].Options, a.Items[i].TextInput = completedOptions(item.Options), completedText(item.TextInput)
	}
	return a
}

func completedTerms(t schema.AskTerms) schema.AskTerms {
	if t.TTL != nil && (*t.TTL <= 0 || *t.TTL > schema.Seconds(longestTTL/time.Second)) {
		t.TTL = nil
	}
	return t
}

func completedOptions(options []schema.AskOption) []schema.AskOption {
	options = slices.Clone(options)
	for i, o := range options {
		options[i].Label = firstOf(o.Label, o.Value)
		options[i].Style = schema.Style(firstOf(string(o.Style), string(schema.StyleDefault)))
	}
	return options
}

func completedText(t *schema.TextInput) *schema.TextInput {
	if t == nil || t.MaxLength != 0 {
		return t
	}
	return &schema.TextInput{Placeholder: t.Placeholder, MaxLength: schema.DefaultTextLength}
}

// elicitationBody puts the terms beside the properties of the question.v2 content.
func elicitationBody(a *schema.ElicitationAsk) ([]byte, error) {
	e := *a.Elicitation
	e.Body = firstOf(e.Body, e.TextBody())
	body := map[string]json.RawMessage{}
	for _, part := range []any{&e, completedTerms(a.AskTerms)} {
		raw, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("client: the ask cannot be written as JSON: %w", err)
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, fmt.Errorf("client: the ask cannot be written as JSON: %w", err)
		}
	}
	return json.Marshal(body)
}
