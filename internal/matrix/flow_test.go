package matrix

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func plain() bridge.Question {
	q := q1()
	q.Items[0].Options = q.Items[0].Options[:2]
	return q
}

func TestAskAndAnswer(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	if q.Delivery.State != bridge.Posted || m == "" {
		t.Fatalf("delivery is %+v", q.Delivery)
	}
	posted := r.server.sent(room, "m.room.message")[0]["content"].(map[string]any)
	for name, want := range map[string]any{
		"suite_event_type": "dev.superpipeline.question.v2", "elicitation_id": string(q.ID), "msgtype": "m.text",
		sendKey: string(q.ID) + "/render/0", "format": "org.matrix.custom.html",
	} {
		if posted[name] != want {
			t.Errorf("%s is %v, want %v", name, posted[name], want)
		}
	}
	if reactions := r.server.sent(room, "m.reaction"); len(reactions) != 2 {
		t.Errorf("%d reactions, want 2", len(reactions))
	}
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "hmm, let me think")))
	r.work()
	r.expect(q.ID, "pending")
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "SKIP THEM")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	r.pump()

	messages := r.server.sent(room, "m.room.message")
	if len(messages) != 3 {
		t.Fatalf("%d messages, want the question, the notice and the edit", len(messages))
	}
	notice := messages[1]["content"].(map[string]any)
	outcome, _ := notice[outcomeKey].(map[string]any)
	for name, want := range map[string]any{
		"elicitation_id": string(q.ID), "question_event_id": m, "state": "answered", "option_id": "skip", "text": nil,
		"decided_by": "@dana:ex.org", "answer_event_id": "$p2", "reason": nil, "board_id": "",
	} {
		if got, has := outcome[name]; !has || got != want {
			t.Errorf("the outcome's %s is %v, want %v", name, got, want)
		}
	}
	if notice["msgtype"] != "m.notice" || notice["body"] != "Skip them, by Dana." {
		t.Errorf("the notice is %v", notice)
	}
	edit := messages[2]["content"].(map[string]any)
	if edit["msgtype"] != "m.notice" || edit["m.new_content"].(map[string]any)["msgtype"] != "m.text" {
		t.Errorf("the edit would notify everybody: %v", edit)
	}
	for name := range edit {
		if strings.HasPrefix(name, "dev.superpipeline") && name != sendKey || name == "suite_event_type" {
			t.Errorf("the edit's outer content has %s", name)
		}
	}
	now := edit["m.new_content"].(map[string]any)
	if now["suite_event_type"] != "dev.superpipeline.question.v2" || now[outcomeKey] == nil || !strings.HasPrefix(now["body"].(string), "Skip them, by Dana.") {
		t.Errorf("the edited question is %v", now)
	}
	if gone := r.server.sent(room, "m.room.redaction"); len(gone) != 2 {
		t.Errorf("%d reactions were taken away, want 2", len(gone))
	}
	// Late words are told once, and change nothing.
	r.put("3", r.says("@sam:ex.org", "m.room.message", threadReply(m, "1")), r.says("@sam:ex.org", "m.room.message", threadReply(m, "1")))
	r.work()
	r.pump()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	if bodies := r.bodies(); len(bodies) != 3 || bodies[2] != "Already answered: Skip them, by Dana." {
		t.Errorf("told: %q", bodies)
	}
}

// A16: the same event comes again and again, under every transaction id, also after a restart.
func TestA16(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	answer := r.says("@dana:ex.org", "m.room.message", threadReply(m, "2"))
	owed := 0
	for _, txn := range []string{"17", "18", "17", "19", "restart", "20"} {
		if txn == "restart" {
			r.restart()
			continue
		}
		if status := r.put(txn, answer); status != 200 {
			t.Fatalf("status %d", status)
		}
		r.work()
		owed += r.owed(string(q.ID) + "/settled/0") // for the room and every webhook, under one key
		r.pump()
	}
	r.expect(q.ID, "answered skip by @dana:ex.org")
	if bodies := r.bodies(); len(bodies) != 2 || owed != 1 {
		t.Errorf("sent %q; the outcome was owed %d times", bodies, owed)
	}
	// The same transaction id with more events: all of them count.
	q2, m2 := r.ask(plain())
	first := r.says("@dana:ex.org", "m.room.message", threadReply(m2, "hm"))
	r.put("20", first)
	r.put("20", first, r.says("@dana:ex.org", "m.room.message", threadReply(m2, "1")))
	r.work()
	r.expect(q2.ID, "answered run_them by @dana:ex.org")
}

// A5: a correction counts only if the first word was no answer, and only from its own sender.
func TestA5Edits(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	edit := func(original, body string) string {
		return `{"msgtype":"m.text","body":"* ` + body + `","m.new_content":{"msgtype":"m.text","body":"` + body + `"},"m.relates_to":{"rel_type":"m.replace","event_id":"` + original + `"}}`
	}
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "hmm"))) // $p1
	r.put("2", r.says("@sam:ex.org", "m.room.message", edit("$p1", "2")))
	r.put("3", r.says("@sam:ex.org", "m.room.message", edit(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	r.put("4", r.says("@dana:ex.org", "m.room.message", edit("$p1", "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	r.put("5", r.says("@dana:ex.org", "m.room.message", edit("$p1", "1")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// A7: nothing that the bot, another bot or a notice says is an answer, and no notice is answered.
func TestA7(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Bots = []bridge.UserID{"@sam:ex.org"} })
	q, m := r.ask(plain())
	react := `{"m.relates_to":{"rel_type":"m.annotation","event_id":"` + m + `","key":"1️⃣"}}`
	r.put("1", r.says(bot, "m.reaction", react), r.says("@sam:ex.org", "m.reaction", react),
		r.says("@dana:ex.org", "m.room.message", strings.Replace(threadReply(m, "2"), "m.text", "m.notice", 1)))
	for range 20 {
		r.put("x", r.says("@sam:ex.org", "m.room.message", threadReply(m, "99")), r.says("@dana:ex.org", "m.room.message", threadReply(m, "99")))
	}
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if bodies := r.bodies(); len(bodies) != 2 || bodies[1] != "There is no option 99. Please write 1 or 2, or an option's name." {
		t.Errorf("sent %q, want one hint to the person", bodies)
	}
	// What another bridge puts up is no person's word, though nobody listed it among the bots.
	others := strings.Replace(react, `{`, `{"`+sendKey+`":"q_other/render/0/keycap/1",`, 1)
	r.put("2", r.says("@dana:ex.org", "m.reaction", others))
	r.work()
	r.expect(q.ID, "pending")
	r.put("3", r.says("@dana:ex.org", "m.reaction", react))
	r.work()
	r.expect(q.ID, "answered run_them by @dana:ex.org")
}

// B1: an answer goes to the question that it names, and to no other.
func TestB1(t *testing.T) {
	r := newRig(t, nil)
	first, m1 := r.ask(plain())
	second, m2 := r.ask(plain())
	r.put("1", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"2"}`))
	r.work()
	r.expect(first.ID, "pending")
	r.expect(second.ID, "pending")
	r.put("2", r.says("@dana:ex.org", "m.room.message", reply2(m2, m1)))
	r.work()
	r.expect(first.ID, "answered skip by @dana:ex.org")
	r.expect(second.ID, "pending")
	// One question is left, but three people are in the room.
	r.put("3", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"2"}`))
	r.work()
	r.expect(second.ID, "pending")
	r.put("4", r.says("@dana:ex.org", "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"`+m2+`","key":"1⃣"}}`))
	r.work()
	r.expect(second.ID, "answered run_them by @dana:ex.org")
}

// reply2 is a real reply to one question in the thread of another.
func reply2(thread, to string) string {
	return `{"msgtype":"m.text","body":"2","m.relates_to":{"rel_type":"m.thread","event_id":"` + thread + `","is_falling_back":false,"m.in_reply_to":{"event_id":"` + to + `"}}}`
}

// B5: the wrong person is refused and told once; the question stays.
func TestB5(t *testing.T) {
	r := newRig(t, nil)
	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, "@dana:ex.org"
	q, m := r.ask(direct)
	mentions := r.server.sent(room, "m.room.message")[0]["content"].(map[string]any)["m.mentions"].(map[string]any)
	if ids, _ := mentions["user_ids"].([]any); len(ids) != 1 || ids[0] != "@dana:ex.org" || mentions["room"] != nil {
		t.Errorf("mentions are %v", mentions)
	}
	r.put("1", r.says("@sam:ex.org", "m.room.message", threadReply(m, "1")), r.says("@sam:ex.org", "m.room.message", threadReply(m, "2")))
	r.put("2", strings.Replace(r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")), room, "!other:ex.org", 1))
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if bodies := r.bodies(); len(bodies) != 2 || bodies[1] != "Only @dana:ex.org can answer this question." {
		t.Errorf("sent %q", bodies)
	}
	r.put("3", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

func TestSetOfItems(t *testing.T) {
	r := newRig(t, nil)
	q := plain()
	q.Items[0].Header = "tests"
	q.Items = append(q.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	q, m := r.ask(q)
	r.put("1", r.echo(r.server.sent(room, "m.room.message")[0]))
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	r.put("3", r.says("@sam:ex.org", "m.room.message", threadReply(m, "early")))
	r.work()
	r.expect(q.ID, "pending") // the next step is not shown yet
	r.clock.Move(time.Second)
	r.pump()
	steps := r.server.sent(room, "m.room.message")
	var second map[string]any
	for _, e := range steps {
		if c := e["content"].(map[string]any); c["elicitation_id"] == string(q.ID)+"/2" {
			second = e
		}
	}
	if second == nil {
		t.Fatalf("no second step in %q", r.bodies())
	}
	relates := second["content"].(map[string]any)["m.relates_to"].(map[string]any)
	if relates["rel_type"] != "m.thread" || relates["event_id"] != m {
		t.Errorf("the second step relates to %v", relates)
	}
	r.put("4", r.echo(second))
	r.clock.Move(time.Second)
	r.put("5", r.says("@sam:ex.org", "m.room.message", threadReply(m, "main")))
	r.work()
	r.pump()
	r.expect(q.ID, `answered skip/"main" by @sam:ex.org`)
}

// A10: a redacted question cannot be answered in the room any more, and its asker sees so.
func TestA10RedactedQuestion(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	r.put("1", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"`+m+`"}`))
	r.work()
	if d := r.question(q.ID).Delivery; d.State != bridge.Failed || d.Reason != bridge.ReasonRedacted {
		t.Errorf("delivery is %+v", d)
	}
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	// A redacted reply cannot be corrected into an answer.
	other, m2 := r.ask(plain())
	r.put("3", r.says("@dana:ex.org", "m.room.message", threadReply(m2, "hm"))) // $p3
	r.put("4", r.says("@dana:ex.org", "m.room.redaction", `{"redacts":"$p3"}`))
	r.put("5", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"* 2","m.new_content":{"msgtype":"m.text","body":"2"},"m.relates_to":{"rel_type":"m.replace","event_id":"$p3"}}`))
	r.work()
	r.expect(other.ID, "pending")
}

// A question in an encrypted room is refused, and one that is pending when its room becomes encrypted cannot be
// answered there.
func TestEncryptedRoom(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	enc := strings.Replace(r.says("@root:ex.org", "m.room.encryption", `{"algorithm":"m.megolm.v1.aes-sha2"}`), `"content"`, `"state_key":"","content"`, 1)
	r.put("1", enc, r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	if d := r.question(q.ID).Delivery; d.State != bridge.Unanswerable {
		t.Errorf("delivery is %+v", d)
	}
	// What the homeserver says of a room in doubt is known before anything in it is read.
	unseen := "!unseen:ex.org"
	server := r.server.addRoom(unseen, "@root:ex.org", "@dana:ex.org")
	moved := plain()
	moved.Conversation = bridge.ConversationID(unseen)
	other := r.askedIn(moved)
	r.pump()
	server.state = append(server.state, r.server.stateEvent("m.room.encryption", "", "@root:ex.org", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}))
	noError(t, r.db.SetDoubtful(t.Context(), bridge.ConversationID(unseen)))
	m2 := string(r.question(other.ID).Delivery.Message)
	r.put("2", strings.Replace(r.says("@dana:ex.org", "m.room.message", threadReply(m2, "2")), room, unseen, 1))
	r.work()
	r.expect(other.ID, "pending")
	// The homeserver may say what it likes now: encrypted is for ever.
	noError(t, r.db.SetDoubtful(t.Context(), room))
	if err := r.Supports(t.Context(), room); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable || !strings.Contains(err.Error(), "not configured") {
		t.Errorf("an encrypted room: %v", err)
	}
}

// Somebody answers the first step while its reactions are still being put up: nothing of that is lost.
func TestAnswerWhilePosting(t *testing.T) {
	r := newRig(t, nil)
	q := plain()
	q.Items[0].Header = "tests"
	q.Items = append(q.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	answered := false
	r.server.after = func(_ http.ResponseWriter, req *http.Request) {
		if answered || req.PathValue("type") != "m.reaction" {
			return
		}
		answered = true
		question := r.server.rooms[room].events[0]
		r.put("1", r.echo(question), r.says("@dana:ex.org", "m.room.message", threadReply(question["event_id"].(string), "2")))
		r.work()
	}
	q, m := r.ask(q)
	r.clock.Move(time.Second)
	r.pump()
	p, err := r.db.Posting(t.Context(), q.ID)
	noError(t, err)
	if len(p.Messages) != 2 || p.Moving {
		t.Fatalf("the posting is %+v", p)
	}
	r.put("2", r.echo(map[string]any{"event_id": string(p.Messages[1].ID), "type": "m.room.message", "sender": bot, "origin_server_ts": 1,
		"content": map[string]any{sendKey: string(q.ID) + "/update/1"}}))
	r.clock.Move(time.Second)
	r.put("3", r.says("@dana:ex.org", "m.room.message", threadReply(m, "main")))
	r.work()
	r.expect(q.ID, `answered skip/"main" by @dana:ex.org`)
}
