// Package callback asks hosts, at the address that each of them registered, which of their candidates are about something
// that is no more: the staleness check of the document Question Queue, "Expiry and dedup", for hosts behind HTTP.
package callback

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// Store keeps the address of each agent's host.
type Store interface {
	// QueueCallback reads it; "" for none.
	QueueCallback(ctx context.Context, agent bridge.AgentID) (string, error)
	// SetQueueCallback replaces it; "" removes it.
	SetQueueCallback(ctx context.Context, agent bridge.AgentID, url string) error
}

// Caller makes one call of an address that somebody else gave; an *egress.Client does.
type Caller interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, error)
}

// Checker is the check of every host that registered an address.
type Checker struct {
	Store  Store
	Caller Caller
}

var _ queue.Staleness = (*Checker)(nil)

// Callback gives the address that an agent's host registered, "" for none.
func (c *Checker) Callback(ctx context.Context, agent bridge.AgentID) (string, error) {
	return c.Store.QueueCallback(ctx, agent)
}

// SetCallback registers the address of an agent's host, in place of the one before; "" registers none. One that could never
// be called is a *bridge.Error with [queue.CodeInvalidCallback]. It is not called yet.
func (c *Checker) SetCallback(ctx context.Context, agent bridge.AgentID, url string) error {
	if url != "" {
		if err := egress.CheckURL(url); err != nil {
			return &bridge.Error{Code: queue.CodeInvalidCallback, Field: "/url", Reason: err.Error()}
		}
	}
	return c.Store.SetQueueCallback(ctx, agent, url)
}

// Stale implements [queue.Staleness]. Where no address is registered, nothing is stale. An address that cannot be read or
// called, or whose answer is none, fails for all candidates.
func (c *Checker) Stale(ctx context.Context, agent bridge.AgentID, candidates []queue.Candidate) (stale, failed map[queue.CandidateID]bool) {
	url, err := c.Store.QueueCallback(ctx, agent)
	if err == nil && url == "" {
		return nil, nil
	}
	if err == nil {
		stale, err = c.ask(ctx, url, candidates)
	}
	if err == nil {
		return stale, nil
	}
	zerolog.Ctx(ctx).Warn().Err(err).Str("agent", string(agent)).Msg("The host could not be asked which candidates are stale")
	failed = map[queue.CandidateID]bool{}
	for _, candidate := range candidates {
		failed[candidate.ID] = true
	}
	return nil, failed
}

func (c *Checker) ask(ctx context.Context, url string, candidates []queue.Candidate) (map[queue.CandidateID]bool, error) {
	body, err := json.Marshal(schema.StalenessCheck{Candidates: dialect.ToCandidates(candidates)})
	if err != nil {
		return nil, err
	}
	res, err := c.Caller.Do(ctx, egress.Request{
		Method: http.MethodPost, URL: url, Body: body, Limit: schema.MaxBytes,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	})
	switch {
	case err != nil:
		return nil, err
	case res.Status != http.StatusOK:
		return nil, fmt.Errorf("answered %d", res.Status)
	case res.Cut:
		return nil, fmt.Errorf("the answer is larger than %d bytes", schema.MaxBytes)
	}
	named, err := schema.Decode[schema.StaleCandidates](res.Body)
	if err != nil {
		return nil, err
	}
	stale := map[queue.CandidateID]bool{}
	for _, id := range named.Stale {
		stale[queue.CandidateID(id)] = true
	}
	return stale, nil
}
