package matrix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// q1 is the question of the field cases: three options, of which the last takes a text.
func q1() bridge.Question {
	return bridge.Question{
		ID: "q_1", ElicitationID: "q_1", Conversation: "!ops:ex.org", State: bridge.Pending, Scope: bridge.Room,
		Items: []bridge.Item{{Prompt: "May I?", Options: []bridge.Option{
			{ID: "run_them", Label: "Run the tests", Meaning: bridge.Choose},
			{ID: "skip", Label: "Skip them", Meaning: bridge.Choose},
			{ID: "other", Label: "Something else", Meaning: bridge.Choose, Input: &bridge.Input{Kind: "text", Required: true, MaxLength: 500}},
		}}},
	}
}

func yesNo() bridge.Question {
	q := q1()
	q.Items = []bridge.Item{{Prompt: "May I?", Options: []bridge.Option{
		{ID: "approve", Label: "Approve", Meaning: bridge.Approve}, {ID: "deny", Label: "Deny", Meaning: bridge.Reject},
	}}}
	return q
}

func freeText() bridge.Question {
	q := q1()
	q.Items = []bridge.Item{{Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 10}}}
	return q
}

// readAs writes a reading in one line.
func readAs(q bridge.Question, p bridge.Posting, a bridge.Act) string {
	return line((&Service{}).Parse(bridge.Interaction{Act: a}, q, p))
}

// line writes a reading in one line.
func line(reading bridge.Reading) string {
	switch r := reading.(type) {
	case bridge.Ignored:
		return "-"
	case bridge.Dismissed:
		out := "dismissed"
		if r.Talk {
			out += " by talk"
		}
		return strings.TrimSpace(out + " " + r.Reason)
	case bridge.Refused:
		return "refused " + string(r.Code)
	case bridge.Partial:
		if r.Quiet {
			return "asks " + choiceOf(r.Choice)
		}
		return "partial " + choiceOf(r.Choice)
	case bridge.Chosen:
		return choiceOf(r.Choice)
	default:
		return fmt.Sprintf("%T", r)
	}
}

func choiceOf(c bridge.Choice) string {
	var parts []string
	for _, item := range c.Items {
		var ids []string
		for _, id := range item.Selected {
			ids = append(ids, string(id))
		}
		part := strings.Join(ids, "+")
		if item.Text != nil {
			part += fmt.Sprintf("%q", *item.Text)
		}
		parts = append(parts, part)
	}
	out := strings.Join(parts, "/")
	if c.Input != nil {
		out += fmt.Sprintf(" input %q", *c.Input)
	}
	if c.Comment != nil {
		out += fmt.Sprintf(" comment %q", *c.Comment)
	}
	return out
}

func checkSaid(t *testing.T, q bridge.Question, want map[string]string) {
	t.Helper()
	for text, w := range want {
		if got := readAs(q, bridge.Posting{}, bridge.Said{Text: text, Thread: "$q1"}); got != w {
			t.Errorf("%q is read as %s, want %s", text, got, w)
		}
	}
}

func TestParseReply(t *testing.T) {
	checkSaid(t, q1(), map[string]string{
		"2": "skip", "SKIP them": "skip", "run_them": "run_them", "4": "refused out_of_range", "2. Run the tests": "refused ambiguous",
		"3": "asks other", "3: use a mirror": `other input "use a mirror"`, "hello": "-", "": "-", "dismiss": "-",
	})
	if got := readAs(q1(), bridge.Posting{}, bridge.Said{NotText: true, Thread: "$q1"}); got != "refused not_text" {
		t.Errorf("a picture is read as %s", got)
	}
}

// B6: only the whole reply counts.
func TestB6(t *testing.T) {
	want := map[string]string{"Approve.": "approve", "approve": "approve"}
	for _, talk := range []string{
		"no, don't approve", "disallow", "not ok", "Approve? never", "I would approve if tests passed", "2 of the tests failed, why?",
		"ok", "yes", "Approve\nor not", "approve it", `"Approve"`, "**Approve**", "/skip", "cancel",
	} {
		want[talk] = "-"
	}
	checkSaid(t, yesNo(), want)
}

// A6: the same keycap in all its spellings, and what is none.
func TestParseA6(t *testing.T) {
	for key, want := range map[string]string{
		"2️⃣": "skip", "2⃣": "skip", "2": "skip", "Skip them": "skip", "#️⃣": "-", "0️⃣": "-", "4️⃣": "-", "22": "-", "🔟": "-",
		"mxc://ex.org/abc": "-", "👍": "-", "3️⃣": "asks other", "3: x": "-",
	} {
		if got := readAs(q1(), bridge.Posting{}, bridge.Reacted{To: "$q1", Key: key}); got != want {
			t.Errorf("%q is read as %s, want %s", key, got, want)
		}
	}
}

func TestParseFreeText(t *testing.T) {
	checkSaid(t, freeText(), map[string]string{
		" main ": `"main"`, "2": `"2"`, "yes": `"yes"`, "漢漢漢漢漢漢漢漢漢漢": `"漢漢漢漢漢漢漢漢漢漢"`, "12345678901": "refused text_too_long", " \u200b ": "-",
	})
	carried := freeText()
	carried.Carried = &bridge.Carried{By: "@c:ex.org", Message: "$c"}
	checkSaid(t, carried, map[string]string{"main": "-"})
	carried.Carried.FreeTextReplies = true
	checkSaid(t, carried, map[string]string{"main": `"main"`})
	if got := readAs(freeText(), bridge.Posting{}, bridge.Reacted{To: "$q1", Key: "1️⃣"}); got != "-" {
		t.Errorf("a reaction to a text question is read as %s", got)
	}
}

func TestParseTypedOption(t *testing.T) {
	q := q1()
	q.Items[0].Text = &bridge.TextInput{MaxLength: 60}
	q.Items[0].Options[2].Typed = true
	checkSaid(t, q, map[string]string{"3: use a mirror": `"use a mirror"`, "3": "asks other", "1": "run_them"})
}

func TestParseDismiss(t *testing.T) {
	q := q1()
	q.Dismissible = true
	checkSaid(t, q, map[string]string{"Dismiss": "dismissed", "please dismiss": "-"})
	q.Items[0].Multiple = true
	checkSaid(t, q, map[string]string{"dismiss": "dismissed", "1, 2": "run_them+skip"})
	q.Items[0].Options[1].Label = "Dismiss"
	checkSaid(t, q, map[string]string{"dismiss": "skip"})
	text := freeText()
	checkSaid(t, text, map[string]string{"dismiss": `"dismiss"`})
	text.Dismissible = true
	checkSaid(t, text, map[string]string{"dismiss": "dismissed", "dismiss it": `"dismiss it"`})
}

// Any direct reply to a question of the Question Queue ends it: one option answers, a phrase that declines and whatever else
// is no answer cool it. A deflection goes first. (Question Queue, "Answer recognition".)
func TestParseRationed(t *testing.T) {
	q := yesNo()
	q.Rationed = true
	q.Items[0].Options = []bridge.Option{{ID: "1", Label: "Yes", Meaning: bridge.Choose}, {ID: "2", Label: "No", Meaning: bridge.Choose}}
	checkSaid(t, q, map[string]string{
		"yes": "1", "YES!": "1", "2": "2", "(2)": "2", "2. no": "2", "Not sure.": "dismissed cooled", "skip": "dismissed cooled",
		"I don’t know": "dismissed cooled", "yes and no": "dismissed by talk cooled", "3": "dismissed by talk cooled", "what is this": "dismissed by talk cooled",
	})
	if got := readAs(q, bridge.Posting{}, bridge.Said{NotText: true, Thread: "$q1"}); got != "dismissed by talk cooled" {
		t.Errorf("a picture is read as %s", got)
	}
	for text, want := range map[string]string{"hello": "-", "skip": "dismissed cooled", "2": "2"} {
		if got := readAs(q, bridge.Posting{}, bridge.Said{Text: text, Corrects: "$r"}); got != want {
			t.Errorf("corrected to %q it is read as %s, want %s", text, got, want)
		}
		over := q
		over.State = bridge.Answered
		if got := readAs(over, bridge.Posting{}, bridge.Said{Text: text, Thread: "$q1"}); got != want {
			t.Errorf("afterwards %q is read as %s, want %s", text, got, want)
		}
	}
	if got := readAs(q, bridge.Posting{}, bridge.Reacted{To: "$q1", Key: "👍"}); got != "-" {
		t.Errorf("a reaction is read as %s", got)
	}
}

func TestParseMultiple(t *testing.T) {
	q := q1()
	q.Items[0].Multiple = true
	checkSaid(t, q, map[string]string{
		"2": "skip", "2, 1": "run_them+skip", "1,1": "run_them", "skip; run_them": "run_them+skip", "1, 9": "refused out_of_range",
		"1, then we see": "-", "1 2": "-",
	})
	if got := readAs(q, bridge.Posting{}, bridge.Reacted{To: "$q1", Key: "1️⃣"}); got != "-" {
		t.Errorf("a reaction to a multiple choice is read as %s", got)
	}
}

func TestParseSet(t *testing.T) {
	q := yesNo()
	q.Items = append(q.Items, freeText().Items[0])
	q.Items[0].Header, q.Items[1].Header = "go", "branch"
	r, ok := (&Service{}).Parse(bridge.Interaction{Act: bridge.Said{Text: "1", Thread: "$q1"}}, q, bridge.Posting{}).(bridge.Partial)
	if !ok || r.Quiet {
		t.Fatalf("the first step is %#v", r)
	}
	p := bridge.Posting{Progress: r.Progress}
	if got := readAs(q, p, bridge.Said{Text: "main", Thread: "$q1"}); got != `approve/"main"` {
		t.Errorf("the last step is read as %s", got)
	}
	if got := readAs(q, p, bridge.Submitted{To: "$q2", ElicitationID: "q_1", Text: ptr("main")}); got != "refused structured_invalid" {
		t.Errorf("an answer to the step before is read as %s", got)
	}
	if got := readAs(q, p, bridge.Submitted{To: "$q2", ElicitationID: "q_1/2", Text: ptr("main")}); got != `approve/"main"` {
		t.Errorf("a structured answer is read as %s", got)
	}
	for _, broken := range []string{`{"step":7}`, `{"step":1}`, `{"step":-1}`, `7`, ``} {
		if got := progressOf(q, bridge.Posting{Progress: json.RawMessage(broken)}); !reflect.DeepEqual(got, progress{}) {
			t.Errorf("%q is progress %#v", broken, got)
		}
	}
}

func TestParseStructured(t *testing.T) {
	for _, c := range []struct {
		act  bridge.Submitted
		want string
	}{
		{bridge.Submitted{ElicitationID: "q_1", Option: "skip"}, "skip"},
		{bridge.Submitted{ElicitationID: "q_1", Option: "other", Input: ptr("x"), Comment: ptr("y")}, `other input "x" comment "y"`},
		{bridge.Submitted{ElicitationID: "q_2", Option: "skip"}, "refused structured_invalid"},
		{bridge.Submitted{ElicitationID: "q_1", Option: "Skip them"}, "refused invalid_option"},
		{bridge.Submitted{Invalid: "no"}, "refused structured_invalid"},
	} {
		if got := readAs(q1(), bridge.Posting{}, c.act); got != c.want {
			t.Errorf("%+v is read as %s, want %s", c.act, got, c.want)
		}
	}
}

// What came in clear in an encrypted room chooses nothing that matters.
func TestParseExposed(t *testing.T) {
	s := &Service{}
	for _, c := range []struct {
		act  bridge.Act
		want bridge.Reading
	}{
		{bridge.Said{Text: "2", Thread: "$q1"}, bridge.Ignored{}},
		{bridge.Submitted{ElicitationID: "q_1", Option: "deny"}, bridge.Ignored{}},
	} {
		if got := s.Parse(bridge.Interaction{Act: c.act, Exposed: true}, yesNo(), bridge.Posting{}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v is read as %#v", c.act, got)
		}
	}
	if _, ok := s.Parse(bridge.Interaction{Act: bridge.Reacted{Key: "1️⃣"}, Exposed: true}, yesNo(), bridge.Posting{}).(bridge.Refused); !ok {
		t.Error("a clear reaction approved")
	}
	if _, ok := s.Parse(bridge.Interaction{Act: bridge.Reacted{Key: "2️⃣"}, Exposed: true}, yesNo(), bridge.Posting{}).(bridge.Chosen); !ok {
		t.Error("a clear reaction could not decline")
	}
}

func TestReactions(t *testing.T) {
	numbers := func(q bridge.Question) string { return fmt.Sprint((reader{q: q, item: q.Items[0]}).reactions()) }
	if got := numbers(q1()); got != "[1 2]" {
		t.Errorf("an option that needs a text has a reaction: %s", got)
	}
	bound := yesNo()
	bound.Subject = &bridge.Subject{Complete: true}
	if got := numbers(bound); got != "[2]" {
		t.Errorf("a subject is approved by reaction: %s", got)
	}
	admin := q1()
	admin.Items[0].Options[0].Requires = bridge.RequiresWorkspaceAdmin
	if got := numbers(admin); got != "[2]" {
		t.Errorf("an option for admins has a reaction: %s", got)
	}
	one := q1()
	one.Items[0].Options = one.Items[0].Options[:1]
	if got := numbers(one); got != "[]" {
		t.Errorf("a single option has a reaction: %s", got)
	}
}

func ptr(s string) *string { return &s }
