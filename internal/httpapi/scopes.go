package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// The scopes of an agent's token.
const (
	ScopeAsk      = "ask"
	ScopeRead     = "read"      // fetch, wait for and list what the agent asked itself
	ScopeReadRoom = "read:room" // the same with what anybody asked in the token's rooms
	ScopeCancel   = "cancel"
	ScopeQueue    = "queue" // the agent's own candidates of the Question Queue, and everything that is done with them
	ScopeGate     = "gate"  // hand in the queries of gated exchanges
)

// Scopes are all scopes that a token may carry.
func Scopes() []string {
	return []string{ScopeAsk, ScopeRead, ScopeReadRoom, ScopeCancel, ScopeQueue, ScopeGate}
}

// ScopesOf are the scopes of an agent's token: ask, read and cancel where it names none.
func ScopesOf(t bridge.Token) []string {
	if len(t.Scopes) == 0 {
		return []string{ScopeAsk, ScopeRead, ScopeCancel}
	}
	return t.Scopes
}

func allows(t bridge.Token, scope string) bool { return slices.Contains(ScopesOf(t), scope) }

// lacking refuses a token that lacks a scope (RFC 6750, section 3.1).
func lacking(scope string) error {
	return newProblem(codeInsufficientScope, "The token lacks the scope "+scope+".").
		with("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="`+scope+`"`)
}

// reader is who may read what.
type reader struct {
	agent bridge.AgentID
	own   bool          // what the agent asked itself
	rooms *bridge.Token // whose rooms it may read, whoever asked there; nil for none
	token string        // its id
}

// readerHandler answers a request that only reads.
type readerHandler func(w http.ResponseWriter, r *http.Request, who reader) error

// reading lets a request through that carries an agent's token which may read something.
func (s *server) reading(next readerHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := s.agentToken(r)
		if t.ID == "" {
			return err
		}
		who := reader{agent: t.Agent, own: allows(t, ScopeRead), token: t.ID}
		if allows(t, ScopeReadRoom) {
			who.rooms = &t
		}
		switch {
		case err != nil:
		case !who.own && who.rooms == nil:
			err = lacking(ScopeRead)
		default:
			err = next(w, r, who)
		}
		s.readRefused(r, who, err)
		return err
	}
}

// readRefused records that something was not read. What a reader tries is in no context: many wait for long, and each
// keeps its own. For the same reason it is no part of its callers, whose stacks it would make larger.
//
//go:noinline
func (s *server) readRefused(r *http.Request, who reader, err error) {
	if err != nil {
		r, a := s.attempt(r, bridge.Token{ID: who.token, Agent: who.agent}, bridge.AuditReadRefused)
		s.refused(r.Context(), a, err)
	}
}

// read gives a question to who may read it. To anybody else it is as if there were none.
func (s *server) read(ctx context.Context, who reader, id bridge.QuestionID) (bridge.Question, error) {
	return s.Engine.Read(ctx, id, func(q bridge.Question) (bool, error) {
		if who.own && q.Asker == who.agent {
			return true, nil
		}
		return s.inRooms(ctx, who.rooms, q.Conversation)
	})
}

// inRooms says whether a token is for a room, whether or not anything is known of that any more.
func (s *server) inRooms(ctx context.Context, t *bridge.Token, id bridge.ConversationID) (bool, error) {
	if t == nil || slices.Contains(t.Rooms, "*") || slices.Contains(t.Rooms, string(id)) {
		return t != nil, nil
	}
	_, err := s.room(ctx, string(id), *t)
	var refused *bridge.Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// shown gives questions as who may see them: what its agent asked, whole; of what others asked, nothing that is their own.
func (s *server) shown(ctx context.Context, who reader) func(bridge.Question) schema.Question {
	others := s.views(ctx, "")
	return func(q bridge.Question) schema.Question {
		if who.own && q.Asker == who.agent {
			return dialect.ToQuestion(q)
		}
		return others.of(q)
	}
}
