package schema_test

import (
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// departures are the cases that the rules decide one way and the code another, each with what is wrong. A case that
// holds after all fails its test until it is taken off the list.
var departures = map[string]string{
	"16 a variation selector behind a letter shows nothing":               "a variation selector behind a letter is printed unseen",
	"16 a supplementary variation selector behind a letter shows nothing": "a variation selector behind a letter is printed unseen",
	"09 a line separator cannot begin a line":                             "U+2028 in a deep link is printed as it is",
	"a deadline with the offset +24:00":                                   "time.Parse accepts an offset of 24 hours",
	"a deadline with the offset +05:60":                                   "time.Parse accepts an offset of 60 minutes",
	"a body of characters that show nothing":                              "only white space counts as blank",
	"a deep link whose host is a quotation mark":                          "what is encoded is not read again, and names no host any more",
	"from Go, no options":                                                 "a nil list becomes null",
	"from Go, many signs that HTML escapes":                               "json.Marshal makes six bytes of each, and the limit of reading refuses them",
	"from Go, too large":                                                  "the limit of reading refuses it and names no field",
	"from Go, text that is not UTF-8":                                     "it is replaced without a word",
}

// departs fails the test, or skips it if the departure is known.
func departs(t *testing.T, name, format string, args ...any) {
	t.Helper()
	if why := departures[name]; why != "" {
		t.Skip("departure: ", why)
	}
	t.Errorf(format, args...)
}

func holds(t *testing.T, name string) {
	t.Helper()
	if departures[name] != "" {
		t.Errorf("%s holds now: take it off the list of departures", name)
	}
}

func TestBodyThatShowsNothing(t *testing.T) {
	const name = "a body of characters that show nothing"
	e := decodeDraft(t, readExamples(t).Valid[0].Content)
	raw := replaced(t, readExamples(t).Valid[0].Content, canonicalTree(t, e.Body), `"\u200b\ufeff\u2060"`)
	_, err := decodeEvent(raw)
	if err == nil {
		departs(t, name, "accepted")
		return
	}
	holds(t, name)
	checkRefused(t, err, schema.RuleBody, "/body", "body")
}

func TestDeadlineWithAnImpossibleOffset(t *testing.T) {
	for name, at := range map[string]string{
		"a deadline with the offset +24:00": "2026-11-30T10:00+24:00",
		"a deadline with the offset +05:60": "2026-11-30T10:00:00+05:60",
	} {
		t.Run(name, func(t *testing.T) {
			raw := replaced(t, readExamples(t).Valid[4].Content, "2026-11-08T18:00:00.000Z", at)
			_, err := decodeDraft(t, raw).Build(schema.BuildOptions{})
			if err == nil {
				departs(t, name, "built")
				return
			}
			holds(t, name)
			checkRefused(t, err, schema.RuleDeadline, "/deadline/escalate_at", "deadline")
		})
	}
}

func TestDeepLinkThatBreaksWhenEncoded(t *testing.T) {
	const name = "a deep link whose host is a quotation mark"
	e := decodeDraft(t, replaced(t, readExamples(t).Valid[0].Content, `"deep_link": "https://superpipeline.dev/b/brd_7c1f/c/crd_51d0"
`, `"deep_link": "https://\""
`))
	if strings.Contains(e.TextBody(), "%22") {
		departs(t, name, "the body is %q", e.TextBody())
		return
	}
	holds(t, name)
}

// An elicitation that a program writes, and does not decode, is built by the same rules.
func TestBuildFromGo(t *testing.T) {
	plain := func() *schema.Elicitation {
		return &schema.Elicitation{
			MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1, ElicitationID: "elc_1", CardID: "elc_1",
			CardTitle: schema.DefaultCardTitle, AskedBy: "deploy-bot", Question: "Go on?",
			Options: []schema.Option{{ID: "go", Label: "Go on", Meaning: schema.Approve}, {ID: "stop", Label: "Stop", Meaning: schema.Reject}},
		}
	}
	subject := func(items ...schema.PreviewItem) *schema.Subject {
		return &schema.Subject{ID: "sub_1", Digest: "d1", Schema: "acme-plan/v3", Revision: 1, Preview: items, PreviewComplete: true}
	}
	for _, c := range []struct {
		name string
		edit func(e *schema.Elicitation)
	}{
		{"from Go, plain", func(e *schema.Elicitation) {}},
		{"from Go, a subject", func(e *schema.Elicitation) { e.Subject = subject(schema.PreviewItem{Type: "text", Text: "x"}) }},
		{"from Go, no options", func(e *schema.Elicitation) { e.Options, e.FreeText = nil, &schema.FreeText{MaxLength: 60} }},
		{"from Go, an empty preview text", func(e *schema.Elicitation) { e.Subject = subject(schema.PreviewItem{Type: "text"}) }},
		{"from Go, an empty field label and value", func(e *schema.Elicitation) { e.Subject = subject(schema.PreviewItem{Type: "field"}) }},
		{"from Go, many signs that HTML escapes", func(e *schema.Elicitation) {
			item := schema.PreviewItem{Type: "text", Text: strings.Repeat("<", 4000)}
			e.Subject = subject(item, item, item)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := plain()
			c.edit(e)
			built, err := e.Build(schema.BuildOptions{})
			if err != nil {
				departs(t, c.name, "%v", err)
				return
			}
			holds(t, c.name)
			if _, err := decodeEvent([]byte(canonicalTree(t, built))); err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("from Go, too large", func(t *testing.T) {
		e := plain()
		e.Question = strings.Repeat("漢", 30000)
		_, err := e.Build(schema.BuildOptions{})
		if err == nil {
			t.Fatal("built")
		}
		if f := faultsOf(t, err)[0]; f.Rule != schema.RuleSize || f.Location != "/question" {
			departs(t, "from Go, too large", "%s %q", f.Rule, f.Location)
			return
		}
		holds(t, "from Go, too large")
	})
	t.Run("from Go, text that is not UTF-8", func(t *testing.T) {
		e := plain()
		e.Question = "Go\xff on?"
		if _, err := e.Build(schema.BuildOptions{}); err == nil {
			departs(t, "from Go, text that is not UTF-8", "built")
			return
		}
		holds(t, "from Go, text that is not UTF-8")
	})
}
