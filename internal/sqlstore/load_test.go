package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// What waits is counted, each of its kind, with the time since when the oldest does: however often it was put off, and
// not before it is due.
func TestLoad(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		now := start.Add(time.Hour)
		if l := must(s.Load(t.Context(), now))(t); l.Pending+l.Outbox.Waiting+l.Inbox.Waiting+len(l.Webhooks) != 0 || l.Outbox.Oldest != nil || l.Inbox.Oldest != nil || l.Bytes == 0 {
			t.Errorf("an empty one has %+v", l)
		}
		for n := range 5 {
			ask(t, s, n, room)
		}
		must2(s.Settle(t.Context(), answer(question(1), 1)))(t)
		noError(t, s.AddEffects(t.Context(),
			bridge.Effect{Kind: bridge.EffectRender, Question: "q_2", Key: "a", Due: start.Add(2 * time.Minute)},
			bridge.Effect{Kind: bridge.EffectRender, Question: "q_3", Key: "b", Due: start.Add(time.Minute)},
			bridge.Effect{Kind: bridge.EffectRender, Question: "q_4", Key: "c", Due: start},
			bridge.Effect{Kind: bridge.EffectRemind, Question: "q_3", Lane: "later", Key: "d", Due: now.Add(time.Minute)},
		))
		for _, f := range must(s.ClaimEffects(t.Context(), now, time.Minute, 10))(t) {
			switch f.Key {
			case "b":
				noError(t, s.RetryEffect(t.Context(), f.ID, now.Add(time.Hour), "down"))
			case "c":
				noError(t, s.FailEffect(t.Context(), f.ID, "no"))
			}
		}
		var batch []bridge.Incoming
		for i := range 3 {
			e := incoming(bridge.InteractionID(fmt.Sprintf("$%d", i)), room)
			e.ReceivedAt = start.Add(time.Duration(i) * time.Second)
			batch = append(batch, e)
		}
		must(s.StoreEvents(t.Context(), batch))(t)
		noError(t, s.FinishInteraction(t.Context(), "$0"))
		noError(t, s.PostponeEvent(t.Context(), "$1", now.Add(time.Hour), "later"))

		for i, endpoint := range []string{"ci", "ci", "ci", "gone"} {
			noError(t, s.AddDeliveries(t.Context(), bridge.WebhookDelivery{ID: fmt.Sprint("msg_", i), Endpoint: endpoint, Question: "q_1",
				Event: "question.answered", CreatedAt: start.Add(time.Duration(i) * time.Second), Body: []byte("{}")}))
		}
		lane := s.Lane("ci", clockAt(now))
		for _, f := range must(lane.ClaimEffects(t.Context(), now, time.Minute, 2))(t) {
			if f.Key == "msg_0" {
				noError(t, lane.FailEffect(t.Context(), f.ID, "no"))
			}
		}
		noError(t, s.DisableEndpoint(t.Context(), "gone", now))

		l := must(s.Load(t.Context(), now))(t)
		equal(t, "pending", l.Pending, 4)
		backlog(t, "outbox", l.Outbox, 2, start.Add(time.Minute))
		backlog(t, "inbox", l.Inbox, 2, start.Add(time.Second))
		equal(t, "endpoints", len(l.Webhooks), 2)
		ci, gone := l.Webhooks[0], l.Webhooks[1]
		backlog(t, "ci", ci.Pending, 2, start.Add(time.Second))
		backlog(t, "gone", gone.Pending, 1, start.Add(3*time.Second))
		if ci.Endpoint != "ci" || ci.Failed != 1 || ci.Disabled || !gone.Disabled {
			t.Errorf("endpoints: %+v, %+v", ci, gone)
		}
		backlog(t, "outbox later", must(s.Load(t.Context(), now.Add(time.Hour)))(t).Outbox, 3, start.Add(time.Minute))
	})
}

type clockAt time.Time

func (c clockAt) Now() time.Time { return time.Time(c) }

func backlog(t *testing.T, what string, got bridge.Backlog, waiting int, oldest time.Time) {
	t.Helper()
	if got.Waiting != waiting || got.Oldest == nil || !got.Oldest.Equal(oldest) {
		t.Errorf("%s: %d since %v, want %d since %v", what, got.Waiting, got.Oldest, waiting, oldest)
	}
}

func BenchmarkLoad(b *testing.B) {
	benchmark(b, func(b *testing.B, s *sqlstore.Store) {
		for b.Loop() {
			_, err := s.Load(b.Context(), start.Add(24*time.Hour))
			check(b, err)
		}
	})
}
