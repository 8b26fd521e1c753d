package client

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

const token = "tok_secret"

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func stamp(t time.Time) schema.Timestamp { return schema.Timestamp(t.UTC().Format(time.RFC3339)) }

// pendingQuestion is a question as a server gives it.
func pendingQuestion(id string) schema.Question {
	return schema.Question{
		ID: id, Kind: "question", Prompt: "Deploy?",
		Options: []schema.QuestionOption{
			{Value: "approve", Label: "Yes", Style: schema.StylePrimary, Primary: true},
			{Value: "deny", Label: "No", Style: schema.StyleDanger, Destructive: true},
		},
		ResponderScope: "room", ResolutionPolicy: "first", State: schema.Pending,
		ExpiresAt: stamp(epoch.Add(time.Hour)), CreatedAt: stamp(epoch),
	}
}

func answeredQuestion(id, value, label string) schema.Question {
	q := pendingQuestion(id)
	at := stamp(epoch.Add(time.Minute))
	q.State, q.ResolvedAt = schema.Answered, &at
	q.Answer = &schema.Answer{Value: &value, Label: &label, Responder: schema.Responder{ID: "@alice:example.org"}, AnsweredAt: at}
	return q
}

func endedQuestion(id string, state schema.State) schema.Question {
	q := pendingQuestion(id)
	at := stamp(epoch.Add(time.Hour))
	q.State, q.ResolvedAt = state, &at
	return q
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// reply is one response.
type reply struct {
	status int
	body   string
	header map[string]string
	after  time.Duration // how long it is held
	err    error         // in place of a response
}

func ok(t testing.TB, v any) reply { return reply{status: http.StatusOK, body: mustJSON(t, v)} }

func problemReply(status int, body string) reply {
	return reply{status: status, body: body, header: map[string]string{"Content-Type": "application/problem+json"}}
}

// script is a transport that gives one reply after the other, the last one again and again, and keeps the requests.
type script struct {
	replies []reply
	asked   []*http.Request
	bodies  []string
	at      []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	next := s.replies[min(len(s.asked), len(s.replies)-1)]
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.asked, s.bodies, s.at = append(s.asked, r), append(s.bodies, string(body)), append(s.at, time.Now())
	if next.after > 0 {
		select {
		case <-time.After(next.after):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if next.err != nil {
		return nil, next.err
	}
	w := httptest.NewRecorder()
	for k, v := range next.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(next.status)
	io.WriteString(w, next.body)
	return w.Result(), nil
}

// scripted is a client of a script.
func scripted(t testing.TB, s *script, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Server: "https://api.example.org", Token: token, HTTPClient: &http.Client{Transport: s}}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefusesAConfigurationThatCannotWork(t *testing.T) {
	tests := []struct{ name, server, token, want string }{
		{"no server", "", token, "no server address"},
		{"no scheme", "api.example.org", token, "not an http or https URL"},
		{"another scheme", "ftp://api.example.org", token, "not an http or https URL"},
		{"no host", "https://", token, "not an http or https URL"},
		{"a password", "https://me:secret@api.example.org", token, "user name or password"},
		{"a query", "https://api.example.org?x=1", token, "query"},
		{"no token", "https://api.example.org", "", "no token"},
		{"a token with a line break", "https://api.example.org", "tok_secret\n", "the token holds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Config{Server: tt.server, Token: tt.token})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestNewLeavesTheHTTPClientOfTheCallerAlone(t *testing.T) {
	h := &http.Client{Timeout: time.Second}
	if _, err := New(Config{Server: "https://api.example.org", Token: token, HTTPClient: h}); err != nil {
		t.Fatal(err)
	}
	if h.Timeout != time.Second || h.CheckRedirect != nil {
		t.Error("it was changed")
	}
}
