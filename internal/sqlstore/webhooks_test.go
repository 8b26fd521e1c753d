package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// stopped is a clock that stands until it is set.
type stopped struct{ at time.Time }

func (s *stopped) Now() time.Time { return s.at }

func owed(id, endpoint string, q bridge.QuestionID) bridge.WebhookDelivery {
	return bridge.WebhookDelivery{
		ID: id, Endpoint: endpoint, Question: q, Event: "question.answered", Body: []byte("{\"text\":\"<b>& \u00e9\u2028\"}"), CreatedAt: start,
	}
}

func claim(t *testing.T, l *sqlstore.Lane, now time.Time, want ...string) []bridge.Effect {
	t.Helper()
	claimed := must(l.ClaimEffects(t.Context(), now, time.Minute, 10))(t)
	var ids []string
	for _, e := range claimed {
		ids = append(ids, e.Key)
	}
	if !reflect.DeepEqual(ids, want) {
		t.Fatalf("claimed %q, want %q", ids, want)
	}
	return claimed
}

func TestLanes(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, clock := d.open(t), &stopped{start}
		q := ask(t, s, 1, room)
		a, b := s.Lane("a", clock), s.Lane("b", clock)
		if _, ok, err := a.NextEffect(t.Context()); ok || err != nil {
			t.Fatalf("something is owed: %v", err)
		}
		noError(t, s.AddDeliveries(t.Context(), owed("m1", "a", q.ID), owed("m2", "b", q.ID)))
		if s.AddDeliveries(t.Context(), owed("m1", "a", q.ID)) == nil {
			t.Error("one id was stored twice")
		}

		// Each lane has its own; the bytes are those that were stored.
		claim(t, a, start.Add(-time.Millisecond))
		got := claim(t, a, start, "m1")[0]
		if got.Kind != bridge.EffectWebhook || got.Question != q.ID || got.Attempts != 1 || !bytes.Equal(got.Payload, owed("", "", "").Body) {
			t.Errorf("got %+v", got)
		}
		claim(t, a, start) // leased
		equal(t, "next", must2(a.NextEffect(t.Context()))(t), start.Add(time.Minute))

		// A failure makes it due later, and is kept with the endpoint.
		clock.at = start.Add(time.Second)
		noError(t, a.PostponeEffect(t.Context(), got.ID, start.Add(5*time.Second), "answered 500"))
		claim(t, a, start.Add(4*time.Second))
		got = claim(t, a, start.Add(5*time.Second), "m1")[0]
		equal(t, "attempts", got.Attempts, 2)
		kept := must(s.Delivery(t.Context(), "m1"))(t)
		if kept.State != bridge.WebhookPending || !kept.FirstTry.Equal(start) || kept.Why != "answered 500" || kept.FinishedAt != nil {
			t.Errorf("kept %+v", kept)
		}

		// A success is kept, and is in nobody's way.
		noError(t, a.FinishEffect(t.Context(), got.ID))
		kept = must(s.Delivery(t.Context(), "m1"))(t)
		if kept.State != bridge.WebhookDelivered || !kept.FinishedAt.Equal(clock.at) || kept.Why != "" {
			t.Errorf("kept %+v", kept)
		}
		if err := a.FinishEffect(t.Context(), got.ID); bridge.CodeOf(err) != bridge.CodeNotFound {
			t.Errorf("finished twice: %v", err)
		}
		claim(t, a, start.Add(time.Hour))

		// What is given up is kept too.
		got = claim(t, b, start, "m2")[0]
		noError(t, b.FailEffect(t.Context(), got.ID, "given up"))
		claim(t, b, start.Add(time.Hour))
		endpoints := must(s.Endpoints(t.Context()))(t)
		want := []bridge.WebhookEndpoint{
			{Name: "a", SucceededAt: &clock.at, FailedAt: &clock.at, Failure: "answered 500"},
			{Name: "b", FailedAt: &clock.at, Failure: "given up", Failed: 1},
		}
		if !reflect.DeepEqual(endpoints, want) {
			t.Errorf("got  %+v\nwant %+v", endpoints, want)
		}
	})
}

func TestReplayOfDeliveries(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, clock := d.open(t), &stopped{start}
		l := s.Lane("a", clock)
		noError(t, s.AddDeliveries(t.Context(), owed("m1", "a", ""), owed("m2", "a", ""), owed("m3", "a", "")))
		claimed := claim(t, l, start, "m1", "m2", "m3")
		noError(t, l.FinishEffect(t.Context(), claimed[0].ID))
		noError(t, l.FailEffect(t.Context(), claimed[1].ID, "given up"))
		later := start.Add(time.Hour)
		equal(t, "replayed", must(s.Replay(t.Context(), later, "m1", "m2", "m3", "none"))(t), 2)
		if got := claim(t, l, later, "m1", "m2", "m3"); got[0].Attempts != 1 || got[2].Attempts != 2 { // the lease of m3 is over
			t.Errorf("attempts %d and %d", got[0].Attempts, got[2].Attempts)
		}
		if kept := must(s.Delivery(t.Context(), "m2"))(t); !kept.FirstTry.Equal(later) || kept.FinishedAt != nil {
			t.Errorf("kept %+v", kept)
		}
	})
}

func TestEndpointsThatAreDisabledOrPaused(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, clock := d.open(t), &stopped{start}
		a, b := s.Lane("a", clock), s.Lane("b", clock)
		noError(t, s.AddDeliveries(t.Context(), owed("m1", "a", ""), owed("m2", "b", "")))
		noError(t, s.PauseEndpoint(t.Context(), "a", start.Add(time.Hour)))
		claim(t, a, start.Add(time.Hour-time.Millisecond))
		equal(t, "next", must2(a.NextEffect(t.Context()))(t), start.Add(time.Hour))
		claim(t, b, start, "m2")
		claim(t, a, start.Add(time.Hour), "m1")
		noError(t, s.ReleaseDeliveries(t.Context(), start))
		claim(t, b, start, "m2")

		noError(t, s.DisableEndpoint(t.Context(), "a", start.Add(time.Minute)))
		noError(t, s.DisableEndpoint(t.Context(), "a", start.Add(time.Hour)))
		noError(t, s.Close())
		s = d.open(t)
		a = s.Lane("a", clock)
		claim(t, a, start.Add(24*time.Hour))
		if _, ok, err := a.NextEffect(t.Context()); ok || err != nil {
			t.Errorf("something is due: %v", err)
		}
		if e := must(s.Endpoints(t.Context()))(t)[0]; !e.DisabledAt.Equal(start.Add(time.Minute)) || e.Pending != 1 {
			t.Errorf("got %+v", e)
		}
		later := start.Add(48 * time.Hour)
		equal(t, "was disabled", must(s.EnableEndpoint(t.Context(), "a", later))(t), true)
		equal(t, "was disabled", must(s.EnableEndpoint(t.Context(), "a", later))(t), false)
		equal(t, "attempts", claim(t, a, later, "m1")[0].Attempts, 1)
	})
}

// What is over is forgotten in time, and everything of a question with it.
func TestDeliveriesAreForgotten(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s, clock := d.open(t), &stopped{start}
		l := s.Lane("a", clock)
		q := ask(t, s, 1, room)
		must2(s.Settle(t.Context(), answer(q, 1)))(t)
		noError(t, s.AddDeliveries(t.Context(), owed("delivered", "a", ""), owed("failed", "a", ""), owed("pending", "a", ""), owed("of q", "a", q.ID)))
		claimed := claim(t, l, start, "delivered", "failed", "pending", "of q")
		noError(t, l.FinishEffect(t.Context(), claimed[0].ID))
		noError(t, l.FailEffect(t.Context(), claimed[1].ID, "x"))
		left := func(want ...string) {
			t.Helper()
			var ids []string
			for _, d := range must(s.Deliveries(t.Context(), "a", 10))(t) {
				ids = append(ids, d.ID)
			}
			if !reflect.DeepEqual(ids, want) {
				t.Errorf("left %q, want %q", ids, want)
			}
		}
		must(s.PurgeDeliveries(t.Context(), start, start, 10))(t)
		left("of q", "pending", "failed", "delivered")
		equal(t, "purged", must(s.PurgeDeliveries(t.Context(), start.Add(1e6), start, 10))(t), 1)
		left("of q", "pending", "failed")
		must(s.Forget(t.Context(), q.ForgetAfter, 10))(t)
		left("pending", "failed")
		noError(t, l.PostponeEffect(t.Context(), claimed[2].ID, start.Add(time.Hour), "x"))
		equal(t, "purged", must(s.PurgeDeliveries(t.Context(), start, start.Add(time.Hour), 9))(t), 1)
		left("pending")
		equal(t, "purged", must(s.PurgeDeliveries(t.Context(), start, start.Add(2*time.Hour), 9))(t), 1)
		left()
		noError(t, s.AddDeliveries(t.Context(), owed("m1", "a", ""), owed("m2", "a", "")))
		equal(t, "purged", must(s.PurgeDeliveries(t.Context(), start, start.Add(time.Hour), 1))(t), 1)
		left("m2")
	})
}

// Owed is only what was committed.
func TestDeliveriesOfARolledBackTransaction(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		boom := errors.New("boom")
		err := s.Atomically(t.Context(), func(ctx context.Context) error {
			noError(t, s.AddDeliveries(ctx, owed("m1", "a", "")))
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		equal(t, "owed", len(must(s.Deliveries(t.Context(), "a", 10))(t)), 0)
	})
}
