package schema_test

import (
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

func TestDeadlineWithAnImpossibleOffset(t *testing.T) {
	for name, at := range map[string]string{
		"a deadline with the offset +24:00": "2026-11-30T10:00+24:00",
		"a deadline with the offset +05:60": "2026-11-30T10:00:00+05:60",
	} {
		t.Run(name, func(t *testing.T) {
			raw := replaced(t, readExamples(t).Valid[4].Content, "2026-11-08T18:00:00.000Z", at)
			_, err := decodeDraft(t, raw).Build(schema.BuildOptions{})
			checkRefused(t, err, schema.RuleDeadline, "/deadline/escalate_at", "deadline")
		})
	}
}

func TestDeepLinkThatBreaksWhenEncoded(t *testing.T) {
	e := decodeDraft(t, replaced(t, readExamples(t).Valid[0].Content, `"deep_link": "https://superpipeline.dev/b/brd_7c1f/c/crd_51d0"
`, `"deep_link": "https://\""
`))
	if strings.Contains(e.TextBody(), "%22") {
		t.Errorf("the body is %q", e.TextBody())
	}
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
				t.Fatal(err)
			}
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
			t.Errorf("%s %q", f.Rule, f.Location)
		}
	})
	t.Run("from Go, text that is not UTF-8", func(t *testing.T) {
		e := plain()
		e.Question = "Go\xff on?"
		_, err := e.Build(schema.BuildOptions{})
		checkRefused(t, err, schema.RuleJSON, "/question", "utf8")
	})
}
