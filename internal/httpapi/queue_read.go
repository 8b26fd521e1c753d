package httpapi

import (
	"context"
	"net/http"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// Callbacks keeps where the hosts of agents are asked which of their candidates are stale.
type Callbacks interface {
	// Callback gives the address that an agent's host registered, "" for none.
	Callback(ctx context.Context, agent bridge.AgentID) (url string, err error)
	// SetCallback registers one in place of the one before; "" registers none. One that could never be called is a
	// *bridge.Error with queue.CodeInvalidCallback.
	SetCallback(ctx context.Context, agent bridge.AgentID, url string) error
}

// candidates lists the agent's own, newest first.
func (s *server) candidates(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	l := queue.Listing{Agent: t.Agent, Status: queue.Status(p.Get("status"))}
	switch l.Status {
	case "", queue.Pending, queue.Delivered, queue.Answered, queue.Cooled, queue.Expired:
	default:
		return invalidParameter("status", "must be pending, delivered, answered, cooled or expired")
	}
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return err
	}
	found, next, err := s.Queue.Candidates(r.Context(), l)
	if err != nil {
		return err
	}
	page := schema.Candidates{Candidates: dialect.ToCandidates(found)}
	if next != "" {
		page.NextCursor = &next
	}
	return reply(w, http.StatusOK, page)
}

// candidate gives one as it stands.
func (s *server) candidate(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	id, err := candidateID(r)
	if err != nil {
		return err
	}
	c, err := s.Queue.Candidate(r.Context(), t.Agent, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, dialect.ToCandidate(c))
}

// evidence gives what answers said about one of the agent's facts.
func (s *server) evidence(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	key, err := p.text("key")
	switch {
	case err != nil:
		return err
	case key == nil || *key == "" || len([]rune(*key)) > queue.MaxKey:
		return invalidParameter("key", "must be a target key of 1 to 255 characters")
	}
	e, err := s.Queue.Evidence(r.Context(), t.Agent, *key)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, dialect.ToEvidence(e))
}

// callback shows where the agent's host is asked which candidates are stale.
func (s *server) callback(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	url, err := s.Callbacks.Callback(r.Context(), t.Agent)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, callbackOf(url))
}

// setCallback registers where, in place of what was registered before; null is nowhere.
func (s *server) setCallback(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	if err := s.spend(s.queueBudget(t.Agent)); err != nil {
		return err
	}
	body, err := queueBody[schema.Callback](w, r, codeOfCallbackFault)
	if err != nil {
		return err
	}
	url := ""
	if body.URL != nil {
		url = *body.URL
	}
	if err := s.Callbacks.SetCallback(r.Context(), t.Agent, url); err != nil {
		return err
	}
	return reply(w, http.StatusOK, callbackOf(url))
}

func callbackOf(url string) schema.Callback {
	if url == "" {
		return schema.Callback{}
	}
	return schema.Callback{URL: &url}
}
