package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
)

// scrape reads the metrics: the value of each series, by its name and labels as they stand there.
func scrape(t *testing.T, address string) (series map[string]float64, text string) {
	t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	series = map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		at := strings.LastIndexByte(line, ' ')
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64); err == nil && line[0] != '#' {
			series[line[:at]] = value
		}
	}
	return series, string(raw)
}

// waitForSeries scrapes until a series has a value.
func (s *site) waitForSeries(address, name string, value float64) {
	s.t.Helper()
	for {
		series, text := scrape(s.t, address)
		if got, ok := series[name]; ok && got == value {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
			s.t.Fatalf("%s never is %v:\n%s", name, value, text)
		}
	}
}

// webhookTo configures a webhook of every room.
func webhookTo(t *testing.T, address string) string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "deploys.secret")
	writeFile(t, secret, call(t, "webhook", "secret").out)
	return "webhooks: [{name: deploys, rooms: ['*'], url: \"" + address + "\", secrets: [{file: \"" + secret + "\"}]}]\negress: {allow: [127.0.0.1]}\n"
}

// What happened on a real homeserver is counted, and no metric says who did it, where, or what they wrote.
func TestMetrics(t *testing.T) {
	at := freeAddress(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	s := newSite(t, "metrics: {listen: \""+at+"\"}\n"+webhookTo(t, receiver.URL))
	bridge := s.serve()
	q, event := s.ask("Is the well poisoned?")
	waiting := make(chan error, 1)
	go func() {
		_, err := s.client().Await(s.ctx, q.ID)
		waiting <- err
	}()
	s.waitForSeries(at, "question_waits", 1)
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.ok(<-waiting)
	withdrawn, _ := s.ask("Or is it the bucket?")
	_, err = s.client().Cancel(s.ctx, withdrawn.ID)
	s.ok(err)
	s.ask("Shall we drink?")
	stranger, err := client.New(client.Config{Server: s.api, Token: "qb_nobody"})
	s.ok(err)
	_, err = stranger.Fetch(s.ctx, q.ID)
	if err == nil {
		t.Error("a stranger may read")
	}
	resp, err := http.Get(s.api + "/wp-login.php")
	s.ok(err)
	_ = resp.Body.Close()

	for name, want := range map[string]float64{
		"question_asked_total":                                                     3,
		`question_settled_total{state="answered"}`:                                 1,
		`question_settled_total{state="cancelled"}`:                                1,
		`question_settled_total{state="expired"}`:                                  0,
		"question_reply_settle_seconds_count":                                      1,
		"question_waits":                                                           0,
		"question_homeserver_limited_total":                                        0,
		"question_database_up":                                                     1,
		"question_pending":                                                         1,
		"question_outbox_effects":                                                  0,
		"question_inbox_events":                                                    0,
		`question_webhook_deliveries{endpoint="deploys",state="pending"}`:          0,
		`question_webhook_attempt_seconds_count{endpoint="deploys",result="done"}`: 2,
		`question_effect_seconds_count{kind="settled",result="done"}`:              2,
		`question_effect_seconds_count{kind="render",result="done"}`:               3,
		`question_http_request_seconds_count{listener="api",route="POST /api/agent/rooms/{room}/questions",status="201"}`: 3,
		`question_http_request_seconds_count{listener="api",route="POST /api/agent/questions/{id}/cancel",status="200"}`:  1,
		`question_http_request_seconds_count{listener="api",route="GET /api/agent/questions/{id}",status="401"}`:          1,
		`question_http_request_seconds_count{listener="api",route="none",status="404"}`:                                   1,
	} {
		s.waitForSeries(at, name, want) // what is done may be counted a moment later, and what waits is looked up now and then
	}
	series, text := scrape(t, at)
	for _, name := range []string{
		`question_http_request_seconds_count{listener="appservice",route="PUT /_matrix/app/v1/transactions/{txnID}",status="200"}`,
		"question_database_size_bytes", "question_reply_settle_seconds_sum", "go_goroutines", "process_open_fds",
	} {
		if series[name] <= 0 {
			t.Errorf("%s is %v", name, series[name])
		}
	}
	for _, secret := range []string{s.room, "question.test", "alice", "bob", "Alice", "Bob", "OPS", "Ops", q.ID, event.ID, "well", "wp-login", s.token} {
		if strings.Contains(text, secret) {
			t.Errorf("the metrics say %q", secret)
		}
	}
	bridge.stop()
}
