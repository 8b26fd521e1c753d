package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/schema"
)

// handIn puts a query to people, in place of the agent that was given it: 201 with the question, or 200 with the one that
// the same query is already. The query's id names the request for its repeats, so an Idempotency-Key says nothing.
func (s *server) handIn(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	ctx := r.Context()
	asked, raw, err := s.asked(w, r, t)
	if err != nil {
		return err
	}
	ask, err := schema.Decode[schema.QueryAsk](raw)
	if err != nil {
		return refusedQuery(err)
	}
	q, created, err := s.Host.Ask(ctx, ask, asked)
	if err != nil {
		return refusedQuery(err)
	}
	shown, err := s.whole(ctx, reader{agent: t.Agent, own: true}, q)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/api/agent/questions/"+string(q.ID))
	}
	return reply(w, status, shown)
}

// refusedQuery makes a problem of a refused query.
func refusedQuery(err error) error {
	if refused, ok := errors.AsType[*schema.Refusal](err); ok {
		return problemOfRefusal(refused, codeOfQueryFault)
	}
	return err
}

// codeOfQueryFault is the table for what hands a query in: whatever is JSON and breaks the rules of a query is
// invalid_query, and the terms beside it are as in every ask.
func codeOfQueryFault(f schema.Fault) bridge.Code {
	if f.Rule != schema.RuleJSON && strings.HasPrefix(f.Location, "/query") {
		return gate.CodeInvalidQuery
	}
	return codeOfFault(f)
}

// whole gives a question as who may see it, and to its own asker also what became of its answer, where it asks a query.
// Lists have nothing of that: the query that follows holds a secret.
func (s *server) whole(ctx context.Context, who reader, q bridge.Question) (schema.Question, error) {
	out := s.shown(ctx, who)(q)
	if s.Host == nil || !who.own || q.Asker != who.agent {
		return out, nil
	}
	asked, ok, err := s.Host.Of(ctx, q.ID)
	if err != nil || !ok {
		return out, err
	}
	submission, next := asked.Show(q.State)
	out.Gate, out.NextQuery = &submission, next
	return out, nil
}

// over says whether a question has come to its end, with the submission of its answer where it asks a query.
func (s *server) over(ctx context.Context, q bridge.Question) (bool, error) {
	if s.Host == nil || q.State != bridge.Answered {
		return q.State.Terminal(), nil
	}
	asked, ok, err := s.Host.Of(ctx, q.ID)
	return !ok || asked.Ended(q.State), err
}
