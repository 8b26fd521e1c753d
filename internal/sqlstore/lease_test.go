package sqlstore_test

import (
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// TestReleaseEffects shows that what a process had claimed when it died is due again at once, and nothing else is.
func TestReleaseEffects(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q, other := ask(t, s, 1, room), ask(t, s, 2, room)
		noError(t, s.AddEffects(t.Context(),
			bridge.Effect{Kind: bridge.EffectRender, Question: q.ID, Key: "k1", Due: start},
			bridge.Effect{Kind: bridge.EffectRender, Question: other.ID, Key: "k2", Due: start.Add(time.Hour)}))
		claimed, err := s.ClaimEffects(t.Context(), start, time.Hour, 10)
		noError(t, err)
		equal(t, "claimed", len(claimed), 1)
		now := start.Add(time.Minute)
		noError(t, s.ReleaseEffects(t.Context(), now))
		again, err := s.ClaimEffects(t.Context(), now, time.Hour, 10)
		noError(t, err)
		equal(t, "claimed again", len(again), 1)
		equal(t, "key", again[0].Key, "k1")
		equal(t, "attempts", again[0].Attempts, 2)
	})
}
