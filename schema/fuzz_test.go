package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"superpipeline.dev/question-bridge/schema"
)

func FuzzDecode(f *testing.F) {
	read, built := readExamples(f), readBuilt(f)
	for _, list := range [][]example{read.Valid, read.Refused, built.Valid, built.Refused, readBodies(f)} {
		for _, c := range list {
			f.Add([]byte(c.Content))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		given := string(raw)
		e, err := decodeEvent(raw)
		if string(raw) != given {
			t.Fatal("decoding changed the bytes it was given")
		}
		again, errAgain := decodeEvent(raw)
		if !reflect.DeepEqual(e, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("decoding twice gives two results:\n%v\n%v", err, errAgain)
		}
		if err != nil {
			checkSaysNoValue(t, raw, faultsOf(t, err))
			return
		}
		for _, body := range []string{e.TextBody(), e.HTMLBody()} {
			if strings.TrimSpace(body) == "" {
				t.Fatal("an accepted event has no body")
			}
		}
		content, err := e.Build(schema.BuildOptions{})
		if err != nil {
			checkSaysNoValue(t, raw, faultsOf(t, err))
			return
		}
		if _, err := decodeEvent([]byte(canonicalTree(t, content))); err != nil {
			t.Fatalf("what was built is not accepted: %v", err)
		}
	})
}

// checkSaysNoValue wants no fault to repeat a text of the document. A location may name a property.
func checkSaysNoValue(t *testing.T, raw []byte, faults []schema.Fault) {
	t.Helper()
	const long = 16
	ours, err := schema.JSON("question.v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	_ = json.Unmarshal(raw, &v) // what cannot be read has no values
	var said strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&said, "%s\n%v\n", f.Reason, f.Limit)
	}
	for _, text := range texts(v) {
		for i := 0; i+long <= len(text); i += long {
			part := text[i : i+long]
			if strings.Contains(said.String(), part) && !strings.Contains(string(ours), part) && !spoken(part) {
				t.Fatalf("a fault repeats %q:\n%s", part, said.String())
			}
		}
	}
}

// spoken are words of our own that a document may happen to contain as well.
func spoken(part string) bool {
	return strings.Contains("an approval request without a subject: nothing to bind an approval to and has no option", part)
}

func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	}
	return out
}

// bodyShape is which kind of question FuzzBodies makes of the texts it is given.
const (
	asApproval = 1 << iota
	asCard
	hasSubject
	incomplete
	hasLink
	isDirect
	isTyped
)

func FuzzBodies(f *testing.F) {
	for _, c := range append(readBodies(f), readExamples(f).Valid...) {
		e := decodeDraft(f, c.Content)
		shape := 0
		for bit, on := range map[int]bool{
			asApproval: e.IsApprovalRequest(), asCard: e.BoardID != "", hasSubject: e.Subject != nil, incomplete: e.Incomplete(),
			hasLink: e.DeepLink != "", isDirect: e.ResponderScope == "direct", isTyped: e.FreeText != nil,
		} {
			if on {
				shape |= bit
			}
		}
		text := map[string]string{}
		for _, o := range e.Options {
			text["label"], text["id"] = o.Label, o.ID
		}
		if e.Subject != nil {
			for _, p := range e.Subject.Preview {
				for name, value := range map[string]string{"item": p.Label, "text": p.Text, "value": p.Value, "url": p.URL} {
					if value != "" {
						text[name] = value
					}
				}
			}
		}
		f.Add(shape, e.AskedBy, e.CardTitle, e.StageKey, e.Question, text["id"], text["label"], text["item"], text["text"], text["value"]+text["url"], e.DeepLink)
	}
	f.Fuzz(func(t *testing.T, shape int, asker, title, stage, question, id, label, item, text, value, link string) {
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") } // nothing else is ever decoded
		e := &schema.Elicitation{
			AskedBy: valid(asker), CardTitle: valid(title), StageKey: valid(stage), Question: valid(question), CardID: "crd_1",
			Options: []schema.Option{
				{ID: "allow", Label: "Allow", Meaning: schema.Approve},
				{ID: valid(id), Label: valid(label), Meaning: schema.Choose},
				{ID: "allow_always", Label: valid(label), Meaning: schema.Approve},
				{ID: "deny", Label: "Deny", Meaning: schema.Reject},
			},
		}
		on := func(bit int) bool { return shape&bit != 0 }
		if on(asCard) {
			e.BoardID = "brd_1"
		}
		if on(asApproval) {
			e.CardID, e.ApprovalRequestID = "", "apr_1"
		}
		if on(hasSubject) || on(asApproval) {
			e.Subject = &schema.Subject{PreviewComplete: !on(incomplete), Preview: []schema.PreviewItem{
				{Type: "text", Label: valid(item), Text: valid(text)},
				{Type: "field", Label: valid(item), Value: valid(value)},
				{Type: "link", Label: valid(item), URL: valid(value)},
				{Type: "text", Text: valid(text)},
			}}
		}
		if on(isTyped) && e.Subject == nil {
			e.Options, e.FreeText = nil, &schema.FreeText{MaxLength: 60}
		}
		if on(hasLink) {
			e.DeepLink = valid(link)
		}
		if on(isDirect) {
			e.ResponderScope = "direct"
		}
		checkBodies(t, e)
	})
}

func checkBodies(t *testing.T, e *schema.Elicitation) {
	t.Helper()
	body, html := e.TextBody(), e.HTMLBody()
	if body != strings.Trim(body, "\n") || body == "" {
		t.Fatalf("the body begins or ends with a line break: %q", body)
	}
	for _, r := range body {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r == '\u2028' || r == '\u2029' || r == '\u202e' || r == '\u200b' {
			t.Fatalf("%U stands in the body as it is: %q", r, body)
		}
	}
	if again := e.TextBody(); again != body {
		t.Fatalf("two bodies of one event:\n%q\n%q", body, again)
	}
	if got, want := plainBody(textOfHTML(t, html)), plainBody(body); got != want {
		t.Fatalf("the HTML says something else:\ngot  %q\nwant %q\nhtml %s", got, want, html)
	}
	checkOptionLines(t, e)
}

// checkOptionLines wants one line for each option that is listed, in order, with its number, and no other such line.
// The texts that may have several lines are taken out for that: a question may look like anything.
func checkOptionLines(t *testing.T, e *schema.Elicitation) {
	t.Helper()
	short := *e
	short.Question = "Q"
	if e.Subject != nil {
		subject := *e.Subject
		subject.Preview = append([]schema.PreviewItem(nil), subject.Preview...)
		for i := range subject.Preview {
			subject.Preview[i] = schema.PreviewItem{Type: "field", Label: "L", Value: subject.Preview[i].Value}
		}
		short.Subject = &subject
	}
	listed := e.Listed()
	lines := strings.Split(short.TextBody(), "\n")[1:] // the first is the head
	next := 0
	for _, line := range lines {
		digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
		if digits == 0 || !strings.HasPrefix(line[digits:], ". ") {
			continue
		}
		if next >= len(listed) || line != fmt.Sprintf("%d. %s", listed[next].Number, listed[next].Label) {
			t.Fatalf("line %q is not an option: %q", line, lines)
		}
		next++
	}
	if next != len(listed) {
		t.Fatalf("%d options listed, %d lines: %q", len(listed), next, lines)
	}
	for i, o := range listed {
		if o.Option.ID != e.Options[o.Number-1].ID || i > 0 && o.Number <= listed[i-1].Number {
			t.Fatalf("option %d has number %d", i, o.Number)
		}
		if e.Incomplete() == (o.Option.Meaning == schema.Approve) && e.Incomplete() {
			t.Fatalf("option %d approves what is not fully shown", o.Number)
		}
	}
}
