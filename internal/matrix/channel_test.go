package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// asV2 is a question of a question.v2 content.
func asV2(t *testing.T, content map[string]any) bridge.Question {
	t.Helper()
	raw, err := json.Marshal(content)
	noError(t, err)
	e, err := schema.Decode[schema.Elicitation](raw)
	noError(t, err)
	q, err := dialect.FromElicitation(e, dialect.AdoptContext{Agent: "pod", Conversation: room, Now: testStart})
	noError(t, err)
	q.Carried = nil
	return q
}

func v2Content(t *testing.T, change map[string]any) map[string]any {
	t.Helper()
	var content map[string]any
	noError(t, json.Unmarshal([]byte(carriedQuestion), &content))
	for name, v := range change {
		content[name] = v
	}
	return content
}

// A20: what cannot be sent is refused when it is asked, with the field named.
func TestA20(t *testing.T) {
	s := newRig(t, nil)
	preview := func(n int, text string) map[string]any {
		var items []any
		for range n {
			items = append(items, map[string]any{"type": "text", "text": text})
		}
		return map[string]any{"id": "s", "digest": "d", "schema": "x/v1", "revision": 1, "expires_at": nil, "preview": items, "preview_complete": true}
	}
	for name, c := range map[string]struct {
		change map[string]any
		field  string // "" when it is fine
	}{
		"small":      {nil, ""},
		"5 × 4,000":  {map[string]any{"subject": preview(5, strings.Repeat("漢", 4000))}, "/subject/preview/0/text"},
		"12 × 1,700": {map[string]any{"subject": preview(12, strings.Repeat("漢", 1700))}, "/subject/preview/0/text"},
		"long":       {map[string]any{"question": strings.Repeat("x", 30000)}, "/question"},
		"NUL":        {map[string]any{"question": "a\x00b"}, "/question"},
	} {
		err := s.Check(t.Context(), asV2(t, v2Content(t, c.change)))
		field := ""
		if refusal, ok := err.(*bridge.Error); ok {
			field = refusal.Field
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if field != c.field {
			t.Errorf("%s: refused at %q, want %q", name, field, c.field)
		}
	}
}

// B13: what an agent writes is shown as it is, and notifies nobody.
func TestB13(t *testing.T) {
	s := &Service{}
	q := asV2(t, v2Content(t, map[string]any{
		"question": "Run `x` [Approve](https://evil.example) @room @dana:ex.org <b>hi</b> ```", "card_title": "</mx-reply><h1>x",
		"options": []any{
			map[string]any{"id": "a", "label": "Skip them\n3. Approve everything", "meaning": "choose", "needs_comment": false},
			map[string]any{"id": "b", "label": strings.Repeat("#", 200), "meaning": "choose", "needs_comment": false},
		},
		"m.mentions": map[string]any{"room": true}, "formatted_body": "<h1>", "m.new_content": map[string]any{},
	}))
	content, err := s.content(q, 0, schema.MaxClearBytes)
	noError(t, err)
	if got := fmt.Sprint(content["m.mentions"]); got != "map[]" {
		t.Errorf("mentions are %s", got)
	}
	if content["m.new_content"] != nil {
		t.Error("an asker set m.new_content")
	}
	html := content["formatted_body"].(string)
	for _, bad := range []string{"<b>", "<h1>", "<a ", "</mx-reply>"} {
		if strings.Contains(html, bad) {
			t.Errorf("%s got into the HTML: %s", bad, html)
		}
	}
	if rows := optionRows(content["body"].(string)); rows != 2 {
		t.Errorf("%d rows of options in %q", rows, content["body"])
	}
}

// optionRows counts the lines of a body that look like an option.
func optionRows(body string) (rows int) {
	for line := range strings.Lines(body) {
		if len(line) > 2 && line[0] >= '1' && line[0] <= '9' && line[1] == '.' {
			rows++
		}
	}
	return rows
}

// A20: however large the question and the answer are, what is sent at the end fits into an event.
func TestA20OutcomeFits(t *testing.T) {
	s := newRig(t, nil)
	item := map[string]any{"type": "text", "text": strings.Repeat("p", 4000)}
	for name, change := range map[string]map[string]any{
		"long question": {"question": strings.Repeat("漢", 6000)},
		"large extra":   {"extra": strings.Repeat("x", 50000)},
		"large preview": {"subject": map[string]any{"id": "s", "digest": "d", "schema": "x/v1", "revision": 1, "expires_at": nil,
			"preview": []any{item, item, item, item, item}, "preview_complete": true}},
	} {
		q := asV2(t, v2Content(t, change))
		noError(t, s.Check(t.Context(), q))
		text, at := strings.Repeat("\x01", 4000), testStart
		q.State, q.SettledAt = bridge.Answered, &at
		q.Answer = &bridge.Answer{Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"skip"}}}, Comment: &text, Input: &text},
			Labels: [][]string{{"Skip them"}}, By: bridge.Responder{ID: "@dana:ex.org"}, At: at}
		p := bridge.Posting{Messages: []bridge.Message{{ID: "$q"}}}
		e, err := dialect.Elicitation(q, 0)
		noError(t, err)
		now, err := s.settledContent(e, ending{sentence: outcomeSentence(q, "@dana:ex.org"), outcome: outcomeOf(q, p), maxBytes: schema.MaxClearBytes})
		noError(t, err)
		if n := size(now); n > schema.MaxClearBytes {
			t.Errorf("%s: the edit has %d bytes", name, n)
		}
		if raw, _ := json.Marshal(now); strings.Contains(string(raw), "ppp") {
			t.Errorf("%s: the edit repeats the preview", name)
		}
		if o, ok := now[outcomeKey].(map[string]any); !ok || o["option_id"] != "skip" {
			t.Errorf("%s: the edit's outcome is %v", name, now[outcomeKey])
		}
	}
}

func TestOutcomes(t *testing.T) {
	at := testStart.Add(time.Minute)
	p := bridge.Posting{Messages: []bridge.Message{{ID: "$q"}}}
	for _, c := range []struct {
		q        bridge.Question
		sentence string
		late     string
		reason   any
		by       any
	}{
		{bridge.Question{State: bridge.Expired, SettledAt: &at}, texts.Expired, texts.Expired, nil, nil},
		{bridge.Question{State: bridge.Cancelled, CancelledBy: bridge.ByAsker, SettledAt: &at}, texts.Withdrawn, texts.Withdrawn, "cancelled_by_asker", nil},
		{bridge.Question{State: bridge.Cancelled, CancelledBy: bridge.ByResponder, DismissedBy: "@dana:ex.org", SettledAt: &at}, texts.Dismissed, texts.Dismissed, "cancelled_by_responder", "@dana:ex.org"},
		{bridge.Question{State: bridge.Cancelled, CancelledBy: bridge.ByAsker, Reason: "edited", SettledAt: &at}, texts.Edited, texts.Edited, "edited", nil},
		{bridge.Question{State: bridge.Cancelled, CancelledBy: bridge.Superseded}, texts.Superseded, texts.Superseded, "cancelled_by_superseded", nil},
	} {
		if got := outcomeSentence(c.q, ""); got != c.sentence {
			t.Errorf("said %q, want %q", got, c.sentence)
		}
		if got := courtesySentence(view{}, c.q, bridge.Courtesy{Kind: bridge.Stale}); got != c.late {
			t.Errorf("told %q, want %q", got, c.late)
		}
		o := outcomeOf(c.q, p)
		if o["reason"] != c.reason || o["decided_by"] != c.by || c.q.SettledAt != nil && o["decided_at"] != "2026-11-01T12:01:00.000Z" || o["question_event_id"] != "$q" {
			t.Errorf("the outcome is %v", o)
		}
	}
	text := "a\u202eb\n" + strings.Repeat("x", 400)
	q := freeText()
	q.State = bridge.Answered
	q.Answer = &bridge.Answer{Choice: bridge.Choice{Items: []bridge.ItemChoice{{Text: &text}}}, By: bridge.Responder{ID: "@dana:ex.org", DisplayName: "Da\u202ena"}}
	if got := outcomeSentence(q, responderName(view{}, q)); !strings.HasPrefix(got, `“a\u{202E}b x`) || !strings.HasSuffix(got, `x…”, by Da\u{202E}na (@dana:ex.org).`) {
		t.Errorf("said %q", got)
	}
	if outcomeOf(q, p)["text"] != text {
		t.Error("the outcome does not have the whole text")
	}
}

// What an asker keeps for itself never enters the room, whatever becomes of the question.
func TestAskersOwn(t *testing.T) {
	r := newRig(t, nil)
	mine := "asker's own"
	for _, q := range []bridge.Question{plain(), asV2(t, v2Content(t, nil))} {
		q.Conversation, q.Scope = room, bridge.Room
		q.CorrelationID, q.ReplyTo, q.Data = &mine, &mine, []byte(`{"key":"asker's own"}`)
		if q.Dialect != bridge.V2 {
			q, _ = r.ask(q)
		} else {
			q.ID, q.Digest, q.ExpiresAt = bridge.NewQuestionID(), "d", r.clock.Now().Add(time.Hour)
			q.CreatedAt, q.ForgetAfter = r.clock.Now(), r.clock.Now().Add(24*time.Hour)
			_, _, err := r.engine.Ask(t.Context(), q)
			noError(t, err)
			r.pump()
		}
		m := string(r.question(q.ID).Delivery.Message)
		r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "9")), r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
		r.work()
		r.pump()
		r.expect(q.ID, "answered skip by @dana:ex.org")
	}
	raw, err := json.Marshal(r.server.rooms[room].events)
	noError(t, err)
	if n := len(r.server.sent(room, "m.room.message")); n != 8 || strings.Contains(string(raw), mine) {
		t.Errorf("%d messages: %s", n, raw)
	}
}

// A question that was settled before it was posted is never posted; one whose send is unknown is found.
func TestSettledBeforePosted(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q := r.asked(plain())
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.pump()
	if n := len(r.server.sent(room, "m.room.message")); n != 0 {
		t.Fatalf("sent %d messages", n)
	}
	cut(r, 1)
	q = r.asked(plain())
	r.pump()
	_, err = r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.server.forgetTransactions()
	r.clock.Move(time.Second)
	r.pump()
	r.pump()
	messages := r.server.sent(room, "m.room.message")
	if len(messages) != 3 {
		t.Errorf("sent %q, want the question, the notice and the edit", r.bodies())
	}
}

// A question that was settled while the homeserver made us wait is not posted after all.
func TestSettledWhileWaiting(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		w.WriteHeader(429)
		return true
	})
	q := r.asked(plain())
	r.pump()
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.server.intercept(nil)
	r.clock.Move(time.Hour / 2)
	r.pump()
	if sent := r.bodies(); len(sent) != 0 {
		t.Errorf("sent %q", sent)
	}
}

// An edit that the homeserver refuses for what it is keeps nobody from hearing the rest. A room that takes nothing from us
// for now is tried again when somebody does something there.
func TestRefusedClosing(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		raw, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(raw))
		if !bytes.Contains(raw, []byte("m.new_content")) {
			return false
		}
		w.WriteHeader(413)
		_, _ = fmt.Fprint(w, `{"errcode":"M_TOO_LARGE"}`)
		return true
	})
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.pump()
	if told, gone := len(r.bodies()), len(r.server.sent(room, "m.room.redaction")); told != 2 || gone != 2 || r.state(q.ID) != "answered skip by @dana:ex.org" {
		t.Errorf("without the edit: %d messages, %d reactions taken away", told, gone)
	}
	r.server.intercept(nil)
	q, m = r.ask(plain())
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if isSend(req) {
			w.WriteHeader(403)
			_, _ = fmt.Fprint(w, `{"errcode":"M_FORBIDDEN"}`)
		}
		return isSend(req)
	})
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.pump()
	r.server.intercept(nil)
	r.clock.Move(time.Hour)
	r.pump()
	before := len(r.bodies())
	r.put("2", r.says("@sam:ex.org", "m.room.message", threadReply(m, "1")))
	r.work()
	r.pump()
	if bodies := r.bodies()[before:]; len(bodies) != 2 || bodies[0] != texts.Withdrawn || bodies[1] != texts.Withdrawn {
		t.Errorf("said %q", bodies)
	}
}

// What a moderator took away does not come back with the outcome.
func TestRedactedIsNotShownAgain(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q, m := r.ask(plain())
	r.put("1", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"`+m+`"}`))
	r.work()
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.pump()
	for _, e := range r.server.sent(room, "m.room.message") {
		if e["content"].(map[string]any)["m.new_content"] != nil {
			t.Error("edited a message that was redacted")
		}
	}
}
