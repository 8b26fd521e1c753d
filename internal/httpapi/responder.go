package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// answer takes a person's answer (The Question Protocol 1.1, section 7, "Answer"). Who they are comes before what they
// send, and both before whether they are late: only what the question never offered is refused even then.
func (s *server) answer(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	ctx := r.Context()
	if err := s.spend(s.personBudget(t.User)); err != nil {
		return err
	}
	id, err := questionID(r)
	if err != nil {
		return err
	}
	body, err := answerBody(w, r)
	if err != nil {
		return err
	}
	q, err := s.Engine.Show(ctx, t.User, id)
	if err != nil {
		return err
	}
	attempt := attemptOf(ctx)
	attempt.Conversation, attempt.Agent = q.Conversation, q.Asker
	choice, err := dialect.Choice(*body, q)
	if err != nil {
		return err
	}
	choice.Via = surface(t)
	if q, err = s.Engine.Answer(ctx, t.User, id, choice); err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.views(ctx, t.User).of(q))
}

func answerBody(w http.ResponseWriter, r *http.Request) (*schema.AnswerBody, error) {
	raw, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	body, err := schema.Decode[schema.AnswerBody](raw)
	var refused *schema.Refusal
	if errors.As(err, &refused) {
		return nil, problemOfRefusal(refused, codeOfAnswerFault)
	}
	return body, err
}

// show gives a question to somebody who may answer it.
func (s *server) show(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	id, err := questionID(r)
	if err != nil {
		return err
	}
	q, err := s.Engine.Show(r.Context(), t.User, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.views(r.Context(), t.User).of(q))
}

// pending gives the questions that wait for a person, newest first (section 7, "Pending").
func (s *server) pending(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	l := bridge.PendingListing{Who: t.User}
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return err
	}
	found, next, err := s.Engine.PendingFor(r.Context(), l)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, pageOf(found, next, s.views(r.Context(), t.User).of))
}

// views shows questions to somebody who did not ask them: a person, or an agent, and then who is "". Each room is looked
// up once.
type views struct {
	server *server
	ctx    context.Context
	who    bridge.UserID
	rooms  map[bridge.ConversationID]*schema.QuestionRoom
}

func (s *server) views(ctx context.Context, who bridge.UserID) *views {
	return &views{s, ctx, who, map[bridge.ConversationID]*schema.QuestionRoom{}}
}

// of gives everything that there is to decide by, and nothing that is the asker's alone (DESIGN "Visibility").
func (v *views) of(q bridge.Question) schema.Question {
	out := dialect.ToQuestion(q)
	out.CorrelationID, out.ReplyTo, out.Data = nil, nil, nil
	out.Viewer, out.AskedBy, out.Room = string(v.who), q.AskedBy, v.room(q.Conversation)
	return out
}

// room is a room with its name and code, or by its id alone where nothing else can be said now.
func (v *views) room(id bridge.ConversationID) *schema.QuestionRoom {
	if room, ok := v.rooms[id]; ok {
		return room
	}
	room := &schema.QuestionRoom{ID: string(id)}
	found, err := v.server.Rooms.Resolve(v.ctx, string(id))
	if err != nil {
		zerolog.Ctx(v.ctx).Debug().Err(err).Str("room_id", string(id)).Msg("A room was shown without its name")
	}
	if found.Code != "" {
		room.Code = &found.Code
	}
	if found.Name != "" {
		room.Name = &found.Name
	}
	v.rooms[id] = room
	return room
}
