package app

import (
	"context"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/sweep"
)

var (
	_ decision.Store    = (*sqlstore.Store)(nil)
	_ httpapi.Decisions = (*decision.Book)(nil)
)

// newDecisions makes the book of what people decided about gated exchanges.
func (b *parts) newDecisions(ctx context.Context, cfg config.Config, auditor bridge.Auditor) (*decision.Book, error) {
	secret, err := openSecret(ctx, b.store, "key of decisions")
	if err != nil {
		return nil, err
	}
	everywhere := users(cfg.WorkspaceAdmins.Users)
	return decision.New(decision.Parts{
		Store: b.store, Secret: secret, Clock: bridge.SystemClock{}, Auditor: auditor, OpenIDMayApprove: cfg.Auth.OpenID.MayApprove,
		Admin: func(who bridge.UserID) bool { return slices.Contains(everywhere, who) },
	}), nil
}

// decisionChores are what the sweep does for decisions.
func decisionChores(store *sqlstore.Store) []sweep.Chore {
	return []sweep.Chore{{Name: "forget revoked decisions", Every: time.Hour, Do: until(store.ForgetEmptied, decision.Retention)}}
}
