package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"superpipeline.dev/question-bridge/schema"
)

func secretOf(fill string, n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, n)))
}

var secretNew, secretOld, secretOther = secretOf("n", 32), secretOf("o", 24), secretOf("x", 32)

const answeredEvent = `{"event": "question.answered", "question_id": "q_1", "state": "answered",
	"answer": {"value": "prod", "label": "Production", "text": null,
		"responder": {"id": "@alice:example.org", "display_name": "Alice"}, "answered_at": "2026-06-27T10:31:04Z"},
	"correlation_id": "rel-2.4", "reply_to": null, "data": {"build": 12345678901234567890},
	"delivery": {"state": "posted", "event_id": "$e", "reason": null},
	"room": {"name": "Ops", "code": "OPS"}, "timestamp": "2026-06-27T10:31:04Z", "of_a_later_version": true}`

// delivery is a request as a server sends it.
type delivery struct {
	body    string
	secrets []string  // that sign it
	at      time.Time // zero for now
	drop    string    // a header to leave out
}

func (d delivery) request(t testing.TB) *http.Request {
	t.Helper()
	if d.at.IsZero() {
		d.at = time.Now()
	}
	r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(d.body))
	var signatures []string
	for _, s := range d.secrets {
		key, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := key.Sign("msg_1", d.at, []byte(d.body))
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, signature)
	}
	r.Header.Set("webhook-id", "msg_1")
	r.Header.Set("webhook-timestamp", strconv.FormatInt(d.at.Unix(), 10))
	r.Header.Set("webhook-signature", strings.Join(signatures, " "))
	r.Header.Del(d.drop)
	return r
}

func hook(t testing.TB, secrets ...string) *Webhook {
	t.Helper()
	w, err := NewWebhook(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestReconcile(t *testing.T) {
	e, err := hook(t, secretNew).Reconcile(delivery{body: answeredEvent, secrets: []string{secretNew}}.request(t))
	if err != nil {
		t.Fatal(err)
	}
	correlation, ok := e.Correlation()
	by, _ := e.Responder()
	label, _ := e.Label()
	if e.ID != "msg_1" || e.Name != EventAnswered || e.QuestionID != "q_1" || !ok || correlation != "rel-2.4" || !e.Answered() ||
		!e.Chose("prod") || label != "Production" || by.ID != "@alice:example.org" || *e.Room.Code != "OPS" || e.Delivery.State != "posted" ||
		!e.At.Equal(time.Date(2026, 6, 27, 10, 31, 4, 0, time.UTC)) || e.Question != nil || string(e.Raw) != answeredEvent {
		t.Errorf("got %+v", e)
	}
	if fmt.Sprint(e.Data["build"]) != "12345678901234567890" {
		t.Errorf("data lost digits: %v", e.Data)
	}
}

// While a secret is changed, either side may be the first to have the new one.
func TestReconcileWhileTheSecretChanges(t *testing.T) {
	for name, c := range map[string]struct{ known, signing []string }{
		"the sender has both":   {[]string{secretOld}, []string{secretNew, secretOld}},
		"the receiver has both": {[]string{secretNew, secretOld}, []string{secretOld}},
		"new and new":           {[]string{secretOld, secretNew}, []string{secretNew}},
		"from a file":           {[]string{" " + secretNew + " \n"}, []string{secretNew}},
	} {
		if _, err := hook(t, c.known...).Reconcile(delivery{body: answeredEvent, secrets: c.signing}.request(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func said(value string) string { return strings.Replace(answeredEvent, `"prod"`, `"`+value+`"`, 1) }

func ended(state string) string {
	return `{"event": "question.` + state + `", "question_id": "q_1", "state": "` + state + `", "answer": null, "correlation_id": null,
		"reply_to": null, "data": null, "room": {"name": null, "code": null}, "timestamp": "2026-06-27T10:31:04Z", "cancelled_by": "asker"}`
}

// The three ends are as distinct in an event as they are after a wait.
func TestEndsOfEvents(t *testing.T) {
	for body, want := range map[string][3]bool{said("deny"): {true, false, false}, ended("expired"): {false, true, false}, ended("cancelled"): {false, false, true}} {
		e, err := hook(t, secretNew).Reconcile(delivery{body: body, secrets: []string{secretNew}}.request(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{e.Answered(), e.NoAnswer(), e.Withdrawn()}; got != want || e.Chose("deny") != want[0] {
			t.Errorf("%s: %v", e.Name, got)
		}
		if _, ok := e.Correlation(); ok != want[0] {
			t.Errorf("%s: a correlation id: %t", e.Name, ok)
		}
	}
}

func TestWhatIsNoEvent(t *testing.T) {
	edited := func(old, new string) string {
		if !strings.Contains(answeredEvent, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(answeredEvent, old, new, 1)
	}
	signed := []string{secretNew}
	tests := []struct {
		name   string
		send   delivery
		change func(*http.Request)
		want   WebhookCode
		status int
	}{
		{"another secret", delivery{body: answeredEvent, secrets: []string{secretOther}}, nil, CodeBadSignature, 401},
		{"no signature", delivery{body: answeredEvent}, nil, CodeBadSignature, 401},
		{"no id", delivery{body: answeredEvent, secrets: signed, drop: "webhook-id"}, nil, CodeBadSignature, 401},
		{"no timestamp", delivery{body: answeredEvent, secrets: signed, drop: "webhook-timestamp"}, nil, CodeBadSignature, 401},
		{"another id", delivery{body: answeredEvent, secrets: signed}, func(r *http.Request) { r.Header.Set("webhook-id", "msg_2") }, CodeBadSignature, 401},
		{"another body", delivery{body: answeredEvent, secrets: signed}, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(said("deny"))) }, CodeBadSignature, 401},
		{"no body", delivery{body: answeredEvent, secrets: signed}, func(r *http.Request) { r.Body = nil }, CodeBadSignature, 401},
		{"another body, and old", delivery{body: answeredEvent, secrets: []string{secretOther}, at: time.Now().Add(-time.Hour)}, nil, CodeBadSignature, 401},
		{"old", delivery{body: answeredEvent, secrets: signed, at: time.Now().Add(-time.Hour)}, nil, CodeOutOfTime, 401},
		{"a broken connection", delivery{body: answeredEvent, secrets: signed}, func(r *http.Request) { r.Body = io.NopCloser(broken{}) }, CodeMalformed, 400},
		{"large", delivery{body: strings.Repeat(" ", MaxWebhookBytes) + answeredEvent, secrets: signed}, nil, CodeTooLarge, 413},
		{"no JSON", delivery{body: "event", secrets: signed}, nil, CodeMalformed, 400},
		{"nothing", delivery{body: "", secrets: signed}, nil, CodeMalformed, 400},
		{"two documents", delivery{body: answeredEvent + "{}", secrets: signed}, nil, CodeMalformed, 400},
		{"no event", delivery{body: "{}", secrets: signed}, nil, CodeMalformed, 400},
		{"another state", delivery{body: edited(`"state": "answered"`, `"state": "expired"`), secrets: signed}, nil, CodeMalformed, 400},
		{"another end", delivery{body: strings.Replace(ended("expired"), "question.expired", "question.cancelled", 1), secrets: signed}, nil, CodeMalformed, 400},
		{"no question", delivery{body: edited(`"q_1"`, `""`), secrets: signed}, nil, CodeMalformed, 400},
		{"two answers", delivery{body: edited(`"text": null`, `"text": "no"`), secrets: signed}, nil, CodeMalformed, 400},
		{"no time", delivery{body: edited(`"timestamp": "2026-06-27T10:31:04Z"`, `"timestamp": "today"`), secrets: signed}, nil, CodeMalformed, 400},
		{"another shape", delivery{body: edited(`"q_1"`, `1`), secrets: signed}, nil, CodeMalformed, 400},
		{"a test", delivery{body: `{"event": "webhook.test", "endpoint": "a", "timestamp": "2026-06-27T10:31:04Z"}`, secrets: signed}, nil, CodeUnknownEvent, 204},
		{"a later event", delivery{body: `{"event": "question.reminded", "state": 7}`, secrets: signed}, nil, CodeUnknownEvent, 204},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.send.request(t)
			if tt.change != nil {
				tt.change(r)
			}
			e, err := hook(t, secretNew).Reconcile(r)
			var refused *WebhookError
			if e != nil || !errors.As(err, &refused) || refused.Code != tt.want || refused.Status() != tt.status {
				t.Fatalf("got %v, %v", e, err)
			}
			if refused.Ignorable() != (tt.want == CodeUnknownEvent) || (refused.Event != "") != refused.Ignorable() {
				t.Errorf("got %+v", refused)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The document gives no tolerance; Standard Webhooks leaves it at five minutes, either way.
func TestReconcileTolerates300Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for away, want := range map[time.Duration]bool{
			0: true, -300 * time.Second: true, 300 * time.Second: true, -301 * time.Second: false, 301 * time.Second: false,
		} {
			_, err := hook(t, secretNew).Reconcile(delivery{body: answeredEvent, secrets: []string{secretNew}, at: time.Now().Add(away)}.request(t))
			if (err == nil) != want {
				t.Errorf("%s away: %v", away, err)
			}
		}
		if WebhookTolerance != 300*time.Second {
			t.Errorf("it says %s", WebhookTolerance)
		}
	})
}

func TestSecretsThatAnybodyCouldGuess(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {secretNew, ""}, {secretOf("s", 23)}, {"whsec_not Base64"}} {
		if _, err := NewWebhook(secrets...); err == nil || strings.Contains(err.Error(), "not Base64") || strings.Contains(err.Error(), "c3Nz") {
			t.Errorf("%q: %v", secrets, err)
		}
	}
}

func TestHandler(t *testing.T) {
	var took []*Event
	var failure error
	h := hook(t, secretNew).Handler(func(ctx context.Context, e *Event) error {
		if ctx == nil || e == nil {
			t.Error("took nothing")
		}
		took = append(took, e)
		return failure
	})
	serve := func(r *http.Request, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status || w.Body.Len() > 0 {
			t.Errorf("answered %d %s, want %d", w.Code, w.Body, status)
		}
		return w
	}
	good := delivery{body: answeredEvent, secrets: []string{secretNew}}
	serve(good.request(t), 204)
	failure = errors.New("the disk is full")
	serve(good.request(t), 500)
	if len(took) != 2 || took[0].ID != took[1].ID || took[0].State != schema.Answered {
		t.Errorf("took %v", took)
	}
	serve(delivery{body: `{"event": "webhook.test"}`, secrets: []string{secretNew}}.request(t), 204)
	serve(delivery{body: answeredEvent, secrets: []string{secretOther}}.request(t), 401)
	serve(delivery{body: "{}", secrets: []string{secretNew}}.request(t), 400)
	get := good.request(t)
	get.Method = http.MethodGet
	if w := serve(get, 405); w.Header().Get("Allow") != "POST" {
		t.Errorf("allows %q", w.Header().Get("Allow"))
	}
	if len(took) != 2 {
		t.Errorf("took %d", len(took))
	}
}
