package schema

import "testing"

func TestSettledBody(t *testing.T) {
	e := &Elicitation{
		BoardID: "b", CardID: "c", CardTitle: "Upgrade <it>", Question: "May I?", DeepLink: "https://ex.org/",
		Options: []Option{{ID: "a", Label: "Approve", Meaning: Approve}, {ID: "d", Label: "Deny", Meaning: Reject}},
		Subject: &Subject{Preview: []PreviewItem{{Type: "text", Text: "secret"}}, PreviewComplete: true},
	}
	text, html := e.SettledBody("Answered by D\u202ena: Deny")
	if want := "Answered by D\\u{202E}na: Deny\n\nUpgrade <it>\n\nMay I?\n\n1. Approve\n2. Deny"; text != want {
		t.Errorf("the text is %q, want %q", text, want)
	}
	if want := `<p>Answered by D\u{202E}na: Deny</p><p>Upgrade &lt;it&gt;</p><p>May I?</p><p>1. Approve<br>2. Deny</p>`; html != want {
		t.Errorf("the HTML is %q, want %q", html, want)
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
