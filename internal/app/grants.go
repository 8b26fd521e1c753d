package app

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

var (
	_ grant.Store    = (*sqlstore.Store)(nil)
	_ httpapi.Grants = (*grant.Book)(nil)
)

// newGrants makes the book of what answers granted.
func (b *parts) newGrants(cfg config.Config, clock bridge.Clock, auditor bridge.Auditor) *grant.Book {
	return grant.New(grant.Parts{
		Store: b.store, Gatekeeper: b.channel, Events: revocations{b.hooks}, Clock: clock, Owed: b.owed, Auditor: auditor,
		OpenIDMayApprove: cfg.Auth.OpenID.MayApprove,
	})
}

// revocations tells the webhooks of grants that do not stand any more.
type revocations struct{ hooks *hooks }

// GrantRevoked implements [grant.Events].
func (r revocations) GrantRevoked(ctx context.Context, g grant.Grant) error {
	q := g.Question
	place, err := r.hooks.places.Place(ctx, g.Conversation)
	if err != nil {
		return err
	}
	room := schema.QuestionRoom{ID: string(g.Conversation), Code: orNil(place.Code), Name: orNil(place.Name)}
	shown := dialect.ToGrant(g, room, *g.RevokedAt)
	shown.CorrelationID = q.CorrelationID
	return r.hooks.Announce(ctx, bridge.Announcement{
		Event: schema.EventGrantRevoked, Key: string(q.ID), Conversation: g.Conversation, Question: q.ID, At: *g.RevokedAt,
		Body: map[string]any{"grant": shown},
	})
}
