package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// Session is a [Responder] who signed in. It may do less than one with a token of their own.
type Session struct {
	*Responder
	UserID     string    // who signed in, as their homeserver says
	ExpiresAt  time.Time // by the server's clock; then it is 401 invalid_token, and one signs in again
	MayApprove bool      // a subject; and choose options with requires. Without it both are 403 weak_sign_in
}

// SignIn exchanges a Matrix OpenID token for a session. The token of cfg is not used. Each OpenID token works once: after
// an error that leaves open whether it arrived, take another one. Refusals of the server are [*Error]; a token that could
// be none is not sent, and the error is a [*schema.Refusal].
func SignIn(ctx context.Context, cfg Config, token schema.OpenIDToken) (*Session, error) {
	cfg.Token = "none"
	api, err := New(cfg)
	if err != nil {
		return nil, err
	}
	api.token = "" // what signs in is in the body
	raw, err := json.Marshal(token)
	if err != nil {
		return nil, fmt.Errorf("client: the OpenID token cannot be written as JSON: %w", err)
	}
	if _, err := schema.Decode[schema.OpenIDToken](raw); err != nil {
		return nil, fmt.Errorf("client: the OpenID token is not sent: %w", err)
	}
	body, err := api.send(ctx, request{method: http.MethodPost, path: "/api/auth/matrix", body: raw})
	if err != nil {
		return nil, err
	}
	s, err := schema.Decode[schema.Session](body)
	if err != nil {
		return nil, unreadable(http.StatusOK, err.Error())
	}
	until, err := s.ExpiresAt.Time()
	if err != nil {
		return nil, unreadable(http.StatusOK, "the session's end is no time")
	}
	cfg.Token = s.AccessToken
	responder, err := NewResponder(cfg)
	if err != nil {
		return nil, unreadable(http.StatusOK, "the session's token is none")
	}
	return &Session{responder, s.UserID, until, s.MayApprove}, nil
}
