package app

import (
	"fmt"

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
	guarded, err := egress.New(egress.Config{Allow: cfg.Egress.Allow})
	if err != nil {
		return httpapi.SignIn{}, fmt.Errorf("egress.allow: %w", err)
	}
	identity, err := matrix.NewOpenID(matrix.OpenIDConfig{
		ServerName: cfg.Homeserver.Domain, HomeserverURL: cfg.Homeserver.URL, Servers: cfg.Auth.OpenID.Servers, Guarded: guarded,
	})
	return httpapi.SignIn{Identity: identity, Sessions: store, MayApprove: cfg.Auth.OpenID.MayApprove}, err
}
