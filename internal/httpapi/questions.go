package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// ask creates a question: 201 with the question, or 200 with the one that an equal ask created before. Under an
// Idempotency-Key a repeated request gets the first response.
func (s *server) ask(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	ctx := r.Context()
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	asked, raw, err := s.asked(w, r, t)
	if err != nil {
		return err
	}
	ask, err := schema.DecodeAsk(raw)
	if err != nil {
		return err
	}
	q, err := dialect.FromAsk(ask, asked)
	if err != nil {
		return err
	}
	response, replayed, err := s.askOnce(ctx, q, once(bridge.RequestID{Agent: t.Agent, Scope: "ask " + string(asked.Conversation), Key: key}, raw))
	if err != nil {
		return err
	}
	return replyOnce(w, response, replayed)
}

// asked is what is known of a request that asks in a room, and its body; it has spent what its agent and the room are
// left with.
func (s *server) asked(w http.ResponseWriter, r *http.Request, t bridge.Token) (dialect.AskContext, []byte, error) {
	room, err := s.room(r.Context(), r.PathValue("room"), t)
	attemptOf(r.Context()).Conversation = room.ID
	if err != nil {
		return dialect.AskContext{}, nil, err
	}
	if err := s.spend(s.agentBudget(t.Agent), s.roomBudget(room.ID)); err != nil {
		return dialect.AskContext{}, nil, err
	}
	raw, err := readBody(w, r)
	return dialect.AskContext{Asker: t.Agent, AskedBy: s.Agents[t.Agent], Conversation: room.ID, Now: s.Clock.Now()}, raw, err
}

// readBody reads at most what one document may hold. What is larger is never read, whatever it claims to be.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > schema.MaxBytes {
		return nil, bodyTooLarge()
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, schema.MaxBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, newProblem(codeTooSlow, "The body did not come to its end in time.").with("Connection", "close")
	case err != nil && !errors.As(err, &tooLarge):
		return nil, newProblem(codeMalformed, "The body could not be read to its end.")
	}
	return raw, err
}

// fetch gives a question as it stands.
func (s *server) fetch(w http.ResponseWriter, r *http.Request, who reader) error {
	id, err := questionID(r)
	if err != nil {
		return err
	}
	q, err := s.read(r.Context(), who, id)
	if err != nil {
		return err
	}
	shown, err := s.whole(r.Context(), who, q)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, shown)
}

// cancel withdraws a question. One that is settled already comes back as it is, and so does a repeated cancel. A body says
// nothing, except that under one Idempotency-Key it must be the same.
func (s *server) cancel(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	if err := s.spend(s.agentBudget(t.Agent)); err != nil {
		return err
	}
	id, err := questionID(r)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	var raw []byte
	if key != "" {
		if raw, err = readBody(w, r); err != nil {
			return err
		}
	}
	response, replayed, err := s.cancelOnce(r.Context(), id, once(bridge.RequestID{Agent: t.Agent, Scope: "cancel " + string(id), Key: key}, raw))
	if err != nil {
		return err
	}
	return replyOnce(w, response, replayed)
}

func questionID(r *http.Request) (bridge.QuestionID, error) {
	id := r.PathValue("id")
	if !storable(id) {
		return "", &bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such question"}
	}
	return bridge.QuestionID(id), nil
}

// list gives the asker's own questions, or those that anybody asked in a room, newest first. Every question of the page is
// read before the first is written.
func (s *server) list(w http.ResponseWriter, r *http.Request, who reader) error {
	l, err := s.listing(r, who)
	if err != nil {
		return err
	}
	found, next, err := s.Engine.List(r.Context(), l)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, pageOf(found, next, s.shown(r.Context(), who)))
}

// pageOf shows a page of a list.
func pageOf(found []bridge.Question, next string, show func(bridge.Question) schema.Question) schema.Questions {
	page := schema.Questions{Questions: make([]schema.Question, 0, len(found))}
	for _, q := range found {
		page.Questions = append(page.Questions, show(q))
	}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}

func (s *server) listing(r *http.Request, who reader) (bridge.Listing, error) {
	l := bridge.Listing{Asker: who.agent}
	p, err := paramsOf(r)
	if err != nil {
		return l, err
	}
	switch l.State = bridge.State(p.Get("state")); l.State {
	case "", bridge.Pending, bridge.Answered, bridge.Expired, bridge.Cancelled:
	default:
		return l, invalidParameter("state", "must be pending, answered, expired or cancelled")
	}
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return l, err
	}
	if l.CorrelationID, err = p.text("correlation_id"); err != nil {
		return l, err
	}
	switch {
	case !p.Has("room") && !who.own:
		return l, lacking(ScopeRead)
	case !p.Has("room"):
		return l, nil
	case who.rooms == nil:
		return l, lacking(ScopeReadRoom)
	case l.CorrelationID != nil: // it is its asker's own
		return l, invalidParameter("correlation_id", "must not stand beside room")
	}
	room, err := s.room(r.Context(), p.Get("room"), *who.rooms)
	l.Asker, l.Conversation = "", room.ID
	return l, err
}
