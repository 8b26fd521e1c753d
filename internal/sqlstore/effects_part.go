package sqlstore

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Effects are a part of what is owed, for a worker of their own: parts never take each other's places. They keep the
// promises of [bridge.Outbox].
type Effects struct {
	*Store
	part string // a condition on a kind
	kind bridge.EffectKind
}

// EffectsOf are those of a kind.
func (s *Store) EffectsOf(kind bridge.EffectKind) *Effects { return &Effects{s, `kind = `, kind} }

// EffectsBut are those of every other kind.
func (s *Store) EffectsBut(kind bridge.EffectKind) *Effects { return &Effects{s, `kind <> `, kind} }

// ClaimEffects implements [bridge.Outbox].
func (e *Effects) ClaimEffects(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]bridge.Effect, error) {
	return e.claim(ctx, e.claimEffects(e.part+`$4`), now, now.Add(lease), limit, e.kind)
}

// NextEffect implements [bridge.Outbox].
func (e *Effects) NextEffect(ctx context.Context) (at time.Time, ok bool, err error) {
	return e.next(ctx, nextEffect(e.part+`$1`), e.kind)
}
