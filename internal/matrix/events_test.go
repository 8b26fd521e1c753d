package matrix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

const bot = "@asker:ex.org"

// pushed makes a pushed event of the field cases' room.
func pushed(t *testing.T, eventType, sender, content string) event {
	t.Helper()
	raw := fmt.Sprintf(`{"event_id":"$m1","room_id":"!ops:ex.org","sender":%q,"type":%q,"origin_server_ts":1793000000000,"content":%s}`,
		sender, eventType, content)
	e, ok := decodeEvent(json.RawMessage(raw))
	if !ok {
		t.Fatalf("%s does not decode", raw)
	}
	return e
}

func act(t *testing.T, eventType, content string) bridge.Act {
	t.Helper()
	in, ok := pushed(t, eventType, "@dana:ex.org", content).interaction(bot)
	if !ok {
		return nil
	}
	return in.Act
}

func checkActs(t *testing.T, eventType string, cases map[string]bridge.Act) {
	t.Helper()
	for content, want := range cases {
		if got := act(t, eventType, content); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n is %#v,\nwant %#v", content, got, want)
		}
	}
}

func reply(body string) string {
	return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"m.relates_to":{"m.in_reply_to":{"event_id":"$q1"}}}`, body)
}

// A1: the quote of a reply comes in four shapes, and goes before the mention.
func TestA1(t *testing.T) {
	for body, want := range map[string]string{
		"> <@asker:ex.org> 1. Run the tests\n> 2. Skip them\n\n2":      "2",
		"> <@asker:ex.org> 1. Run the tests\n2":                        "2",
		"2":                                                            "2",
		"> <@asker:ex.org> Which?\n\n@asker:ex.org: 2":                 "2",
		"> <@asker:ex.org> 1. Run the tests\n> 2. Skip them":           "",
		"> <@questions:q.test> Deploy?\n> 1️⃣ yes\n>\n> x\n\nno, hold": "no, hold",
		"> <@a:b> x\r\n\r\n2":                                          "2",
		">:-(":                                                         ">:-(",
	} {
		if got := act(t, "m.room.message", reply(body)); !reflect.DeepEqual(got, bridge.Said{Text: want, ReplyTo: "$q1"}) {
			t.Errorf("%q is %#v, want the text %q", body, got, want)
		}
	}
	// Without a reply there is no quote to take off.
	if got := act(t, "m.room.message", `{"msgtype":"m.text","body":"> 1\n2"}`); !reflect.DeepEqual(got, bridge.Said{Text: "> 1\n2"}) {
		t.Errorf("an own quote is %#v", got)
	}
}

// A3: in a thread, m.in_reply_to may be a fallback that points at something else.
func TestA3(t *testing.T) {
	thread := func(rest string) string {
		return `{"msgtype":"m.text","body":"2","m.relates_to":{` + rest + `}}`
	}
	inThread := bridge.Said{Text: "2", Thread: "$q1"}
	checkActs(t, "m.room.message", map[string]bridge.Act{
		thread(`"rel_type":"m.thread","event_id":"$q1","is_falling_back":true,"m.in_reply_to":{"event_id":"$q2"}`):  inThread,
		thread(`"rel_type":"m.thread","event_id":"$q1","is_falling_back":false,"m.in_reply_to":{"event_id":"$q2"}`): bridge.Said{Text: "2", Thread: "$q1", ReplyTo: "$q2"},
		thread(`"rel_type":"m.thread","event_id":"$q1","m.in_reply_to":{"event_id":"$q2"}`):                         bridge.Said{Text: "2", Thread: "$q1", ReplyTo: "$q2"},
		thread(`"rel_type":"m.thread","event_id":"$q1"`):                                                            inThread,
		thread(`"rel_type":"io.element.thread","event_id":"$q1","is_falling_back":true`):                            inThread,
		thread(`"rel_type":"m.thread","event_id":"$q1","is_falling_back":true,"m.in_reply_to":{"event_id":"$r9"}`):  inThread,
		thread(`"rel_type":"m.thread","event_id":"$x","is_falling_back":true,"m.in_reply_to":{"event_id":"$q1"}`):   bridge.Said{Text: "2", Thread: "$x"},
		thread(`"rel_type":"m.thread","is_falling_back":true,"m.in_reply_to":{"event_id":"$q1"}`):                   nil,
		thread(`"rel_type":"org.example","event_id":"$q1"`):                                                         nil,
		thread(`"rel_type":7,"event_id":"$q1"`):                                                                     nil,
		thread(``):                                                                                                  nil,
		`{"msgtype":"m.text","body":"2","m.relates_to":"$q1"}`:                                                      nil,
		`{"msgtype":"m.text","body":"2","m.relates_to":null}`:                                                       nil,
		`{"msgtype":"m.text","body":"2","m.relates_to":{"event_id":["x"]}}`:                                         nil,
	})
}

// A5: an edit is read by what the message is to say from now on.
func TestA5(t *testing.T) {
	edit := func(now string) string {
		return `{"msgtype":"m.text","body":"* 2","m.relates_to":{"rel_type":"m.replace","event_id":"$m0"}` + now + `}`
	}
	checkActs(t, "m.room.message", map[string]bridge.Act{
		edit(`,"m.new_content":{"msgtype":"m.text","body":"2"}`): bridge.Edited{Original: "$m0", Text: "2"},
		edit(``):                              nil,
		edit(`,"m.new_content":"2"`):          nil,
		edit(`,"m.new_content":{"body":"2"}`): nil,
		edit(`,"m.new_content":{"msgtype":"m.notice","body":"2"}`):                          nil,
		edit(`,"m.new_content":{"msgtype":"m.text","body":2}`):                              nil,
		edit(`,"m.new_content":{"msgtype":"m.text","body":"2","suite_event_type":"x"}`):     nil,
		edit(`,"suite_event_type":"x","m.new_content":{"msgtype":"m.text","body":"2"}`):     nil,
		`{"msgtype":"m.text","body":"* 2","m.new_content":{"msgtype":"m.text","body":"2"}}`: bridge.Said{Text: "* 2"},
	})
}

// A6: reactions without a usable key are nothing.
func TestA6(t *testing.T) {
	react := func(key string) string {
		return `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q1"` + key + `}}`
	}
	checkActs(t, "m.reaction", map[string]bridge.Act{
		react(`,"key":"2️⃣"`): bridge.Reacted{To: "$q1", Key: "2️⃣"},
		react(`,"key":7`):     nil,
		react(``):             nil,
		react(`,"key":"` + strings.Repeat("x", 10000) + `"`): nil,
		`{}`: nil,
		`{"m.relates_to":{"rel_type":"m.annotation","key":"1"}}`:                       nil,
		`{"m.relates_to":{"rel_type":"m.thread","event_id":"$q1","key":"1"}}`:          nil,
		`{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q\u0000","key":"1"}}`: nil,
	})
}

// A8: only the bot's own mention comes off, by what the pill says exactly.
func TestA8(t *testing.T) {
	pill := func(body, user, name, rest string) string {
		html := fmt.Sprintf(`<a href=\"https://matrix.to/#/%s\">%s</a>%s`, user, name, rest)
		return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"format":"org.matrix.custom.html","formatted_body":"%s"}`, body, html)
	}
	for content, want := range map[string]string{
		pill("Asker: 2", bot, "Asker", ": 2"):                "2",
		pill("Asker 2: 1", bot, "Asker 2", ": 1"):            "1",
		pill("Asker 2: ", bot, "Asker 2", ": "):              "",
		pill("Asker 2", "%40asker%3Aex.org", "Asker", " 2"):  "2",
		pill("@asker:ex.org 2", bot, "Asker", " 2"):          "2",
		pill("A & B: 2", bot, "A &amp; B", ": 2"):            "2",
		pill("Dana: 2", "@dana:ex.org", "Dana", ": 2"):       "Dana: 2",
		pill("Askers: 2", bot, "Asker", "s: 2"):              "Askers: 2",
		`{"msgtype":"m.text","body":"@dana:ex.org 2"}`:       "@dana:ex.org 2",
		`{"msgtype":"m.text","body":"@asker:ex.org: 2"}`:     "2",
		`{"msgtype":"m.text","body":"@asker:ex.org 2"}`:      "2",
		`{"msgtype":"m.text","body":"@asker:ex.org:8448 2"}`: "@asker:ex.org:8448 2",
		`{"msgtype":"m.text","body":"@asker:ex.organic 2"}`:  "@asker:ex.organic 2",
		`{"msgtype":"m.text","body":"2 @asker:ex.org"}`:      "2 @asker:ex.org",
		`{"msgtype":"m.text","body":"Asker: 2"}`:             "Asker: 2",
	} {
		if got := act(t, "m.room.message", content); !reflect.DeepEqual(got, bridge.Said{Text: want}) {
			t.Errorf("%s is %#v, want the text %q", content, got, want)
		}
	}
}

// A10: the target of a redaction moved, and what was redacted says nothing.
func TestA10(t *testing.T) {
	for raw, want := range map[string]string{
		`"content":{"redacts":"$q1"}`:                 "$q1",
		`"content":{},"redacts":"$q1"`:                "$q1",
		`"content":{"redacts":"$q1"},"redacts":"$q1"`: "$q1",
		`"content":{"redacts":"$q1"},"redacts":"$q2"`: "",
		`"content":{"redacts":7}`:                     "",
	} {
		e, ok := decodeEvent(json.RawMessage(`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.redaction",` + raw + `}`))
		if !ok {
			t.Fatalf("%s does not decode", raw)
		}
		if got, _ := e.redaction(); got != want {
			t.Errorf("%s takes %q away, want %q", raw, got, want)
		}
	}
	checkActs(t, "m.room.message", map[string]bridge.Act{`{}`: nil})
	checkActs(t, "m.reaction", map[string]bridge.Act{`{}`: nil})
	pruned, _ := decodeEvent(json.RawMessage(`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message",
		"content":{"msgtype":"m.text","body":"1"},"unsigned":{"redacted_because":{}}}`))
	if in, ok := pruned.interaction(bot); ok {
		t.Errorf("a pruned message is %#v", in.Act)
	}
}

// A21, A7: what is no text answers nothing, and a notice is nothing at all.
func TestA21(t *testing.T) {
	rel := `,"m.relates_to":{"m.in_reply_to":{"event_id":"$q1"}}}`
	notText := bridge.Said{ReplyTo: "$q1", NotText: true}
	checkActs(t, "m.room.message", map[string]bridge.Act{
		`{"msgtype":"m.audio","body":"2","org.matrix.msc3245.voice":{}` + rel: notText,
		`{"msgtype":"m.file","body":"2","filename":"2"` + rel:                 notText,
		`{"msgtype":"m.image","body":"2","filename":"x.png"` + rel:            notText,
		`{"msgtype":"m.emote","body":"2"` + rel:                               notText,
		`{"msgtype":"org.example.x","body":"2"` + rel:                         notText,
		`{"msgtype":"m.text"` + rel:                                           notText,
		`{"msgtype":"m.text","body":2` + rel:                                  notText,
		`{"msgtype":7,"body":"2"` + rel:                                       notText,
		`{"msgtype":"m.notice","body":"2"` + rel:                              nil,
		`{"msgtype":"m.text","body":"2\u0000"` + rel:                          bridge.Said{Text: "2", ReplyTo: "$q1"},
	})
	checkActs(t, "m.sticker", map[string]bridge.Act{`{"body":"2"` + rel: nil})
	checkActs(t, "m.poll.response", map[string]bridge.Act{`{"body":"2"` + rel: nil})
}

func TestStructuredAnswer(t *testing.T) {
	answer := func(rest string) string {
		return `{"msgtype":"m.text","body":"x","suite_event_type":"dev.superpipeline.question.answer.v2",` + rest + `}`
	}
	ref := `"m.relates_to":{"rel_type":"m.reference","event_id":"$q1"}`
	text := "use a mirror"
	checkActs(t, "m.room.message", map[string]bridge.Act{
		answer(`"elicitation_id":"e","option_id":"skip",` + ref): bridge.Submitted{To: "$q1", ElicitationID: "e", Option: "skip"},
		answer(`"elicitation_id":"e","option_id":"other","input":"use a mirror","comment":null,` + ref): bridge.Submitted{
			To: "$q1", ElicitationID: "e", Option: "other", Input: &text},
		answer(`"elicitation_id":"e","text":"use a mirror",` + ref): bridge.Submitted{To: "$q1", ElicitationID: "e", Text: &text},
		answer(`"elicitation_id":"e","option_id":"a","subject":{"id":"s","digest":"d","schema":"x/v1","revision":3},` + ref): bridge.Submitted{
			To: "$q1", ElicitationID: "e", Option: "a", Subject: &bridge.SubjectRef{ID: "s", Digest: "d", Schema: "x/v1", Revision: 3}},
	})
	for content, why := range map[string]string{
		answer(`"option_id":"skip",` + ref):                                                                                          "elicitation_id",
		answer(`"elicitation_id":"e",` + ref):                                                                                        "either",
		answer(`"elicitation_id":"e","option_id":"a","text":"b",` + ref):                                                             "either",
		answer(`"elicitation_id":"e","option_id":7,` + ref):                                                                          "option_id",
		answer(`"elicitation_id":"e","option_id":"a\u0000",` + ref):                                                                  "option_id",
		answer(`"elicitation_id":"e","option_id":"a","input":7,` + ref):                                                              "input",
		answer(`"elicitation_id":"e","option_id":"a","subject":{"id":"s","digest":"d\u0000","schema":"x","revision":1},` + ref):      "subject",
		answer(`"elicitation_id":"e","option_id":"a","subject":{"id":"s","digest":"d","schema":"x","revision":"1"},` + ref):          "subject",
		answer(`"elicitation_id":"e","option_id":"a","m.relates_to":{"m.in_reply_to":{"event_id":"$q1"}}`):                           "m.reference",
		answer(`"elicitation_id":"e","option_id":"a","m.relates_to":{"rel_type":"m.thread","event_id":"$q1"}`):                       "m.reference",
		answer(`"elicitation_id":"e","option_id":"a","m.relates_to":{"rel_type":"m.reference","event_id":"$q1","m.in_reply_to":{}}`): "m.reference",
		answer(`"elicitation_id":"e","option_id":"a","m.new_content":{},` + ref):                                                     "m.reference",
	} {
		got, ok := act(t, "m.room.message", content).(bridge.Submitted)
		if !ok || !strings.Contains(got.Invalid, why) || got.To != "$q1" {
			t.Errorf("%s\n is %#v, want it invalid for its %s", content, got, why)
		}
	}
	checkActs(t, "m.room.message", map[string]bridge.Act{
		answer(`"elicitation_id":"e","option_id":"a"`):                                                          nil,
		answer(`"elicitation_id":"e","option_id":"a","m.relates_to":{"rel_type":"m.replace","event_id":"$q1"}`): nil,
		strings.Replace(answer(`"elicitation_id":"e","option_id":"a",`+ref), "answer.v2", "v2", 1):              nil,
		strings.Replace(answer(`"elicitation_id":"e","option_id":"a",`+ref), `"m.text"`, `"m.notice"`, 1):       nil,
	})
}

// C5: what has a name twice, at any depth, is no answer; of a structured one its sender is told.
func TestC5(t *testing.T) {
	rel := `"m.relates_to":{"m.in_reply_to":{"event_id":"$q1"}}`
	checkActs(t, "m.room.message", map[string]bridge.Act{
		`{"msgtype":"m.text","body":"2",` + rel + `}`:                                                                                                           bridge.Said{Text: "2", ReplyTo: "$q1"},
		`{"msgtype":"m.text","body":"1","body":"2",` + rel + `}`:                                                                                                nil,
		`{"msgtype":"m.text","body":"1","bod\u0079":"2",` + rel + `}`:                                                                                           nil,
		`{"msgtype":"m.text","body":"2","m.relates_to":{"m.in_reply_to":{"event_id":"$q2","event_id":"$q1"}}}`:                                                  nil,
		`{"msgtype":"m.text","body":"2","x":[{"a":1},{"a":2,"a":3}],` + rel + `}`:                                                                               nil,
		`{"msgtype":"m.text","body":"2","x":[{"a":1},{"a":2}],"y":{"a":"x","x":"a"},` + rel + `}`:                                                               bridge.Said{Text: "2", ReplyTo: "$q1"},
		`{"msgtype":"m.text","body":"* 2","m.new_content":{"msgtype":"m.text","body":"1","body":"2"},"m.relates_to":{"rel_type":"m.replace","event_id":"$m0"}}`: nil,
		`{"suite_event_type":"dev.superpipeline.question.answer.v2","msgtype":"m.text","body":"x","elicitation_id":"e","option_id":"deny","option_id":"approve",
			"m.relates_to":{"rel_type":"m.reference","event_id":"$q1"}}`: bridge.Submitted{To: "$q1", Invalid: "A structured answer says everything once: a name stands in it twice."},
	})
	checkActs(t, "m.reaction", map[string]bridge.Act{
		`{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q1","key":"1️⃣","key":"2️⃣"}}`: nil,
	})
}

func TestDecodeEvent(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{}}`:                        true,
		`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":[]}`:                        false,
		`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message"}`:                                     false,
		`{"event_id":"","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{}}`:                          false,
		`{"event_id":7,"room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{}}`:                           false,
		`{"EVENT_ID":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{}}`:                        false,
		`{"event_id":"$x\u0000","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{}}`:                  false,
		`{"event_id":"$x","room_id":"!r","sender":"@m:ex.org","type":"m.room.message","content":{"body":"` + "\xff" + `"}}`: false,
		`null`: false, `7`: false, `"x"`: false, `[]`: false, `{}`: false,
	} {
		if _, ok := decodeEvent(json.RawMessage(raw)); ok != want {
			t.Errorf("%q decodes: %v, want %v", raw, ok, want)
		}
	}
	e := pushed(t, "m.room.message", "@dana:ex.org", `{"body":"x"}`)
	if want := time.UnixMilli(1793000000000).UTC(); !e.SentAt.Equal(want) {
		t.Errorf("sent at %s, want %s", e.SentAt, want)
	}
}

// FuzzInteraction: no event crashes the reading of it, and no text of an interaction holds U+0000.
func FuzzInteraction(f *testing.F) {
	for _, content := range []string{reply("> <@a:b> x\n\n2"), `{"msgtype":"m.text","m.relates_to":{"rel_type":"m.replace","event_id":"$x"},"m.new_content":{"body":"\u0000"}}`} {
		f.Add("m.room.message", content)
	}
	f.Add("m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q1","key":"1"}}`)
	f.Fuzz(func(t *testing.T, eventType, content string) {
		name, _ := json.Marshal(eventType)
		e, ok := decodeEvent(json.RawMessage(fmt.Sprintf(`{"event_id":"$x","room_id":"!r","sender":"@m:e","type":%s,"content":%s}`, name, content)))
		if !ok {
			return
		}
		in, _ := e.interaction(bot)
		if said, ok := in.Act.(bridge.Said); ok && strings.ContainsRune(said.Text, 0) {
			t.Errorf("U+0000 in %q", said.Text)
		}
	})
}
