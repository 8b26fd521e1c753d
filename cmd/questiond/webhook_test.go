package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// withHooks is a configuration with two endpoints at one receiver, and the store that belongs to it.
func withHooks(t *testing.T, url string) (path string, store *sqlstore.Store) {
	t.Helper()
	path = folder(t, leastConfig+`
webhooks:
  - {name: deploys, rooms: ['*'], url: `+url+`, secrets: [{file: a.secret}]}
  - {name: audit, rooms: [OPS], url: `+url+`/audit, secrets: [{file: a.secret}]}
egress: {allow: [127.0.0.1]}
`)
	made := call(t, "webhook", "secret")
	made.want(t, exitOK, "whsec_", "")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "a.secret"), []byte(made.out), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(filepath.Dir(path), "question-bridge.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return path, store
}

func TestWebhookTest(t *testing.T) {
	status := http.StatusNoContent
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-signature") == "" {
			t.Error("not signed")
		}
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	path, _ := withHooks(t, receiver.URL)
	call(t, "webhook", "test", "deploys", "-c", path).want(t, exitOK, "deploys answered 204 No Content.\n", "")
	status = http.StatusTeapot
	call(t, "webhook", "test", "deploys", "-c", path).want(t, exitFailed, "", "deploys answered 418")
	call(t, "webhook", "test", "none", "-c", path).want(t, exitFailed, "", `webhooks has no endpoint "none"`)
	call(t, "webhook", "test", "-c", path).want(t, exitUsage, "", "one ENDPOINT is needed")
	receiver.Close()
	call(t, "webhook", "test", "deploys", "-c", path).want(t, exitFailed, "", "connection refused")
}

func TestWebhookListReplayAndEnable(t *testing.T) {
	path, store := withHooks(t, "http://127.0.0.1:1")
	ctx := t.Context()
	now := time.Now()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var owed []bridge.WebhookDelivery
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		owed = append(owed, bridge.WebhookDelivery{ID: id, Endpoint: "deploys", Event: "question.answered", Body: []byte(`{"text":"words"}`), CreatedAt: now})
	}
	owed = append(owed, bridge.WebhookDelivery{ID: "msg_old", Endpoint: "removed", Event: "question.answered", Body: []byte(`{}`), CreatedAt: now})
	ok(store.AddDeliveries(ctx, owed...))
	fail(t, ctx, store, "removed", now)
	claimed, err := store.Lane("deploys", bridge.SystemClock{}).ClaimEffects(ctx, now.Add(time.Second), time.Minute, 2)
	ok(err)
	ok(store.Lane("deploys", bridge.SystemClock{}).FinishEffect(ctx, claimed[0].ID))
	ok(store.Lane("deploys", bridge.SystemClock{}).FailEffect(ctx, claimed[1].ID, "given up after 30 attempts: answered 500"))
	ok(store.DisableEndpoint(ctx, "deploys", now))
	ok(store.PauseEndpoint(ctx, "audit", now.Add(time.Hour)))

	list := call(t, "webhook", "list", "-c", path)
	list.want(t, exitOK, "ENDPOINT", "")
	rows := strings.Split(strings.TrimSpace(list.out), "\n")
	if len(rows) != 4 || !strings.Contains(rows[1], "disabled since") || !strings.Contains(rows[1], "answered 500") ||
		!strings.Contains(rows[2], "paused until") || !strings.Contains(rows[3], "not configured") {
		t.Errorf("got\n%s", list.out)
	}
	if f := strings.Fields(rows[1]); f[0] != "deploys" || f[5] != "1" || f[6] != "1" {
		t.Errorf("got %q", f)
	}
	one := call(t, "webhook", "list", "deploys", "-c", path)
	one.want(t, exitOK, "given up after 30", "")
	if strings.Contains(one.out, "msg_1") || !strings.Contains(one.out, "msg_3") || strings.Contains(one.out, "words") {
		t.Errorf("got\n%s", one.out)
	}
	call(t, "webhook", "list", "deploys", "--all", "-c", path).want(t, exitOK, "msg_1", "")
	call(t, "webhook", "list", "--all", "-c", path).want(t, exitUsage, "", "--all needs an ENDPOINT")

	call(t, "webhook", "replay", "-c", path).want(t, exitUsage, "", "either DELIVERY or --failed")
	refused := call(t, "webhook", "replay", "msg_1", "msg_3", "msg_none", "msg_old", "-c", path)
	refused.want(t, exitFailed, "", `there is no delivery "msg_none"`)
	refused.want(t, exitFailed, "", "msg_3 is still pending")
	refused.want(t, exitFailed, "", "msg_old is for removed, which is not configured")
	call(t, "webhook", "list", "deploys", "--all", "-c", path).want(t, exitOK, "delivered", "") // all or nothing
	call(t, "webhook", "replay", "msg_1", "-c", path).want(t, exitOK, "1 to be sent again", "")
	call(t, "webhook", "replay", "--failed", "deploys", "-c", path).want(t, exitOK, "1 to be sent again", "")

	call(t, "webhook", "enable", "deploys", "-c", path).want(t, exitOK, "Enabled deploys.", "")
	call(t, "webhook", "enable", "deploys", "-c", path).want(t, exitOK, "deploys was enabled", "")
	call(t, "webhook", "enable", "audit", "-c", path).want(t, exitOK, "Enabled audit.", "")
	call(t, "webhook", "enable", "removed", "-c", path).want(t, exitFailed, "", `webhooks has no endpoint "removed"`)
	claimed, err = store.Lane("deploys", bridge.SystemClock{}).ClaimEffects(ctx, time.Now().Add(time.Second), time.Minute, 10)
	if err != nil || len(claimed) != 3 {
		t.Errorf("%d are due, %v", len(claimed), err)
	}
}

// fail gives up what an endpoint is owed.
func fail(t *testing.T, ctx context.Context, store *sqlstore.Store, endpoint string, now time.Time) {
	t.Helper()
	lane := store.Lane(endpoint, bridge.SystemClock{})
	claimed, err := lane.ClaimEffects(ctx, now.Add(time.Second), time.Minute, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range claimed {
		if err := lane.FailEffect(ctx, f.ID, "given up"); err != nil {
			t.Fatal(err)
		}
	}
}
