package matrix

import (
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// typing is a question with every kind of option that takes something typed.
func typing() bridge.Question {
	q := q1()
	input := func(required bool) *bridge.Input {
		return &bridge.Input{Kind: bridge.InputText, Label: "What", Required: required, MaxLength: 20}
	}
	q.Items[0].Options = []bridge.Option{
		{ID: "run_them", Label: "Run the tests", Meaning: bridge.Choose},
		{ID: "skip", Label: "Skip them", Meaning: bridge.Choose},
		{ID: "other", Label: "Something else", Meaning: bridge.Choose, Input: input(true)},
		{ID: "mirror", Label: "Use a mirror", Meaning: bridge.Choose, Input: &bridge.Input{Kind: bridge.InputURL, Required: true, MaxLength: 40}},
		{ID: "both", Label: "Revise", Meaning: bridge.Revise, NeedsComment: true, Input: input(true)},
		{ID: "note", Label: "With a note", Meaning: bridge.Choose, Input: input(false)},
		{ID: "why", Label: "No", Meaning: bridge.Reject, NeedsComment: true, Input: input(false)},
	}
	return q
}

// talk is what people do about one question, read by Parse alone; a prompt that it asks for is posted when the test says
// so.
type talk struct {
	t    *testing.T
	q    bridge.Question
	p    bridge.Posting
	seq  int64
	at   time.Time
	last bridge.InteractionID
}

func newTalk(t *testing.T, q bridge.Question) *talk {
	return &talk{t: t, q: q, at: testStart, p: bridge.Posting{Messages: []bridge.Message{{ID: "$q1", Seq: 1, PostedAt: testStart}}}, seq: 1}
}

// does reads what somebody did and gives it in a line, and takes the progress over.
func (k *talk) does(who string, act bridge.Act) string {
	k.seq++
	k.last = bridge.InteractionID("$" + who + strings.Repeat("'", int(k.seq)))
	user := bridge.UserID("@" + who + ":ex.org")
	reading := (&Service{}).Parse(bridge.Interaction{ID: k.last, Sender: user, SentAt: k.at, Seq: k.seq, Act: act}, k.q, k.p)
	partial, ok := reading.(bridge.Partial)
	if !ok {
		return line(reading)
	}
	k.p.Progress = partial.Progress
	if _, waits := progressOf(k.q, k.p).Waiting[user]; partial.Quiet && !waits {
		return "back"
	}
	return line(reading)
}

func (k *talk) says(who, text string) string {
	return k.does(who, bridge.Said{Text: text, Thread: "$q1"})
}

// prompt posts the prompt of somebody who waits, and its echo comes.
func (k *talk) prompt(who string) bridge.MessageID {
	user := bridge.UserID("@" + who + ":ex.org")
	w, ok := progressOf(k.q, k.p).Waiting[user]
	if !ok {
		k.t.Fatalf("%s does not wait", who)
	}
	k.seq++
	m := bridge.MessageID("$prompt" + string(w.about()))
	k.p.Asides = append(k.p.Asides, bridge.Aside{Message: bridge.Message{ID: m, PostedAt: k.at, Seq: k.seq}, To: user, About: w.about()})
	return m
}

func (k *talk) want(got, want string) {
	k.t.Helper()
	if got != want {
		k.t.Errorf("read as %s, want %s", got, want)
	}
}

// What is typed behind an option goes to its required input first, else to its comment, else to its optional input; what
// is missing then is asked for, one after the other.
func TestTypedBehindAnOption(t *testing.T) {
	for text, want := range map[string]string{
		"3: x": `other input "x"`, "3": "asks other", "Something else": "asks other", "other:": "-",
		"4: https://ex.org/a": `mirror input "https://ex.org/a"`, "4: ex.org": "refused input_invalid", "4: ftp://ex.org": "refused input_invalid",
		"3: " + strings.Repeat("é", 20): `other input "` + strings.Repeat("é", 20) + `"`, "3: " + strings.Repeat("x", 21): "refused text_too_long",
		"3: \u200b": "asks other",
		"5":         "asks both", "5: x": `asks both input "x"`,
		"6": "note", "6: x": `note input "x"`, "7": "asks why", "7: x": `why comment "x"`,
		"7: " + strings.Repeat("x", bridge.MaxComment+1): "refused text_too_long",
		"1: x": "-", "3 x": "-",
	} {
		if got := newTalk(t, typing()).says("dana", text); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

// What somebody types who was asked for it.
func TestTypedWhenAsked(t *testing.T) {
	for name, c := range map[string]struct{ choose, text, want string }{
		"a text":                  {"3", " the other one ", `other input "the other one"`},
		"a number without option": {"3", "9", `other input "9"`},
		"an option's number":      {"3", "2", "refused input_or_option"},
		"its own number":          {"3", "3", "refused input_or_option"},
		"a number with a dot":     {"3", "2.", "refused input_or_option"},
		"an option's label":       {"3", "skip them", "refused input_or_option"},
		"an option's id":          {"3", "run_them", "refused input_or_option"},
		"number and other label":  {"3", "2 run the tests", "refused input_or_option"},
		"the way out":             {"3", "3: 2", `other input "2"`},
		"another with text":       {"3", "7: too risky", `why comment "too risky"`},
		"cancel":                  {"3", "Cancel", "back"},
		"cancel with a dot":       {"3", "cancel.", "back"},
		"more than cancel":        {"3", "cancel it", `other input "cancel it"`},
		"as long as may be":       {"3", strings.Repeat("é", 20), `other input "` + strings.Repeat("é", 20) + `"`},
		"too long":                {"3", strings.Repeat("x", 21), "refused input_too_long"},
		"nothing":                 {"3", "  ", "refused input_missing"},
		"nothing to be seen":      {"3", "\u200b", "refused input_missing"},
		"a url":                   {"4", "https://ex.org", `mirror input "https://ex.org"`},
		"no url":                  {"4", "ex.org", "refused input_invalid"},
		"a comment":               {"7", "too risky", `why comment "too risky"`},
		"no comment":              {"7", "", "refused comment_missing"},
		"too long a comment":      {"7", strings.Repeat("x", bridge.MaxComment+1), "refused input_too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, typing())
			k.says("dana", c.choose)
			k.prompt("dana")
			k.want(k.says("dana", c.text), c.want)
			if strings.HasPrefix(c.want, "refused") { // and it is still waited for
				k.want(k.does("dana", bridge.Said{Text: "https://ok.org", ReplyTo: k.p.Asides[0].ID}), strings.NewReplacer("3", `other input "https://ok.org"`,
					"4", `mirror input "https://ok.org"`, "7", `why comment "https://ok.org"`).Replace(c.choose))
			}
		})
	}
}

// A reply to the prompt itself takes the text as it is.
func TestReplyToThePrompt(t *testing.T) {
	for _, text := range []string{"2", "cancel", "Skip them", "7: too risky", "dismiss"} {
		k := newTalk(t, typing())
		k.q.Dismissible = true
		k.says("dana", "3")
		m := k.prompt("dana")
		k.p.Asides[0].Seq = 0 // its echo has not come yet
		k.want(k.does("dana", bridge.Said{Text: text, Thread: "$q1", ReplyTo: m}), `other input "`+text+`"`)
	}
}

// Only that person's next text in the thread is taken, and only once they could see the prompt.
func TestWhoseTextIsTaken(t *testing.T) {
	k := newTalk(t, typing())
	k.want(k.says("dana", "3"), "asks other")
	k.want(k.says("dana", "hm, where is it"), "-") // the prompt is not posted yet
	k.want(k.says("dana", "2"), "skip")
	prompt := k.prompt("dana")
	k.want(k.says("sam", "the other one"), "-")
	k.want(k.says("sam", "2"), "skip")
	k.want(k.does("sam", bridge.Said{Text: "the other one", ReplyTo: prompt}), "-")
	k.want(k.does("dana", bridge.Said{Text: "the other one"}), "-")                  // not in the thread
	k.want(k.does("dana", bridge.Said{Text: "the other one", Corrects: "$hm"}), "-") // an edit
	k.want(k.does("dana", bridge.Said{NotText: true, Thread: "$q1"}), "refused input_invalid")
	k.want(k.does("dana", bridge.Reacted{To: "$q1", Key: "2️⃣"}), "skip")
	k.want(k.does("dana", bridge.Reacted{To: prompt, Key: "2️⃣"}), "-")
	k.want(k.does("dana", bridge.Submitted{To: "$q1", ElicitationID: "q_1", Option: "skip"}), "skip")
	k.want(k.does("dana", bridge.Said{Text: "a mirror", ReplyTo: "$q1"}), `other input "a mirror"`)

	k.want(k.says("sam", "3"), "asks other") // both wait
	sams := k.prompt("sam")
	k.want(k.does("dana", bridge.Said{Text: "sam's text", Thread: "$q1", ReplyTo: sams}), "-")
	k.want(k.says("dana", "dana's"), `other input "dana's"`)
	k.want(k.says("sam", "sam's"), `other input "sam's"`)
	k.p.Asides[0].PostedAt = k.at.Add(time.Second) // dana's text was sent before the prompt, and came after it
	k.want(k.says("dana", "dana's"), "-")
	k.p.Asides[0].PostedAt, k.p.Asides[0].Seq = k.at, k.seq+10 // or the other way round
	k.want(k.says("dana", "dana's"), "-")
}

// An option that is called cancel is no way back, and not guessed.
func TestAnOptionCalledCancel(t *testing.T) {
	q := typing()
	q.Items[0].Options[1].Label = "Cancel"
	k := newTalk(t, q)
	k.says("dana", "3")
	k.prompt("dana")
	k.want(k.says("dana", "cancel"), "refused input_or_option")
	k = newTalk(t, typing())
	k.want(k.says("dana", "cancel"), "-") // nobody waits
}

// A prompt waits for a quarter of an hour.
func TestPatience(t *testing.T) {
	k := newTalk(t, typing())
	k.says("dana", "3")
	prompt := k.prompt("dana")
	k.at = testStart.Add(patience)
	k.want(k.says("dana", "x"), `other input "x"`)
	k.at = k.at.Add(time.Second)
	k.want(k.says("dana", "x"), "-")
	k.want(k.says("dana", "cancel"), "-")
	k.want(k.does("dana", bridge.Said{Text: "x", ReplyTo: prompt}), "refused input_over")
	k.want(k.says("dana", "2"), "skip")
	k.want(k.says("dana", "3"), "asks other") // and again
	k.want(k.does("dana", bridge.Said{Text: "x", ReplyTo: prompt}), "refused input_over")
	k.prompt("dana")
	k.want(k.says("dana", "x"), `other input "x"`)
}

// Redacting what chose the option, or what was typed for it, goes back to the options; anything else does not.
func TestWithdrawnChoice(t *testing.T) {
	k := newTalk(t, typing())
	withdraw := func(who string, of bridge.InteractionID) string {
		return k.does(who, bridge.Withdrew{Original: bridge.MessageID(of)})
	}
	k.says("dana", "5")
	chosen := k.last
	k.prompt("dana")
	k.want(withdraw("dana", "$else"), "-")
	k.want(k.says("dana", "first"), `asks both input "first"`)
	typed := k.last
	for _, event := range []bridge.InteractionID{chosen, typed} {
		again := *k
		k.want(withdraw("root", event), "back")
		if n := len(progressOf(k.q, k.p).Waiting); n != 0 {
			t.Errorf("%d still wait", n)
		}
		*k = again
	}
	k.does("dana", bridge.Said{Text: "3", Corrects: "$slip"}) // chosen by an edit: the message is what they take back
	k.want(withdraw("dana", "$slip"), "back")
}

// An option that needs both is asked for one after the other; what was typed is kept, and a new choice begins anew.
func TestInputThenComment(t *testing.T) {
	k := newTalk(t, typing())
	k.want(k.says("dana", "5"), "asks both")
	k.prompt("dana")
	k.want(k.says("dana", "first"), `asks both input "first"`)
	typed := k.last
	k.want(k.says("dana", "too early"), "-")
	k.prompt("dana")
	k.want(k.does("dana", bridge.Said{Text: "2", Corrects: typed}), "-") // what was taken stands
	k.want(k.says("dana", "2"), "refused input_or_option")
	k.want(k.says("dana", "5: 2"), `both input "first" comment "2"`)
	k.want(k.says("dana", "second"), `both input "first" comment "second"`)
	k.want(k.does("dana", bridge.Reacted{To: "$q1", Key: "5️⃣"}), "asks both")
	k.prompt("dana")
	k.want(k.says("dana", "new"), `asks both input "new"`)
}

// The option that stands for the item's own text answers with the text alone, in one question and in a step of a set.
func TestTypedOptionOfAStep(t *testing.T) {
	q := q1()
	q.Items[0].Header = "tests"
	q.Items[0].Text = &bridge.TextInput{MaxLength: 500}
	q.Items[0].Options[2].ID, q.Items[0].Options[2].Typed = "_text", true
	single := newTalk(t, q)
	single.want(single.says("dana", "3"), "asks _text")
	single.prompt("dana")
	single.want(single.says("dana", "use a mirror"), `"use a mirror"`)
	single.want(single.does("dana", bridge.Submitted{To: "$q1", ElicitationID: "q_1", Option: "_text", Input: ptr("x")}), `"x"`)

	q.Items = append(q.Items, bridge.Item{Header: "branch", Text: &bridge.TextInput{MaxLength: 5}})
	k := newTalk(t, q)
	k.want(k.says("dana", "3: "+strings.Repeat("x", 501)), "refused text_too_long") // at once, not on the last step
	k.want(k.does("dana", bridge.Submitted{To: "$q1", ElicitationID: "q_1", Text: ptr(strings.Repeat("x", 501))}), "refused text_too_long")
	k.want(k.does("dana", bridge.Submitted{To: "$q1", ElicitationID: "q_1", Text: ptr(" ")}), "refused input_missing")
	k.want(k.does("dana", bridge.Submitted{To: "$q1", ElicitationID: "q_1", Option: "_text"}), "refused input_missing")
	k.want(k.says("dana", "3"), "asks _text")
	k.want(k.says("sam", "3"), "asks _text")
	k.prompt("dana")
	k.want(k.says("dana", "use a mirror"), `partial "use a mirror"`)
	if g := progressOf(q, k.p); g.Step != 1 || len(g.Waiting) != 0 {
		t.Errorf("the next step begins with %+v", g)
	}
	k.want(k.says("dana", "main"), `"use a mirror"/"main"`)
}

// Several options are chosen with commas between them; one that takes a text is chosen alone.
func TestMultipleWithText(t *testing.T) {
	q := typing()
	q.Items[0].Multiple = true
	q.Dismissible = true
	k := newTalk(t, q)
	for text, want := range map[string]string{
		"1, 2": "run_them+skip", "skip them, run_them": "run_them+skip", "1 and 2": "-", "1 2": "-", "1, 3": "refused invalid_option",
		"1, 6": "refused invalid_option", "1, Use a mirror": "refused invalid_option", "3": "asks other", "3, 3": "asks other",
		"3: x": `other input "x"`, "dismiss": "dismissed",
	} {
		k.want(newTalk(t, q).says("dana", text), want)
	}
	k.says("dana", "3")
	k.prompt("dana")
	k.want(k.says("dana", "1, 2"), "refused input_or_option")
	k.want(k.says("dana", "1, 3"), "refused input_or_option")
	k.want(k.says("dana", "dismiss"), "refused input_or_option")
	k.want(k.says("dana", "one, two"), `other input "one, two"`)
}
