package dialect_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

func jsonWith(answer string) []byte {
	return []byte(strings.Replace(answer, ":R,", `:{"id":"@dana:example.org","display_name":"Dana"},`, 1))
}

func adopt(t *testing.T, content string) bridge.Question {
	t.Helper()
	e, err := schema.Decode[schema.Elicitation]([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	q, err := dialect.FromElicitation(e, dialect.AdoptContext{
		Agent: "agentpod", Carrier: "@pod:example.org", Message: "$q", Conversation: "!r:example.org", Now: now, FreeTextReplies: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAdoption(t *testing.T) {
	content := replaced(t, corpus(t, "built: a question with two"), func(e map[string]any) {
		e["body"] = "their own words"
		e["options"].([]any)[1].(map[string]any)["label"] = " "
		e["deep_link"] = "matrix:r/x" // we would not build it; carried, it is only text
		e["m.mentions"] = map[string]any{}
		e["x"] = []any{1, map[string]any{"y": "z"}}
	})
	q := adopt(t, content)
	if q.Asker != "agentpod" || q.Carried == nil || *q.Carried != (bridge.Carried{By: "@pod:example.org", Message: "$q", FreeTextReplies: true}) {
		t.Errorf("%+v", q)
	}
	if q.Delivery != (bridge.Delivery{State: bridge.Posted, Message: "$q"}) || q.Scope != bridge.Room || q.State != bridge.Pending {
		t.Errorf("%+v", q)
	}
	if got := q.ExpiresAt.Sub(q.CreatedAt); got != 7*24*time.Hour {
		t.Errorf("lives %v", got)
	}
	if o := q.Items[0].Options[1]; o.Label != string(o.ID) {
		t.Errorf("a blank label is called %q", o.Label)
	}
	e, err := dialect.Elicitation(q, 0)
	if err != nil || e.Body != "their own words" {
		t.Errorf("body %q, %v: a body that we only carry is never rewritten", e.Body, err)
	}
	if !strings.Contains(string(q.Content), `"x":[1,{"y":"z"}]`) || strings.Contains(string(q.Content), "m.mentions") {
		t.Errorf("content %s", q.Content)
	}
	if again := adopt(t, content); again.Digest != q.Digest || again.ID == q.ID {
		t.Error("the same event is another question")
	}
	if other := adopt(t, strings.Replace(content, "their own words", "other words", 1)); other.Digest == q.Digest {
		t.Error("a carrier's other body is the same question")
	}
	if document := dialect.ToQuestion(q); *document.CorrelationID != q.ElicitationID {
		t.Errorf("correlation %v", *document.CorrelationID)
	}
}

func TestCorrelationOfALongElicitationID(t *testing.T) {
	for length, want := range map[int]bool{255: true, 256: false} {
		q := asked(t, replaced(t, corpus(t, "built: a question with two"), func(e map[string]any) {
			e["elicitation_id"] = strings.Repeat("é", length)
		}))
		if (q.CorrelationID != nil) != want || utf8.RuneCountInString(q.ElicitationID) != length {
			t.Errorf("%d characters: correlation %v", length, q.CorrelationID)
		}
	}
}

func TestElicitationRefusesWhatIsNotThere(t *testing.T) {
	q := asked(t, `{"prompt":"Go?"}`)
	for _, item := range []int{-1, 1} {
		if _, err := dialect.Elicitation(q, item); err == nil {
			t.Errorf("item %d exists", item)
		}
	}
	v2 := asked(t, corpus(t, "deadline:"))
	v2.Content = []byte(`{}`)
	if _, err := dialect.Elicitation(v2, 0); err == nil {
		t.Error("an empty content is an event")
	}
	if document := dialect.ToQuestion(v2); document.Prompt != v2.Items[0].Prompt {
		t.Error("a question whose content is lost shows nothing")
	}
}

// TestStyleOnlyFromTheThree ignores a style that is none, and follows the meaning then.
func TestStyleOnlyFromTheThree(t *testing.T) {
	q := asked(t, replaced(t, corpus(t, "subject-bound"), func(e map[string]any) {
		options := e["options"].([]any)
		options[0].(map[string]any)["style"] = "#ff0000"
		options[1].(map[string]any)["style"] = "danger"
	}))
	got := ""
	for _, o := range q.Items[0].Options {
		got += o.Style + " "
	}
	if got != "primary danger default danger " {
		t.Errorf("styles %s", got)
	}
}
