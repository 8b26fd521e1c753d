package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// turnTime is how long a host waits at most for a call that it makes once a turn, whatever its callback takes.
const turnTime = 15 * time.Second

// eachTurn lets a request through that a host makes once a turn. It fails for its caller's faults alone: anything else is
// logged, and answered with 200 and what means "nothing", so that no host fails for the queue's sake (Question Queue,
// "Fail-closed behavior").
func (s *server) eachTurn(nothing any, next agentHandler) handler {
	granted := s.agent(ScopeQueue, func(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
		if err := s.spend(s.queueBudget(t.Agent)); err != nil {
			return err
		}
		return next(w, r, t)
	})
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), turnTime)
		defer cancel()
		err := granted(w, r.WithContext(ctx))
		if err == nil || problemOf(err).Status < http.StatusInternalServerError {
			return err
		}
		zerolog.Ctx(ctx).Err(err).Str("route", r.Pattern).Msg("The question queue failed")
		return reply(w, http.StatusOK, nothing)
	}
}

// propose stores what a producer would like to have asked.
func (s *server) propose(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	proposal, err := queueBody[schema.Proposal](w, r, codeOfProposalFault)
	if err != nil {
		return err
	}
	outcome, candidate, err := s.Queue.Propose(r.Context(), dialect.FromProposal(t.Agent, proposal))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, schema.Proposed{Outcome: string(outcome), Candidate: dialect.ToCandidateOrNone(candidate)})
}

// next claims the one question that the agent may ask on a turn. The host asks it, or names a room to ask it in.
func (s *server) next(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	body, err := queueBody[schema.NextBody](w, r, codeOfTurnFault)
	if err != nil {
		return err
	}
	candidate, err := s.nextFor(r.Context(), t, body)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, schema.NextCandidate{Candidate: dialect.ToCandidateOrNone(candidate)})
}

func (s *server) nextFor(ctx context.Context, t bridge.Token, body *schema.NextBody) (*queue.Candidate, error) {
	request := queue.Request{Agent: t.Agent, Turn: queue.Turn(body.Turn), Cues: dialect.FromCues(body.QueryCues)}
	if body.Room == "" {
		return s.Queue.Next(ctx, request)
	}
	room, err := s.room(ctx, body.Room, t)
	attemptOf(ctx).Conversation = room.ID
	if err != nil {
		return nil, err
	}
	return s.Queue.NextIn(ctx, request, queue.Place{
		Conversation: room.ID, Scope: bridge.ResponderScope(body.Scope()), Target: bridge.UserID(body.TargetUserID),
		AskedBy: s.Agents[t.Agent], Lifetime: body.Lifetime(),
	})
}

// replied takes what a person said to a candidate.
func (s *server) replied(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	id, err := candidateID(r)
	if err != nil {
		return err
	}
	body, err := queueBody[schema.ReplyBody](w, r, codeOfTurnFault)
	if err != nil {
		return err
	}
	result, err := s.Queue.Answer(r.Context(), queue.Reply{Agent: t.Agent, Candidate: id, Text: body.AnswerText, Turn: queue.Turn(body.Turn)})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, dialect.ToReplyResult(result))
}

// used notes which facts the host used on a turn.
func (s *server) used(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	body, err := queueBody[schema.KeysBody](w, r, codeOfTurnFault)
	if err != nil {
		return err
	}
	updated, err := s.Queue.Use(r.Context(), t.Agent, body.Keys, queue.Turn(body.Turn))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, schema.Updated{Updated: updated})
}

// gone expires the candidates about facts that are no more.
func (s *server) gone(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	body, err := queueBody[schema.KeysBody](w, r, codeOfTurnFault)
	if err != nil {
		return err
	}
	expired, err := s.Queue.Gone(r.Context(), t.Agent, body.Keys, queue.Turn(body.Turn))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, schema.ExpiredCandidates{Expired: expired})
}

// prune deletes candidates that are past their retention.
func (s *server) prune(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	body, err := queueBody[schema.TurnBody](w, r, codeOfTurnFault)
	if err != nil {
		return err
	}
	pruned, err := s.Queue.Prune(r.Context(), t.Agent, queue.Turn(body.Turn))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, schema.Pruned{Pruned: pruned})
}

// queueBody reads the body of a call of the queue, whose faults have codes of their own.
func queueBody[T any, P interface {
	*T
	schema.Document
}](w http.ResponseWriter, r *http.Request, codeOf func(schema.Fault) bridge.Code) (*T, error) {
	raw, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	body, err := schema.Decode[T, P](raw)
	var refused *schema.Refusal
	if errors.As(err, &refused) {
		return nil, problemOfRefusal(refused, codeOf)
	}
	return body, err
}

func candidateID(r *http.Request) (queue.CandidateID, error) {
	id := r.PathValue("id")
	if !storable(id) {
		return "", &bridge.Error{Code: queue.CodeCandidateUnknown, Reason: "there is no such candidate"}
	}
	return queue.CandidateID(id), nil
}
