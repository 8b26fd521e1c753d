package dialect_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

var now = time.Date(2026, 11, 1, 9, 0, 0, 123456789, time.UTC)

const (
	apiExamples   = "../../fixtures/api/examples.json"
	eventExamples = "../../fixtures/matrix-events/examples.json"
)

func askContext() dialect.AskContext {
	return dialect.AskContext{Asker: "ci", AskedBy: "CI", Conversation: "!r:example.org", Now: now}
}

// asked is the question that an ask body asks.
func asked(t *testing.T, body string) bridge.Question {
	t.Helper()
	q, err := ask(t, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return q
}

func ask(t *testing.T, body string) (bridge.Question, error) {
	t.Helper()
	a, err := schema.DecodeAsk([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return dialect.FromAsk(a, askContext())
}

// refusedAt gives the faults of an ask that decodes and yet cannot be asked.
func refusedAt(t *testing.T, body string) []schema.Fault {
	t.Helper()
	_, err := ask(t, body)
	var r *schema.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%.200s: not refused: %v", body, err)
	}
	return r.Faults
}

type example struct {
	Case    string
	Content json.RawMessage
}

func examples(t *testing.T, file, kind string) []example {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct{ Valid []example }
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	if len(corpus[kind].Valid) == 0 {
		t.Fatalf("%s has no valid %s", file, kind)
	}
	return corpus[kind].Valid
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	raw, err := schema.CanonicalJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func text(s string) *string { return &s }

// answered settles a question by a choice, as the engine would.
func answered(q bridge.Question, c bridge.Choice, labels ...[]string) bridge.Question {
	at := now.Add(time.Minute)
	q.State, q.SettledAt = bridge.Answered, &at
	q.Answer = &bridge.Answer{Choice: c, Labels: labels, By: bridge.Responder{ID: "@dana:example.org", DisplayName: "Dana"}, At: at}
	return q
}
