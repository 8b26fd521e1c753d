package sqlstore_test

import (
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

var _ outbox.Store = (*sqlstore.Effects)(nil)

// Effects of one kind and all others are given out apart, and each part knows when its own next one is due. In one lane of a
// question they still come in order.
func TestPartsOfWhatIsOwed(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, ctx := d.open(t), t.Context()
		q := ask(t, s, 1, room)
		const kind bridge.EffectKind = "submit"
		noError(t, s.AddEffects(ctx,
			bridge.Effect{Kind: kind, Question: q.ID, Lane: "gate", Key: "k1", Due: start.Add(time.Second)},
			bridge.Effect{Kind: kind, Question: q.ID, Lane: "gate", Key: "k2", Due: start},
			bridge.Effect{Kind: bridge.EffectSettled, Question: q.ID, Key: "k3", Due: start.Add(2 * time.Second)},
		))
		of, but := s.EffectsOf(kind), s.EffectsBut(kind)
		for part, due := range map[*sqlstore.Effects]time.Duration{of: time.Second, but: 2 * time.Second} {
			at, ok, err := part.NextEffect(ctx)
			noError(t, err)
			equal(t, "next", at, start.Add(due))
			equal(t, "there is one", ok, true)
		}
		now := start.Add(time.Minute)
		for _, want := range []string{"k1", "k2"} {
			claimed := must(of.ClaimEffects(ctx, now, time.Minute, 10))(t)
			equal(t, "claimed", len(claimed), 1)
			equal(t, "claimed", claimed[0].Key, want)
			noError(t, of.FinishEffect(ctx, claimed[0].ID))
		}
		claimed := must(but.ClaimEffects(ctx, now, time.Minute, 10))(t)
		equal(t, "claimed of the others", len(claimed), 1)
		equal(t, "claimed of the others", claimed[0].Key, "k3")
		_, ok, err := of.NextEffect(ctx)
		noError(t, err)
		equal(t, "there is one", ok, false)
	})
}
