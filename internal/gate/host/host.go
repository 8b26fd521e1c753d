// Package host is the host role of Approval and continuations (protocol version 2026-07-30): it puts the query that an
// agent was given to people, exactly as it is, as an ordinary question; submits what they answered to the query's
// collector, and nothing where nobody did; and hands the query that follows back to the agent. An agent never answers for
// a person here: a query for an agent is refused.
package host

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/schema"
)

// Store keeps the queries that were handed in. Every method is atomic by itself and joins the transaction of its ctx, see
// [bridge.Store].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error
	// Question reads one question.
	Question(ctx context.Context, id bridge.QuestionID) (bridge.Question, error)
	AddEffects(ctx context.Context, effects ...bridge.Effect) error

	// AddQuery stores a query with the question that asks it; [CodeQueryConflict] where its agent has handed in one of its
	// id already.
	AddQuery(ctx context.Context, a Asked) error
	// QueryOf finds what an agent handed in by a query's id; ok is false when it did not.
	QueryOf(ctx context.Context, agent bridge.AgentID, id gate.QueryID) (a Asked, ok bool, err error)
	// QueryAskedBy finds the query that a question asks; ok is false when it asks none.
	QueryAskedBy(ctx context.Context, q bridge.QuestionID) (a Asked, ok bool, err error)
	// QueryKnown says whether anybody handed in a query of this id, or one followed a query that somebody did.
	QueryKnown(ctx context.Context, id gate.QueryID) (bool, error)
	// BeginSubmission moves the query that a question asks from Waiting to Submitting, under the id of its response.
	BeginSubmission(ctx context.Context, q bridge.QuestionID, r gate.ResponseID) error
	// EndSubmission stores how a submission ended, by one conditional update that forgets the capability: ended is false,
	// and nothing changed, where it was not Submitting any more. A query that follows, whose id is known already, is an
	// error.
	EndSubmission(ctx context.Context, q bridge.QuestionID, s Submission) (ended bool, err error)
}

// Engine asks questions; *bridge.Engine does.
type Engine interface {
	// AskWith asks; with runs in the transaction that stores the question, and its error is the error.
	AskWith(ctx context.Context, q bridge.Question, with func(ctx context.Context, q bridge.Question) error) (asked bridge.Question, created bool, err error)
}

// Guard says beforehand why an address would not be called; *egress.Client does.
type Guard interface {
	Check(ctx context.Context, url string) error
}

// Parts is what a host is made of.
type Parts struct {
	Store  Store
	Engine Engine
	Guard  Guard
	Clock  bridge.Clock
}

// Host takes queries in. Its methods may be called at once.
type Host struct{ Parts }

// New makes a host of its parts.
func New(p Parts) *Host { return &Host{p} }

// The codes of a query that is not taken, besides [gate.CodeInvalidQuery] and those of asking any question.
const (
	CodeQueryExpired    bridge.Code = "query_expired"
	CodeQueryConflict   bridge.Code = "query_conflict"   // the agent handed another query in under this id
	CodeEndpointRefused bridge.Code = "endpoint_refused" // its endpoint is none that this server calls
)

const endpointField = "/query/delivery/endpoint"

// Ask puts a query to people, until it expires. The same query of the same agent is asked once: handed in again, also
// after it has ended, it gives its question as that stands, with created false. A query without an endpoint goes where its
// predecessor does, if the same agent handed that in. Errors: a [*schema.Refusal], gate.CodeInvalidQuery,
// [CodeQueryExpired], [CodeQueryConflict], [CodeEndpointRefused], and those of [bridge.Engine.Ask].
func (h *Host) Ask(ctx context.Context, ask *schema.QueryAsk, c dialect.AskContext) (q bridge.Question, created bool, err error) {
	if ask.Query.RequestedRespondent != schema.RespondentHuman {
		return q, false, &bridge.Error{
			Code: gate.CodeInvalidQuery, Field: "/query/requestedRespondent",
			Reason: "must be human: an agent answers the collector itself, and nobody answers for a person",
		}
	}
	if q, err = dialect.FromQuery(ask, c); err != nil {
		return q, false, err
	}
	query := ask.Query
	if before, ok, err := h.before(ctx, query, q); ok || err != nil {
		return before, false, err
	}
	if query.Delivery.Endpoint, err = h.mayAsk(ctx, query, q); err != nil {
		return q, false, err
	}
	asked, created, err := h.Engine.AskWith(ctx, q, func(ctx context.Context, q bridge.Question) error {
		return h.Store.AddQuery(ctx, Asked{Question: q.ID, Agent: q.Asker, Query: query, Submission: Submission{Status: Waiting}})
	})
	if code := bridge.CodeOf(err); code == CodeQueryConflict || code == bridge.CodeQuotaExceeded { // lost a race with an equal one, perhaps
		if before, ok, again := h.before(ctx, query, q); ok || again != nil {
			return before, false, again
		}
	}
	return asked, created, err
}

// before finds the question that the same query of the agent is already.
func (h *Host) before(ctx context.Context, query schema.Query, q bridge.Question) (before bridge.Question, ok bool, err error) {
	a, ok, err := h.Store.QueryOf(ctx, q.Asker, gate.QueryID(query.QueryID))
	if err != nil || !ok {
		return before, false, err
	}
	before, err = h.Store.Question(ctx, a.Question)
	if err == nil && (before.Digest != q.Digest || before.Conversation != q.Conversation) {
		err = &bridge.Error{Code: CodeQueryConflict, Field: "/query/queryId", Reason: "another query, or on other terms, was handed in under this queryId"}
	}
	return before, err == nil, err
}

// mayAsk says whether a query that is new can be asked, and where its answer goes.
func (h *Host) mayAsk(ctx context.Context, query schema.Query, q bridge.Question) (endpoint string, err error) {
	if !h.Clock.Now().Before(q.ExpiresAt) {
		return "", &bridge.Error{Code: CodeQueryExpired, Field: "/query/expiresAt", Reason: "the query has expired"}
	}
	endpoint = query.Delivery.Endpoint
	if endpoint == "" && query.ContinuationOf != "" {
		before, _, err := h.Store.QueryOf(ctx, q.Asker, gate.QueryID(query.ContinuationOf))
		if err != nil {
			return "", err
		}
		endpoint = before.Query.Delivery.Endpoint
	}
	if endpoint == "" {
		return "", &bridge.Error{
			Code: gate.CodeInvalidQuery, Field: endpointField,
			Reason: "is needed, unless the same agent handed in the query that this one continues",
		}
	}
	if h.Guard.Check(ctx, endpoint) != nil { // why would say what stands behind this server
		return "", &bridge.Error{
			Code: CodeEndpointRefused, Field: endpointField,
			Reason: "is not called by this server: it calls https:// at public addresses, and what its operator allows",
		}
	}
	return endpoint, nil
}

// Of gives the query that a question asks; ok is false for any other question.
func (h *Host) Of(ctx context.Context, id bridge.QuestionID) (a Asked, ok bool, err error) {
	return h.Store.QueryAskedBy(ctx, id)
}

// EffectSubmit submits an answer. Its key is the id of the response.
const EffectSubmit bridge.EffectKind = "submit"

// lane is where submissions run: what the room waits for does not keep them back, nor they the room.
const lane = "gate"

// Feature owes the submission of every answer to a query, in the transaction that settles its question. It implements
// [bridge.Feature].
type Feature struct{ Store Store }

// Settling implements [bridge.Feature]. A question that ends in any other way than by an answer submits nothing.
func (f *Feature) Settling(ctx context.Context, q bridge.Question) error {
	if q.State != bridge.Answered {
		return nil
	}
	_, ok, err := f.Store.QueryAskedBy(ctx, q.ID)
	if err != nil || !ok {
		return err
	}
	id := gate.NewResponseID(*q.SettledAt)
	if err := f.Store.BeginSubmission(ctx, q.ID, id); err != nil {
		return err
	}
	return f.Store.AddEffects(ctx, bridge.Effect{Kind: EffectSubmit, Question: q.ID, Lane: lane, Key: string(id), Due: *q.SettledAt})
}

// Expiring implements [bridge.Selective]: nothing is submitted where nobody answered.
func (*Feature) Expiring(context.Context, []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return nil, nil
}
