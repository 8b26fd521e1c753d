package dialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// TestEveryAskBuilds asks every valid ask of the fixtures: each step is an event that we may send, and the question is a
// valid document.
func TestEveryAskBuilds(t *testing.T) {
	for _, c := range examples(t, apiExamples, "question-protocol-1.1/ask") {
		t.Run(c.Case, func(t *testing.T) {
			q := asked(t, string(c.Content))
			for i := range q.Items {
				e, err := dialect.Elicitation(q, i)
				if err != nil {
					t.Fatal(err)
				}
				event, err := e.Build(schema.BuildOptions{Mentions: []string{"@federica:example.org"}})
				if err != nil {
					t.Fatal(err)
				}
				read, err := schema.Decode[schema.Elicitation]([]byte(canonical(t, event)))
				if err != nil {
					t.Fatalf("the event does not read back: %v", err)
				}
				if read.Body != e.Body {
					t.Errorf("body %q was built, %q given", read.Body, e.Body)
				}
			}
			raw, err := json.Marshal(dialect.ToQuestion(q))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.Decode[schema.Question](raw); err != nil {
				t.Fatalf("not a valid question: %v\n%s", err, raw)
			}
		})
	}
}

// TestElicitationsRoundTrip asks every valid event of the corpus: what is posted is what was given.
func TestElicitationsRoundTrip(t *testing.T) {
	for _, c := range examples(t, eventExamples, schema.EventType) {
		t.Run(c.Case, func(t *testing.T) {
			q := asked(t, string(c.Content))
			if len(q.Warnings) > 0 {
				t.Errorf("warnings %q", q.Warnings)
			}
			if got, want := string(q.Content), canonical(t, c.Content); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			adopted := adopt(t, string(c.Content))
			again := asked(t, string(adopted.Content))
			if again.Digest != q.Digest {
				t.Error("asking for what was adopted is another question")
			}
		})
	}
}

func TestTimes(t *testing.T) {
	q := asked(t, `{"prompt":"Go?","ttl":45}`)
	if want := time.Date(2026, 11, 1, 9, 0, 0, 123e6, time.UTC); !q.CreatedAt.Equal(want) {
		t.Errorf("created at %v, which is not whole milliseconds", q.CreatedAt)
	}
	if got := q.ExpiresAt.Sub(q.CreatedAt); got != 45*time.Second {
		t.Errorf("lives %v", got)
	}
	if got := q.ForgetAfter.Sub(q.CreatedAt); got != 90*24*time.Hour {
		t.Errorf("kept %v", got)
	}
	if q.State != bridge.Pending || q.Delivery.State != bridge.Queued || q.ElicitationID != string(q.ID) {
		t.Errorf("%+v", q)
	}
	v2 := corpus(t, "subject-bound")
	q = asked(t, v2)
	if q.Subject == nil || !q.Subject.Complete || q.Subject.LapsesAt == nil || q.Subject.LapsesAt.Format(time.RFC3339) != "2026-11-07T10:30:00Z" {
		t.Errorf("subject %+v", q.Subject)
	}
	if got := q.ExpiresAt.Sub(q.CreatedAt); got != 7*24*time.Hour {
		t.Errorf("a v2 question lives %v: the subject's expiry is not its own", got)
	}
	offset := strings.Replace(v2, `"2026-11-07T10:30:00.000Z"`, `"2026-11-07T12:30:00.123456789012+02:00"`, 1)
	if got := asked(t, offset).Subject.LapsesAt; !got.Equal(time.Date(2026, 11, 7, 10, 30, 0, 123e6, time.UTC)) {
		t.Errorf("lapses at %v", got)
	}
	never := strings.Replace(v2, `"2026-11-07T10:30:00.000Z"`, `null`, 1)
	if got := asked(t, never).Subject.LapsesAt; got != nil {
		t.Errorf("lapses at %v", got)
	}
	empty := replaced(t, v2, func(e map[string]any) { e["subject"].(map[string]any)["preview"] = []any{} })
	if asked(t, empty).Subject.Complete {
		t.Error("an empty preview counts as complete")
	}
	q = asked(t, corpus(t, "deadline:"))
	if q.EscalateAt == nil || q.EscalateAt.Format(time.RFC3339) != "2026-11-08T18:00:00Z" || q.RemindAt != nil {
		t.Errorf("deadline %v %v", q.RemindAt, q.EscalateAt)
	}
}

func TestDigest(t *testing.T) {
	v2 := corpus(t, "built: a question with two options")
	with := func(change func(map[string]any)) string { return replaced(t, v2, change) }
	base := asked(t, v2)
	if other := asked(t, v2); other.Digest != base.Digest || other.ID == base.ID {
		t.Error("an equal ask has another digest, or the same id")
	}
	later := func(body string) bridge.Question {
		a, err := schema.DecodeAsk([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		q, err := dialect.FromAsk(a, dialect.AskContext{Asker: "ci", AskedBy: "New name", Conversation: "!r:example.org", Now: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	same := map[string]string{
		"another ttl":       with(func(e map[string]any) { e["ttl"] = 60 }),
		"another body":      with(func(e map[string]any) { e["body"] = "click here" }),
		"what is dropped":   with(func(e map[string]any) { e["m.mentions"] = map[string]any{} }),
		"the default terms": with(func(e map[string]any) { e["responder_scope"] = "room" }),
	}
	for name, body := range same {
		if later(body).Digest != base.Digest {
			t.Errorf("%s makes another question", name)
		}
	}
	other := map[string]string{
		"another label":       strings.Replace(v2, `"Skip them"`, `"Skip"`, 1),
		"a property":          with(func(e map[string]any) { e["x"] = 1 }),
		"another correlation": with(func(e map[string]any) { e["correlation_id"] = "c" }),
		"data":                with(func(e map[string]any) { e["data"] = map[string]any{} }),
		"a target":            with(func(e map[string]any) { e["target_user_id"] = "@a:b" }),
	}
	for name, body := range other {
		if asked(t, body).Digest == base.Digest {
			t.Errorf("%s does not make another question", name)
		}
	}
	a, _ := schema.DecodeAsk([]byte(v2))
	elsewhere, err := dialect.FromAsk(a, dialect.AskContext{Asker: "ci", Conversation: "!other:example.org", Now: now})
	if err != nil || elsewhere.Digest == base.Digest {
		t.Error("the same question in another room is the same question", err)
	}
	one, two := asked(t, `{"prompt":"a","data":{"n":12345678901234567890}}`), asked(t, `{"prompt":"a","data":{"n":12345678901234567891}}`)
	if one.Digest == two.Digest {
		t.Error("numbers that differ beyond a float64 are the same")
	}
	if again := asked(t, `{"data":{"n":12345678901234567890},"prompt":"a"}`); again.Digest != one.Digest {
		t.Error("the digest of a core question depends on its id or the order of its properties")
	}
}

func TestDataKeepsItsDigits(t *testing.T) {
	q := asked(t, `{"prompt":"Go?","data":{"z":1.50,"big":12345678901234567890,"html":"<b>&","deep":[{"n":1e3}]}}`)
	want := `{"big":12345678901234567890,"deep":[{"n":1e3}],"html":"<b>&","z":1.50}`
	if string(q.Data) != want {
		t.Errorf("kept %s", q.Data)
	}
	raw, err := json.Marshal(dialect.ToQuestion(q).Data)
	if err != nil || string(raw) != `{"big":12345678901234567890,"deep":[{"n":1e3}],"html":"\u003cb\u003e\u0026","z":1.50}` {
		t.Errorf("shown %s, %v", raw, err)
	}
	if q := asked(t, `{"prompt":"Go?","data":{}}`); dialect.ToQuestion(q).Data == nil {
		t.Error("an empty object came back as null")
	}
}

// TestRefusedLocations checks that what only building finds is blamed on what the asker wrote (field case A20).
func TestRefusedLocations(t *testing.T) {
	huge := strings.Repeat("漢", 4000)
	tests := []struct {
		name, body string
		rule       schema.Rule
		at         string
	}{
		{"NUL in the prompt", `{"prompt":"a\u0000b"}`, schema.RuleNUL, "/prompt"},
		{"NUL in the context", `{"prompt":"a","context":"\u0000b"}`, schema.RuleNUL, "/context"},
		{"NUL in a label", `{"prompt":"a","options":["x",{"value":"y","label":"Skip\u0000them"}]}`, schema.RuleNUL, "/options/1/label"},
		{"NUL in a value", `{"prompt":"a","options":["x",{"value":"y\u0000","label":"Y"}]}`, schema.RuleNUL, "/options/1/value"},
		{"NUL in a bare option", `{"prompt":"a","options":["x","y\u0000"]}`, schema.RuleNUL, "/options/1"},
		{"NUL in the placeholder", `{"prompt":"a","options":["x","y"],"text_input":{"placeholder":"\u0000"}}`, schema.RuleNUL, "/text_input/placeholder"},
		{"NUL in the correlation", `{"prompt":"a","correlation_id":"\u0000"}`, schema.RuleNUL, "/correlation_id"},
		{"NUL in reply_to", `{"prompt":"a","reply_to":"\u0000"}`, schema.RuleNUL, "/reply_to"},
		{"NUL in the target", `{"prompt":"a","target_user_id":"@a\u0000:b"}`, schema.RuleNUL, "/target_user_id"},
		{"NUL in a header", `{"items":[{"header":"H\u0000","prompt":"p","options":["a"]}]}`, schema.RuleNUL, "/items/0/header"},
		{"NUL in an item", `{"items":[{"header":"H","prompt":"p","options":["a"]},{"header":"I","prompt":"p\u0000","options":["a"]}]}`, schema.RuleNUL, "/items/1/prompt"},
		{"NUL in an item's label", `{"items":[{"header":"H","prompt":"p","options":[{"value":"a","label":"A\u0000"}]}]}`, schema.RuleNUL, "/items/0/options/0/label"},
		{"NUL in a set's prompt", `{"prompt":"\u0000","items":[{"header":"H","prompt":"p","options":["a"]}]}`, schema.RuleNUL, "/prompt"},
		{"a label that shows nothing", `{"prompt":"a","options":["x",{"value":"y","label":"\u200b"}]}`, schema.RuleLabel, "/options/1/label"},
		{"a v2 label that is blank", strings.Replace(corpus(t, "built: a question with two"), `"Skip them"`, `" "`, 1), schema.RuleLabel, "/options/1/label"},
		{"a v2 deep link", strings.Replace(corpus(t, "built: a question with two"), `"deep_link":"https:`, `"deep_link":"javascript:`, 1), schema.RuleDeepLink, "/deep_link"},
		{"a v2 number", replaced(t, corpus(t, "built: a question with two"), func(e map[string]any) { e["x"] = 1.5 }), schema.RuleInteger, "/x"},
		{"a v2 preview that is too large", replaced(t, corpus(t, "approval-request"), func(e map[string]any) {
			var preview []any
			for range 5 {
				preview = append(preview, map[string]any{"type": "text", "text": huge})
			}
			e["subject"].(map[string]any)["preview"] = preview
		}), schema.RuleSize, "/subject/preview/0/text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if f := refusedAt(t, tt.body)[0]; f.Rule != tt.rule || f.Location != tt.at {
				t.Errorf("refused by %s", f)
			}
		})
	}
}

// TestA20ASetTooLargeForAnEvent has the largest labels that the schema allows.
func TestA20ASetTooLargeForAnEvent(t *testing.T) {
	var options []string
	for i := range 20 {
		options = append(options, fmt.Sprintf(`{"value":"%d","label":"%02d%s"}`, i, i, strings.Repeat(`\ud83d\ude00`, 198)))
	}
	body := `{"items":[{"header":"H","prompt":"p","options":["a"]},{"header":"I","prompt":"` + strings.Repeat(`\u6f22`, 500) + `","options":[` + strings.Join(options, ",") + `]}]}`
	a, err := schema.DecodeAsk([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	q, err := dialect.FromAsk(a, askContext())
	if err != nil { // refusing is fine, cutting is not
		return
	}
	e, err := dialect.Elicitation(q, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Build(schema.BuildOptions{}); err != nil {
		t.Errorf("accepted, and yet cannot be built: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for body, want := range map[string]int{
		`{"prompt":"1. a line","text_input":{}}`:                                         0, // no options to confuse it with
		`{"prompt":"In 2024: go?"}`:                                                      0,
		`{"prompt":"١) arabic"}`:                                                         1,
		`{"prompt":"a","options":["2","1"]}`:                                             1,
		`{"prompt":"a","options":["1","2"]}`:                                             0,
		`{"prompt":"a","options":[{"value":"x","label":"y"},{"value":"y","label":"x"}]}`: 1,
		`{"prompt":"a","options":["Straße","STRASSE"]}`:                                  1,
		`{"items":[{"header":"A","prompt":"a","options":["2","b"]},{"header":"B","prompt":"1. b","options":["x"]}]}`: 2,
	} {
		if got := asked(t, body).Warnings; len(got) != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	q := asked(t, `{"items":[{"header":"A","prompt":"a","options":["x"]},{"header":"B","prompt":"1. b","options":["x"]}]}`)
	if !slices.Equal(q.Warnings, []string{"item 2: line 1 of the question's text looks like an option"}) {
		t.Errorf("%q", q.Warnings)
	}
}

// corpus gives the first event of the corpus whose case begins so, without white space.
func corpus(t *testing.T, begins string) string {
	t.Helper()
	for _, c := range examples(t, eventExamples, schema.EventType) {
		if strings.HasPrefix(c.Case, begins) {
			return canonical(t, c.Content)
		}
	}
	t.Fatalf("no case begins with %q", begins)
	return ""
}

func replaced(t *testing.T, body string, change func(map[string]any)) string {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatal(err)
	}
	change(e)
	return canonical(t, e)
}
