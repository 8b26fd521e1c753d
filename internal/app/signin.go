package app

import (
	"context"
	"errors"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// newSignIn lets people of the listed homeservers sign in: nobody, where there are none.
func newSignIn(cfg config.Config, store *sqlstore.Store) (httpapi.SignIn, error) {
	if len(cfg.Auth.OpenID.Servers) == 0 {
		return httpapi.SignIn{}, nil
	}
	identity, err := newOpenID(cfg)
	return httpapi.SignIn{Identity: identity, Sessions: store, MayApprove: cfg.Auth.OpenID.MayApprove}, err
}

func newOpenID(cfg config.Config) (*matrix.OpenID, error) {
	guarded, err := outward(cfg, egress.Timeouts{})
	if err != nil {
		return nil, err
	}
	return matrix.NewOpenID(matrix.OpenIDConfig{
		ServerName: cfg.Homeserver.Domain, HomeserverURL: cfg.Homeserver.URL, Servers: cfg.Auth.OpenID.Servers, Guarded: guarded,
	})
}

// signIn asks the homeserver about a token that is none. Where people of it may sign in, it has to say so.
func (c *check) signIn(ctx context.Context) {
	if !slices.Contains(c.cfg.Auth.OpenID.Servers, c.cfg.Homeserver.Domain) {
		return
	}
	f := Finding{
		What: "the homeserver says whose an OpenID token is",
		Hint: "Synapse needs the resource openid at homeserver.url, Dendrite its federation; or turn signing in off by auth.openid.servers",
	}
	openID, err := newOpenID(c.cfg)
	if err == nil {
		_, err = openID.OpenIDUser(ctx, c.cfg.Homeserver.Domain, "none")
	}
	later := new(bridge.ErrRetry)
	switch {
	case errors.As(err, &later):
		f.Err = later.Err
	case bridge.CodeOf(err) != bridge.CodeOpenIDRefused:
		f.Err = err
	}
	c.add(f)
}
