package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// agentHandler answers a request that was made with an agent's token.
type agentHandler func(w http.ResponseWriter, r *http.Request, t bridge.Token) error

// agent lets a request through that carries a token with the scope.
func (s *server) agent(scope string, next agentHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := s.agentToken(r)
		if t.ID == "" {
			return err
		}
		r, a := s.attempt(r, t, refusals[scope])
		switch {
		case err != nil:
		case !allows(t, scope):
			err = lacking(scope)
		default:
			err = next(w, r, t)
		}
		s.refused(r.Context(), a, err)
		return err
	}
}

// agentToken finds the agent's token of a request. One of another kind comes with the error.
func (s *server) agentToken(r *http.Request) (bridge.Token, error) {
	t, err := s.authenticate(r, "Send the agent's token as Authorization: Bearer qb_….")
	if err == nil && (t.Agent == "" || t.User != "") {
		err = wrongToken("This is for an agent's token, not for a person's, which only answers: /api/questions/….")
	}
	return t, err
}

// responderHandler answers a request that a person made with a token of their own.
type responderHandler func(w http.ResponseWriter, r *http.Request, t bridge.Token) error

// responder lets a request through that carries a person's own token, or a session of theirs. Nothing else of a request
// says who that is. A refusal is recorded as one.
func (s *server) responder(refusal bridge.AuditAction, next responderHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := s.authenticate(r, "Send your own responder token as Authorization: Bearer qu_….")
		if err != nil {
			return err
		}
		r, a := s.attempt(r, t, refusal)
		if t.User == "" || t.Agent != "" {
			err = wrongToken("This is for a person's own responder token: an agent's token never answers.")
		} else {
			err = next(w, r, t)
		}
		s.refused(r.Context(), a, err)
		return err
	}
}

func wrongToken(detail string) error {
	return newProblem(codeWrongToken, detail).with("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
}

// challenge is what a client is asked for (RFC 6750, section 3).
const (
	challenge    = `Bearer realm="question-bridge"`
	invalidToken = challenge + `, error="invalid_token"`
)

// authenticate finds the token of a request. It is looked up by hash and compared again in constant time, so neither the
// index nor a comparison tells how much of a guess was right. wanted is said to a client that sends none.
func (s *server) authenticate(r *http.Request, wanted string) (bridge.Token, error) {
	secret, ok := bearer(r)
	if !ok {
		return bridge.Token{}, newProblem(codeUnauthorized, wanted).with("WWW-Authenticate", challenge)
	}
	now, hash := s.Clock.Now(), sha256.Sum256([]byte(secret))
	t, ok, err := s.Tokens.TokenByHash(r.Context(), hash, now)
	if err != nil {
		return bridge.Token{}, err
	}
	valid := t.RevokedAt == nil && (t.ExpiresAt == nil || now.Before(*t.ExpiresAt)) && (!t.Session || s.SignIn.Identity != nil)
	if !ok || !valid || subtle.ConstantTimeCompare(t.Hash[:], hash[:]) != 1 {
		return bridge.Token{}, newProblem(codeInvalidToken, "The token is unknown, revoked or expired.").
			with("WWW-Authenticate", invalidToken)
	}
	s.noteUse(r.Context(), t, now)
	return t, nil
}

// noteUse records at most once a minute that a token is in use. A failure refuses nobody.
func (s *server) noteUse(ctx context.Context, t bridge.Token, now time.Time) {
	if t.UsedAt != nil && now.Sub(*t.UsedAt) < time.Minute {
		return
	}
	if err := s.Tokens.TokenUsed(ctx, t.ID, now); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Str("token", t.ID).Msg("Use of a token was not recorded")
	}
}

func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	secret = strings.TrimSpace(secret)
	return secret, ok && strings.EqualFold(scheme, "Bearer") && secret != ""
}

// room finds the room that a request names, if the token is for it. A room that is not granted is told from one that
// does not exist; it comes with the error.
func (s *server) room(ctx context.Context, named string, t bridge.Token) (Room, error) {
	if !storable(named) {
		return Room{}, &bridge.Error{Code: bridge.CodeRoomUnknown, Reason: "there is no such room"}
	}
	room, err := s.resolve(ctx, named)
	if err != nil {
		return Room{}, err
	}
	for _, granted := range t.Rooms {
		switch {
		case granted == "*", granted == named, granted == string(room.ID), room.Code != "" && granted == room.Code:
			return room, nil
		}
	}
	refusal := error(&bridge.Error{Code: bridge.CodeRoomNotGranted, Reason: "the token is not granted this room"})
	for _, granted := range t.Rooms {
		if strings.HasPrefix(granted, "!") {
			continue
		}
		// An alias, or a code that stands for one, is granted for whatever room it leads to now. The room's own word for
		// its alias is not asked: a room may call itself anything.
		to, err := s.resolve(ctx, granted)
		var known *bridge.Error
		switch {
		case err == nil && to.ID == room.ID:
			return room, nil
		case err != nil && !errors.As(err, &known): // it may have led here
			refusal = err
		}
	}
	return room, refusal
}

// resolve asks the channel for a room. A failure that is not a refusal is the homeserver's, which may be back soon.
func (s *server) resolve(ctx context.Context, named string) (Room, error) {
	room, err := s.Rooms.Resolve(ctx, named)
	var known *bridge.Error
	if err == nil || errors.As(err, &known) || ctx.Err() != nil {
		return room, err
	}
	return Room{}, unavailable("The homeserver cannot be asked about the room right now. Please try again.", err)
}
