package schema

import (
	"strings"
	"testing"
)

func TestSettledBody(t *testing.T) {
	e := &Elicitation{
		BoardID: "b", CardID: "c", CardTitle: "Upgrade <it>", Question: "May I?", DeepLink: "https://ex.org/",
		Options: []Option{{ID: "a", Label: "Approve", Meaning: Approve}, {ID: "d", Label: "Deny", Meaning: Reject}},
		Subject: &Subject{Preview: []PreviewItem{{Type: "text", Text: "secret"}}, PreviewComplete: true},
	}
	text, html := e.SettledBody("Answered by D\u202ena: Deny")
	if want := "Answered by D\\u{202E}na: Deny\n\nAn agent was waiting on you — \"Upgrade <it>\".\n\nMay I?\n\n1. Approve\n2. Deny"; text != want {
		t.Errorf("the text is %q, want %q", text, want)
	}
	if want := `<p><strong>Answered by D\u{202E}na: Deny</strong></p><p>An agent was waiting on you — "Upgrade &lt;it&gt;".</p><p>May I?</p><p>1. Approve<br>2. Deny</p>`; html != want {
		t.Errorf("the HTML is %q, want %q", html, want)
	}
}

// The head says in the past what it said while the question was open.
func TestSettledHeads(t *testing.T) {
	for want, e := range map[string]*Elicitation{
		`ci asked the room — "Build <7>".`:           {CardID: "q", CardTitle: "Build <7>", AskedBy: "ci"},
		"ci asked you.":                              {CardID: "q", CardTitle: DefaultCardTitle, AskedBy: "ci", ResponderScope: "direct"},
		"An agent was waiting on you at stage `qa`.": {BoardID: "b", CardID: "c", StageKey: "qa"},
		"A SuperToolkit approval request was waiting on a workspace owner or admin.": {
			BoardID: "b", ApprovalRequestID: "a", CardTitle: "Approval request",
		},
	} {
		text, _ := e.SettledBody("Expired.")
		if _, head, _ := strings.Cut(text, "\n\n"); head != want {
			t.Errorf("the head is %q, want %q", head, want)
		}
	}
}

func TestSentence(t *testing.T) {
	text, html := Sentence("a <b>\u200b")
	if text != `a <b>\u{200B}` || html != `<p>a &lt;b&gt;\u{200B}</p>` {
		t.Errorf("%q %q", text, html)
	}
	if got := ShownLine(" a\nb\u202e"); got != ` a b\u{202E}` {
		t.Errorf("%q", got)
	}
}
