package matrix

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// field is one field case on the real homeserver. The order of a room's events is kept, so whatever is said before the
// answer has been read by the time that the answer is known.
type field struct {
	*real
	room string
}

// say sends a message, given as JSON, and gives its event id.
func (f *field) say(u *testserver.User, content string) string {
	return f.send(u, "m.room.message", content)
}

func (f *field) send(u *testserver.User, eventType, content string) string {
	f.t.Helper()
	id, err := u.SendEvent(within(f.t), f.room, eventType, json.RawMessage(content))
	noError(f.t, err)
	return id
}

func (f *field) react(u *testserver.User, m, key string) string {
	return f.send(u, "m.reaction", fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":%q,"key":%q}}`, m, key))
}

// expect waits for the outcome of a question, and for no more words of the bridge about it than hints.
func (f *field) expect(q bridge.Question, m string, want string, hints int) {
	f.t.Helper()
	if o := f.outcome(f.room, string(q.ID)); o["option_id"] != want {
		f.t.Errorf("answered %v, want %s", o["option_id"], want)
	}
	all, err := f.alice.Messages(within(f.t), f.room)
	noError(f.t, err)
	told := 0
	for _, e := range all {
		if e.Sender != string(f.Bot()) || e.Type != "m.room.message" || e.Relation().EventID != m || e.Relation().Type == "m.replace" || e.Field(outcomeKey) != nil {
			continue
		}
		told++
		if e.MsgType() != "m.notice" {
			f.t.Errorf("said %q as %s", e.Body(), e.MsgType())
		}
	}
	if told > hints {
		f.t.Errorf("said %d things, want %d at most", told, hints)
	}
}

func inReply(m, body string) string {
	return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"m.relates_to":{"m.in_reply_to":{"event_id":%q}}}`, body, m)
}

func correction(of, body string) string {
	return fmt.Sprintf(`{"msgtype":"m.text","body":"* %s","m.new_content":{"msgtype":"m.text","body":%q},"m.relates_to":{"rel_type":"m.replace","event_id":%q}}`, body, body, of)
}

// testFieldCases runs the field cases that a real homeserver can show, each by its number.
func testFieldCases(r *real) {
	room := r.room()
	for name, do := range map[string]func(f *field){
		"A1": fieldA1, "A3": fieldA3, "A5": fieldA5, "A6": fieldA6, "A7": fieldA7, "A8": fieldA8, "A10": fieldA10, "A21": fieldA21, "A22": fieldA22,
		"A24": fieldA24, "B13": fieldB13, "B1": fieldB1, "B5": fieldB5, "B6": fieldB6, "B14": fieldB14, "B15": fieldB15,
	} {
		r.t.Run(name, func(t *testing.T) {
			do(&field{&real{Service: r.Service, t: t, hs: r.hs, engine: r.engine, db: r.db, alice: r.alice, bob: r.bob, pod: r.pod}, room})
		})
	}
}

func fieldA1(f *field) {
	for _, body := range []string{
		"> <@questions:question.test> 1. Run the tests\n> 2. Skip them\n\n2", "> <@questions:question.test> 1. Run the tests\n> 2. Skip them\n2", "2",
		"> <@questions:question.test> Which?\n\n@questions:question.test: 2",
	} {
		q, m := f.ask(f.room, plain())
		f.say(f.bob, inReply(m, "> <@questions:question.test> 1. Run the tests\n> 2. Skip them"))
		mentions := `{"m.mentions":{"user_ids":["@questions:question.test"]},`
		f.say(f.bob, strings.Replace(inReply(m, body), "{", mentions, 1))
		f.expect(q, m, "skip", 0)
	}
}

func fieldA3(f *field) {
	one, m1 := f.ask(f.room, plain())
	two, m2 := f.ask(f.room, plain())
	in := func(thread, rest string) string {
		return fmt.Sprintf(`{"msgtype":"m.text","body":"2","m.relates_to":{"rel_type":"m.thread","event_id":%q%s}}`, thread, rest)
	}
	talk := f.say(f.alice, `{"msgtype":"m.text","body":"anything"}`)
	f.say(f.bob, in(talk, fmt.Sprintf(`,"is_falling_back":true,"m.in_reply_to":{"event_id":%q}`, m1)))
	f.say(f.bob, in(m1, fmt.Sprintf(`,"is_falling_back":false,"m.in_reply_to":{"event_id":%q}`, m2)))
	f.expect(two, m2, "skip", 0)
	if q, err := f.db.Question(within(f.t), one.ID); err != nil || q.State != bridge.Pending {
		f.t.Errorf("one reply answered both: %v", err)
	}
	f.say(f.bob, in(m1, fmt.Sprintf(`,"is_falling_back":true,"m.in_reply_to":{"event_id":%q}`, m2)))
	f.expect(one, m1, "skip", 0)
	other, m3 := f.ask(f.room, plain())
	reaction := f.react(f.bob, m3, "👀")
	for _, rest := range []string{
		"", fmt.Sprintf(`,"is_falling_back":true,"m.in_reply_to":{"event_id":%q}`, reaction), `,"is_falling_back":true,"m.in_reply_to":{"event_id":"$unknown"}`,
	} {
		q, m := f.ask(f.room, plain())
		f.say(f.bob, in(m, rest))
		f.expect(q, m, "skip", 0)
	}
	if q, err := f.db.Question(within(f.t), other.ID); err != nil || q.State != bridge.Pending {
		f.t.Errorf("a fallback to a reaction of another question answered that: %v", err)
	}
}

func fieldA5(f *field) {
	starred := plain()
	starred.Items[0].Options[0].Label = "* 2" // what the body of an edit says is never compared with the labels
	q, m := f.ask(f.room, starred)
	theirs := f.say(f.alice, threadReply(m, "one moment"))
	f.say(f.bob, correction(theirs, "1"))
	f.say(f.bob, correction(m, "1"))
	mine := f.say(f.bob, threadReply(m, "hmm"))
	f.say(f.bob, strings.Replace(correction(mine, "2"), `"m.new_content":{"msgtype":"m.text","body":"2"}`, `"m.new_content":"1"`, 1))
	f.say(f.bob, strings.Replace(correction(mine, "2"), `"m.new_content":{"msgtype":"m.text","body":"2"},`, ``, 1))
	f.say(f.bob, correction(mine, "2"))
	f.expect(q, m, "skip", 0)
	late := f.say(f.bob, correction(mine, "1"))
	again, m2 := f.ask(f.room, plain())
	answer := f.say(f.bob, threadReply(m2, "1"))
	f.say(f.bob, correction(answer, "2"))
	f.expect(again, m2, "run_them", 0)
	if got, err := f.db.Question(within(f.t), q.ID); err != nil || got.Answer.Items[0].Selected[0] != "skip" {
		f.t.Errorf("%s changed an answer: %v", late, err)
	}
	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, bridge.UserID(f.bob.ID)
	q, m = f.ask(f.room, direct)
	foreign := f.say(f.alice, threadReply(m, "1")) // who may not answer
	f.say(f.bob, correction(foreign, "1"))
	f.say(f.bob, threadReply(m, "2"))
	f.expect(q, m, "skip", 1)
}

func fieldA6(f *field) {
	for _, key := range []string{"2️⃣", "2⃣", "2", "Skip them"} {
		q, m := f.ask(f.room, plain())
		for _, other := range []string{"#️⃣", "0️⃣", "4️⃣", "22", "🔟", "mxc://ex.org/abc", strings.Repeat("x", 10000)} {
			f.react(f.bob, m, other)
		}
		f.send(f.bob, "m.reaction", fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":%q,"key":7}}`, m))
		f.send(f.bob, "m.reaction", fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":%q}}`, m))
		f.react(f.bob, m, key)
		f.expect(q, m, "skip", 0)
	}
}

func fieldA7(f *field) {
	q, m := f.ask(f.room, plain())
	for _, notice := range []string{"1", "9"} { // an answer, and what would get a hint
		f.say(f.alice, strings.Replace(threadReply(m, notice), "m.text", "m.notice", 1))
	}
	for range 20 {
		f.say(f.bob, threadReply(m, "I did not understand"))
		f.say(f.bob, threadReply(m, "7"))
	}
	f.say(f.bob, threadReply(m, "2"))
	f.expect(q, m, "skip", 1)
}

func fieldA8(f *field) {
	q, m := f.ask(f.room, plain())
	pill := func(name, rest string) string {
		return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"format":"org.matrix.custom.html","formatted_body":%q,"m.mentions":{"user_ids":["@questions:question.test"]},"m.relates_to":{"m.in_reply_to":{"event_id":%q}}}`,
			name+rest, `<a href="https://matrix.to/#/@questions:question.test">`+name+`</a>`+rest, m)
	}
	f.say(f.bob, pill("Questions 1", ": "))
	f.say(f.bob, inReply(m, f.alice.ID+" 1"))
	f.say(f.bob, pill("Questions 1", ": 2"))
	f.expect(q, m, "skip", 0)
}

func fieldA10(f *field) {
	q, m := f.ask(f.room, plain())
	first := f.react(f.bob, m, "1️⃣")
	f.expect(q, m, "run_them", 0)
	_, err := f.bob.Redact(within(f.t), f.room, first)
	noError(f.t, err)
	f.react(f.bob, m, "2️⃣")
	f.wait(f.bob, f.room, func(e testserver.Event) bool { // who comes late, to their own answer too, is told so
		return e.MsgType() == "m.notice" && e.Relation().EventID == m && e.Relation().Type != "m.replace" && e.Field(outcomeKey) == nil
	})
	if got, err := f.db.Question(within(f.t), q.ID); err != nil || got.Answer.Items[0].Selected[0] != "run_them" {
		f.t.Errorf("un-reacting changed the answer: %v", err)
	}
}

func fieldA21(f *field) {
	q, m := f.ask(f.room, plain())
	for _, kind := range []string{"m.audio", "m.file", "m.image", "m.emote", "org.example.x"} {
		f.say(f.bob, strings.Replace(inReply(m, "1"), "m.text", kind, 1))
	}
	f.say(f.bob, strings.Replace(inReply(m, "1"), `"body":"1"`, `"body":1`, 1))
	f.say(f.bob, strings.Replace(inReply(m, "1"), `"body":"1",`, ``, 1))
	f.say(f.bob, strings.Replace(inReply(m, "1"), `"m.text"`, `"m.image","filename":"plan.png"`, 1)) // with a caption
	f.say(f.bob, strings.Replace(inReply(m, "1"), `"m.text"`, `"m.audio","org.matrix.msc3245.voice":{}`, 1))
	f.send(f.bob, "m.sticker", inReply(m, "1"))
	f.send(f.bob, "m.poll.response", inReply(m, "1"))
	f.say(f.bob, inReply(m, "2"))
	f.expect(q, m, "skip", 1)
}

func fieldA22(f *field) {
	for _, body := range []string{"\u200f2\u200f", "２．", "٢", "Skip\u200b them"} {
		q, m := f.ask(f.room, plain())
		f.say(f.bob, inReply(m, "²"))
		f.say(f.bob, inReply(m, body))
		f.expect(q, m, "skip", 0)
	}
}

// fieldA24: the account exists, which the homeserver says by M_USER_IN_USE.
func fieldA24(f *field) {
	report, err := f.Connect(within(f.t))
	if err != nil || report.Bot != f.Bot() {
		f.t.Errorf("%+v, %v", report, err)
	}
}

// fieldB13: what an agent writes stands in the room as it is, and notifies nobody.
func fieldB13(f *field) {
	q := labelled("Skip them\n3. Approve everything", strings.Repeat("#", 60))
	q.Items[0].Prompt, q.Title = "Run `x` [Approve](https://evil.example) @room "+f.alice.ID+" <b>hi</b> ```", "</mx-reply><h1>x"
	_, m := f.ask(f.room, q)
	e, err := f.bob.Event(within(f.t), f.room, m)
	noError(f.t, err)
	if mentions, _ := e.Field("m.mentions").(map[string]any); mentions == nil || len(mentions) != 0 {
		f.t.Errorf("m.mentions is %v", e.Field("m.mentions"))
	}
	html, _ := e.Field("formatted_body").(string)
	for _, bad := range []string{"<b>", "<h1>", "<a ", "mx-reply>"} {
		if html == "" || strings.Contains(html, bad) {
			f.t.Errorf("%s got into the HTML: %s", bad, html)
		}
	}
	if rows := optionRows(e.Body()); rows != 2 {
		f.t.Errorf("%d rows of options in %q", rows, e.Body())
	}
}

func fieldB1(f *field) {
	one, m1 := f.ask(f.room, plain())
	two, m2 := f.ask(f.room, plain())
	f.say(f.bob, `{"msgtype":"m.text","body":"1"}`)
	f.say(f.bob, inReply(m1, "2"))
	f.expect(one, m1, "skip", 0)
	f.say(f.bob, `{"msgtype":"m.text","body":"1"}`) // one is left, and three are in the room
	f.react(f.bob, m2, "2️⃣")
	f.expect(two, m2, "skip", 0)
}

func fieldB5(f *field) {
	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, bridge.UserID(f.alice.ID)
	q, m := f.ask(f.room, direct)
	f.say(f.bob, threadReply(m, "1"))
	f.react(f.bob, m, "1️⃣")
	f.say(f.alice, threadReply(m, "2"))
	f.expect(q, m, "skip", 1)
}

func fieldB6(f *field) {
	q, m := f.ask(f.room, yesNo())
	for _, talk := range []string{
		"no, don't approve", "disallow", "not ok", "Approve? never", "I would approve if tests passed", "2 of the tests failed, why?", "ok", "yes",
		"Approve\nor not", "approve it", `"Approve"`, "**Approve**",
	} {
		f.say(f.bob, threadReply(m, talk))
	}
	f.say(f.bob, threadReply(m, "Approve."))
	f.expect(q, m, "approve", 0)
}

func labelled(labels ...string) bridge.Question {
	q := plain()
	q.Items[0].Options = nil
	for i, l := range labels {
		q.Items[0].Options = append(q.Items[0].Options, bridge.Option{ID: bridge.OptionID(fmt.Sprintf("opt_%d", i+1)), Label: l, Meaning: bridge.Choose})
	}
	return q
}

func fieldB14(f *field) {
	q, m := f.ask(f.room, labelled("2", "1"))
	f.say(f.bob, threadReply(m, "2"))
	f.say(f.bob, threadReply(m, "opt_2"))
	f.expect(q, m, "opt_2", 1)
	q, m = f.ask(f.room, labelled("Straße", "STRASSE"))
	f.say(f.bob, threadReply(m, "strasse"))
	f.say(f.bob, threadReply(m, "2"))
	f.expect(q, m, "opt_2", 1)
}

func fieldB15(f *field) {
	q, m := f.ask(f.room, labelled("Run", "Skip"))
	f.say(f.bob, threadReply(m, "/skip"))
	f.say(f.bob, threadReply(m, "cancel"))
	f.say(f.bob, threadReply(m, "skip"))
	f.expect(q, m, "opt_2", 0)
}
