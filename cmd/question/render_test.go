package main

import (
	"encoding/json"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// formattedEvent is the event with a formatted_body, of which a part may be replaced.
func formattedEvent(t *testing.T, old, new string) string {
	t.Helper()
	e, err := schema.Decode[schema.Elicitation]([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.HTMLBody(), old) {
		t.Fatalf("no %q in %s", old, e.HTMLBody())
	}
	html, err := json.Marshal(strings.Replace(e.HTMLBody(), old, new, 1))
	if err != nil {
		t.Fatal(err)
	}
	return edited(t, `"msgtype"`, `"formatted_body": `+string(html)+`, "msgtype"`)
}

func TestRender(t *testing.T) {
	draft := edited(t, `"body": `+eventBody+`,`, "")
	html := call{args: []string{"render", "--html"}, stdin: event}.run(t).out
	if !strings.Contains(html, "<") || !strings.HasSuffix(html, "\n") {
		t.Errorf("--html gives %q", html)
	}
	tests := []struct {
		name string
		args string
		in   string
		want result
	}{
		{"the body and one newline", "render", event, result{0, eventText, ""}},
		{"a body other than its own", "render", edited(t, "1. Yes", "1. No"), result{0, eventText, ""}},
		{"an event that lacks its body", "render -", draft, result{0, eventText, ""}},
		{"HTML of an event that lacks its body", "render --html", draft, result{0, html, ""}},
		{"an event that lacks more", "render", edited(t, `"stage_key": "build", `, ""), result{1, "", "schema  (the whole document)  lacks stage_key\n"}},
		{"no such file", "render e.json", "", result{2, "", "question: cannot read e.json: no such file or directory\n"}},
		{"check, same", "render --check", event, result{0, "same\n", ""}},
		{"check, nothing to check", "render --check", draft, result{1, "", "schema  (the whole document)  lacks body\n"}},
		{
			"check, other character", "render --check", edited(t, "1. Yes", "1. Yep"),
			result{1, `body differs at line 5, column 6: the event has "p\n\nReply with the number, or the option'"… (U+0070), ` +
				`rendered is "s\n\nReply with the number, or the option'"… (U+0073)` + "\n", ""},
		},
		{
			"check, shorter", "render --check", edited(t, "(https://example.org/c/1)", ""),
			result{1, `body differs at line 7, column 61: the event has nothing more, ` +
				`rendered is "(https://example.org/c/1)" (U+0028)` + "\n", ""},
		},
		{
			"check, longer", "render --check", edited(t, "/c/1)\"", "/c/1)\\u00a0\""),
			result{1, `body differs at line 7, column 86: the event has "\u00a0" (U+00A0), rendered is nothing more` + "\n", ""},
		},
		{"check of HTML, none there", "render --check --html", event, result{1, "the event has no formatted_body\n", ""}},
		{"check of HTML, same", "render --check --html", formattedEvent(t, "", ""), result{0, "same\n", ""}},
		{"check of text beside other HTML", "render --check", formattedEvent(t, "Go on?", "Stop?"), result{0, "same\n", ""}},
		{
			"check of HTML that is no text", "render --check --html",
			edited(t, `"msgtype"`, `"formatted_body": 7, "msgtype"`), result{1, "formatted_body is not text\n", ""},
		},
		{
			"check of HTML under a name in capitals", "render --check --html",
			edited(t, `"msgtype"`, `"Formatted_Body": 7, "msgtype"`), result{1, "the event has no formatted_body\n", ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (call{args: strings.Fields(tt.args), stdin: tt.in}).run(t); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
	t.Run("check of HTML, different", func(t *testing.T) {
		got := call{args: []string{"render", "--check", "--html"}, stdin: formattedEvent(t, "Go on?", "Stop?")}.run(t)
		want{1, "formatted_body differs at line 1, column ", ""}.check(t, got)
	})
}
