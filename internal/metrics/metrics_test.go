package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"superpipeline.dev/question-bridge/bridge"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func since(ago time.Duration) *time.Time {
	at := start.Add(-ago)
	return &at
}

var waits = bridge.Load{
	Pending: 7, Outbox: bridge.Backlog{Waiting: 3, Oldest: since(time.Minute)}, Inbox: bridge.Backlog{Waiting: 2, Oldest: since(2 * time.Second)},
	Bytes: 4096, LogBytes: 512,
	Webhooks: []bridge.HooksLoad{{Endpoint: "ci", Pending: bridge.Backlog{Waiting: 1, Oldest: since(time.Hour)}, Failed: 4}, {Endpoint: "old", Disabled: true}},
}

// all is metrics in which everything there is was counted once.
func all(load Loader) *Metrics {
	m := New("v1")
	m.Watch(Sources{Load: load, Waits: func() int { return 5 }})
	m.Asked()
	m.Settled(bridge.Answered)
	m.Replied(time.Second)
	m.Effect(bridge.EffectRender, "done", time.Second)
	m.Webhook("ci", "failed", time.Second)
	m.Limited()
	m.Request(Request{"api", "GET /api/questions/{id}", 200, time.Second})
	return m
}

func loaded(context.Context, time.Time) (bridge.Load, error) { return waits, nil }

// Names, units and types are as Prometheus wants them.
func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(all(loaded).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every metric of ours is in the operator's manual, and nothing is there that is not.
func TestEveryMetricIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(question_[a-z_]+)").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	families, err := all(loaded).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), namespace+"_") && !documented[f.GetName()] {
			t.Errorf("docs/operations.md does not list %s", f.GetName())
		}
		delete(documented, f.GetName())
	}
	for name := range documented {
		t.Errorf("docs/operations.md lists %s, which there is not", name)
	}
}

func TestLoad(t *testing.T) {
	asked := 0
	c := newLoadCollector(func(ctx context.Context, now time.Time) (bridge.Load, error) {
		asked++
		if _, ok := ctx.Deadline(); !ok || !now.Equal(start) {
			t.Errorf("asked at %v, without an end: %t", now, !ok)
		}
		return waits, nil
	})
	c.now = func() time.Time { return start }
	const want = `
		# HELP question_outbox_effects What is owed in rooms and not done.
		# TYPE question_outbox_effects gauge
		question_outbox_effects 3
		# HELP question_outbox_oldest_seconds How long the oldest of what is owed in rooms has been; 0 if nothing is.
		# TYPE question_outbox_oldest_seconds gauge
		question_outbox_oldest_seconds 60
		# HELP question_webhook_deliveries Events that an endpoint is owed (pending), or that were given up and are kept (failed).
		# TYPE question_webhook_deliveries gauge
		question_webhook_deliveries{endpoint="ci",state="failed"} 4
		question_webhook_deliveries{endpoint="ci",state="pending"} 1
		question_webhook_deliveries{endpoint="old",state="failed"} 0
		question_webhook_deliveries{endpoint="old",state="pending"} 0
		# HELP question_webhook_disabled 1 for an endpoint that answered 410 Gone and is sent nothing, else 0.
		# TYPE question_webhook_disabled gauge
		question_webhook_disabled{endpoint="ci"} 0
		question_webhook_disabled{endpoint="old"} 1
		# HELP question_webhook_oldest_seconds How long the oldest event that an endpoint is owed has been; 0 if it is owed none.
		# TYPE question_webhook_oldest_seconds gauge
		question_webhook_oldest_seconds{endpoint="ci"} 3600
		question_webhook_oldest_seconds{endpoint="old"} 0
	`
	for range 3 {
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), "question_outbox_effects", "question_outbox_oldest_seconds",
			"question_webhook_deliveries", "question_webhook_disabled", "question_webhook_oldest_seconds"); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("the store was asked %d times", asked)
	}
	c.now = func() time.Time { return start.Add(loadKept) }
	c.load = func(context.Context, time.Time) (bridge.Load, error) { return bridge.Load{}, errors.New("no database") }
	if n := testutil.CollectAndCount(c); n != 1 {
		t.Errorf("%d metrics are made up without a database", n)
	}
}

// A request is counted by the route that it matched, never by its path; what is asked for elsewhere makes no new series.
func TestRequests(t *testing.T) {
	m := New("v1")
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("id") {
		case "bad":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusBadRequest)
		case "silent":
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	h := m.Requests("appservice", mux)
	for _, path := range []string{"/things/a", "/things/b", "/things/bad", "/things/silent", "/wp-login.php", "/things/a/b"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, path, nil))
	}
	var got []string
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "question_http_request_seconds" {
			continue
		}
		for _, series := range f.GetMetric() {
			line := ""
			for _, l := range series.GetLabel() {
				line += l.GetValue() + " "
			}
			got = append(got, line+strings.Repeat("I", int(series.GetHistogram().GetSampleCount())))
		}
	}
	want := []string{
		"appservice PUT /things/{id} 200 III", "appservice PUT /things/{id} 400 I", "appservice none 404 II",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
