package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
)

// stopped is a clock that stands still.
type stopped time.Time

func (s stopped) Now() time.Time { return time.Time(s) }

// Each endpoint is asked whether it is there, and is sent no event; what became of the events before is said.
func TestCheckWebhooks(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.Header.Get("webhook-id") != "" {
			t.Errorf("it is sent a %s", r.Method)
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	defer receiver.Close()
	cfg, reg := checked(t, "http://127.0.0.1:1")
	cfg.Egress.Allow = []string{"127.0.0.1"}
	hook := func(name, url string) config.Webhook {
		return config.Webhook{Name: name, Rooms: []string{"*"}, URL: url}
	}
	const down = "http://127.0.0.1:1/x?secret"
	cfg.Webhooks = []config.Webhook{hook("good", receiver.URL), hook("down", down), hook("inside", "https://10.1.2.3/x?secret"), hook("gone", down), hook("tired", down)}
	store, err := openBeside(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clock := stopped(at)
	for _, name := range []string{"good", "down", "gone", "tired"} {
		ok(store.AddDeliveries(t.Context(), bridge.WebhookDelivery{ID: "msg_" + name, Endpoint: name, Event: "question.expired", Body: []byte("{}"), CreatedAt: at}))
		claimed, err := store.Lane(name, clock).ClaimEffects(t.Context(), clock.Now(), time.Minute, 1)
		ok(err)
		switch lane, id := store.Lane(name, clock), claimed[0].ID; name {
		case "good":
			ok(lane.FinishEffect(t.Context(), id))
		case "down":
			ok(lane.RetryEffect(t.Context(), id, at, "answered 500 Internal Server Error"))
		case "gone":
			ok(store.DisableEndpoint(t.Context(), name, at))
		case "tired":
			ok(lane.FailEffect(t.Context(), id, "given up"))
			ok(store.AddDeliveries(t.Context(), bridge.WebhookDelivery{ID: "msg_next", Endpoint: name, Event: "question.expired", Body: []byte("{}"), CreatedAt: at}))
			claimed, err := lane.ClaimEffects(t.Context(), clock.Now(), time.Minute, 1)
			ok(err)
			ok(store.Lane(name, stopped(at.Add(time.Hour))).FinishEffect(t.Context(), claimed[0].ID))
		}
	}
	ok(store.Close())
	expect(t, Check(t.Context(), cfg, reg),
		"FAIL the homeserver answers",
		"ok the webhook good can be reached|",
		"FAIL the webhook down can be reached|dial tcp 127.0.0.1:1: connect: connection refused",
		"FAIL the webhook inside can be reached|10.1.2.3 is not a public address, and egress.allow does not list it",
		"FAIL the webhook gone can be reached|", "FAIL the webhook tired can be reached|",
		"ok the sqlite database opens|",
		"ok the webhook good takes what it is sent|",
		"FAIL the webhook down takes what it is sent|the last attempt, at 2026-11-01T12:00:00Z, failed: answered 500 Internal Server Error; it is owed 1 events",
		"ok the webhook inside takes what it is sent|",
		"FAIL the webhook gone takes what it is sent|it answered 410 Gone and is disabled since 2026-11-01T12:00:00Z; it is owed 1 events",
		"ok the webhook tired takes what it is sent|1 events were given up; `questiond webhook replay --failed tired` sends them again",
	)
}
