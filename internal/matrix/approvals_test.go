package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// hookOf wants exactly one webhook of a question, of one event.
func (r *rig) hookOf(q bridge.QuestionID, event string) {
	r.t.Helper()
	r.pump()
	var of []string
	for _, h := range r.hooks {
		if strings.HasSuffix(h, " "+string(q)+"/webhook") {
			of = append(of, h)
		}
	}
	if want := []string{event + " " + string(q) + "/webhook"}; !slices.Equal(of, want) {
		r.t.Errorf("the webhook was told %q, want %q", of, want)
	}
}

// shown is the text that a message of the bridge has now, after its edits.
func (r *rig) shown(m string) string {
	body := ""
	for _, e := range r.server.sent(room, "m.room.message") {
		c := content(e)
		relates, _ := c["m.relates_to"].(map[string]any)
		switch {
		case e["event_id"] == m:
			body = c["body"].(string)
		case relates["rel_type"] == "m.replace" && relates["event_id"] == m:
			body = c["m.new_content"].(map[string]any)["body"].(string)
		}
	}
	return body
}

// B1, both in one thread: a reply goes to the question that it names, a word in the thread to none that is not its root.
func TestB1TwoInOneThread(t *testing.T) {
	r := carrierRig(t)
	inThread := func(id, root string) string {
		var c map[string]any
		noError(t, json.Unmarshal([]byte(carriedQuestion), &c))
		c["elicitation_id"] = id
		if root != "" {
			c["m.relates_to"] = map[string]any{"rel_type": "m.thread", "event_id": root}
		}
		raw, _ := json.Marshal(c)
		return string(raw)
	}
	find := func(id string) bridge.QuestionID {
		q, err := r.db.QuestionByElicitation(t.Context(), "pod", id)
		noError(t, err)
		return q.ID
	}
	talk := r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"let us see"}`) // $p1
	r.put("1", talk, r.says("@pod:ex.org", "m.room.message", inThread("elc_1", "$p1")), r.says("@pod:ex.org", "m.room.message", inThread("elc_2", "$p1")))
	r.work()
	one, two := find("elc_1"), find("elc_2") // $p2 and $p3
	r.put("2", r.says("@dana:ex.org", "m.room.message", strings.Replace(threadReply("$p1", "2"), `"m.in_reply_to":{"event_id":"$p1"}`, `"m.in_reply_to":{"event_id":"$p3"}`, 1)))
	r.put("3", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"2"}`))
	r.work()
	r.expect(one, "pending")
	r.expect(two, "pending")
	r.put("4", r.says("@dana:ex.org", "m.room.message", strings.Replace(reply2("$p1", "$p2"), `"body":"2"`, `"body":"1"`, 1)))
	r.work()
	r.expect(one, "answered run_them by @dana:ex.org")
	r.expect(two, "pending")
	r.put("5", r.says("@sam:ex.org", "m.reaction", react("$p3", "2️⃣")))
	r.work()
	r.expect(two, "answered skip by @sam:ex.org")

	// The first is the root of the thread that the second stands in.
	r.put("6", r.says("@pod:ex.org", "m.room.message", inThread("elc_3", ""))) // $p8
	r.put("7", r.says("@pod:ex.org", "m.room.message", inThread("elc_4", "$p8")))
	r.work()
	r.put("8", r.says("@dana:ex.org", "m.room.message", strings.Replace(threadReply("$p8", "2"), `"m.in_reply_to":{"event_id":"$p8"}`, `"m.in_reply_to":{"event_id":"$p9"}`, 1)))
	r.work()
	r.expect(find("elc_3"), "answered skip by @dana:ex.org")
	r.expect(find("elc_4"), "pending")
}

// B2: silence ends as expired, with no answer, whatever the options are and whoever is told; cancelled is something else.
func TestB2(t *testing.T) {
	primary := yesNo()
	primary.Items[0].Options[0].Style = "primary"
	only := yesNo()
	only.Items[0].Options = only.Items[0].Options[:1]
	for name, q := range map[string]bridge.Question{"approve and deny": yesNo(), "one primary option": primary, "one option": only, "text": freeText()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil).hooked()
			q, m := r.ask(q)
			r.hookDown = true
			r.clock.Move(time.Hour - time.Millisecond)
			if n, err := r.engine.Expire(t.Context(), 10); n != 0 || err != nil {
				t.Fatalf("expired %d ahead of time, %v", n, err)
			}
			r.expect(q.ID, "pending")
			r.clock.Move(time.Millisecond)
			if n, err := r.engine.Expire(t.Context(), 10); n != 1 || err != nil {
				t.Fatalf("expired %d, %v", n, err)
			}
			r.pump()
			r.expect(q.ID, "expired")
			if got, err := r.engine.Fetch(t.Context(), "ci", q.ID); err != nil || got.Answer != nil || got.CancelledBy != "" {
				t.Errorf("the asker reads %+v, %v", got, err)
			}
			r.hookDown = false
			r.clock.Move(time.Minute)
			r.hookOf(q.ID, "question.expired")
			if shown := r.shown(m); !strings.HasPrefix(shown, "No answer: this question has expired.") {
				t.Errorf("the room sees %q", shown)
			}
		})
	}
	r := newRig(t, nil).hooked()
	q, m := r.ask(yesNo())
	r.clock.Move(time.Hour - 100*time.Millisecond)
	if got, err := r.engine.Cancel(t.Context(), "ci", q.ID); err != nil || got.State != bridge.Cancelled || got.CancelledBy != bridge.ByAsker {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	r.clock.Move(time.Minute)
	if n, err := r.engine.Expire(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("expired %d, %v", n, err)
	}
	r.hookOf(q.ID, "question.cancelled")
	if shown := r.shown(m); !strings.HasPrefix(shown, "Cancelled: its asker has withdrawn this question.") {
		t.Errorf("the room sees %q", shown)
	}
}

// B3: the deadline counts though nobody swept, and the room is shown what is stored.
func TestB3(t *testing.T) {
	t.Run("a: over HTTP, a second late", func(t *testing.T) {
		r := newRig(t, nil).hooked()
		q, _ := r.ask(yesNo())
		r.clock.Move(time.Hour + time.Second)
		if got, err := r.engine.Answer(t.Context(), "@dana:ex.org", q.ID, overHTTP("approve", nil)); err != nil || got.State != bridge.Expired || got.Answer != nil {
			t.Errorf("%s with %v, %v", got.State, got.Answer, err)
		}
		r.hookOf(q.ID, "question.expired")
	})
	t.Run("b: the subject lapsed first", func(t *testing.T) {
		r := newRig(t, isRoot).hooked()
		q, m := r.askV2(approval(func(_, s map[string]any) { s["expires_at"] = testStart.Add(30 * time.Minute).Format(time.RFC3339) }))
		for _, past := range []time.Duration{30 * time.Minute, time.Second} { // at that very instant, and after it
			r.clock.Move(past)
			ref := q.Subject.SubjectRef
			if _, err := r.engine.Answer(t.Context(), "@root:ex.org", q.ID, overHTTP("approve", &ref)); bridge.CodeOf(err) != bridge.CodeSubjectLapsed {
				t.Errorf("over HTTP: %v", err)
			}
			r.put(past.String(), r.says("@root:ex.org", "m.room.message", decided(q, m, "approve", exactly("D1", 1))))
			r.work()
			r.expect(q.ID, "pending")
		}
		r.put("late", r.says("@dana:ex.org", "m.room.message", threadReply(m, "4")))
		r.work()
		r.expect(q.ID, "answered deny by @dana:ex.org")
		r.hookOf(q.ID, "question.answered")
	})
	t.Run("c and d: a reaction at the deadline", func(t *testing.T) {
		r := newRig(t, nil).hooked()
		q, m := r.ask(yesNo())
		r.clock.Move(time.Hour)
		r.put("1", r.says("@dana:ex.org", "m.reaction", react(m, "1️⃣")))
		r.work()
		r.hookOf(q.ID, "question.expired")
		r.expect(q.ID, "expired")
		if shown := r.shown(m); !strings.HasPrefix(shown, "No answer: this question has expired.") {
			t.Errorf("the room sees %q", shown)
		}
		said := slices.DeleteFunc(r.bodies(), func(s string) bool { return s != "No answer: this question has expired." })
		if len(said) != 2 { // the outcome, and to whoever came late
			t.Errorf("told %q", r.bodies())
		}
	})
}

// B4, on the database: what was acknowledged is handled by the next process, and what expired meanwhile expires once.
func TestB4Restart(t *testing.T) {
	r := newRig(t, nil).hooked()
	q, m := r.ask(plain())
	expiring, _ := r.ask(plain())
	r.put("1", r.says("@dana:ex.org", "m.reaction", react(m, "2️⃣"))) // acknowledged, and then everything dies
	r.restart()
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	r.hookOf(q.ID, "question.answered")
	r.clock.Move(2 * time.Hour)
	r.restart()
	for _, want := range []int{1, 0} {
		if n, err := r.engine.Expire(t.Context(), 10); n != want || err != nil {
			t.Errorf("expired %d, want %d: %v", n, want, err)
		}
		r.restart()
		r.hookOf(expiring.ID, "question.expired")
	}
	r.expect(expiring.ID, "expired")
}

// B5: what only a workspace admin may choose; an empty list is nobody; and over HTTP the person is who they are.
func TestB5AdminsOnly(t *testing.T) {
	r := newRig(t, isRoot).hooked()
	q, m := r.ask(gated())
	for i, who := range []string{"@dana:ex.org", "@dana:ex.org", "@sam:ex.org"} {
		r.put(fmt.Sprint(i), r.says(who, "m.room.message", threadReply(m, "3")), r.says(who, "m.reaction", react(m, "3️⃣")))
	}
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	const denied = "Only workspace owners and admins can choose this. Please ask one of them, or choose another option."
	if said := r.bodies(); len(said) != 3 || said[1] != denied || said[2] != denied {
		t.Errorf("told %q", said[1:])
	}
	if _, err := r.engine.Answer(t.Context(), "@dana:ex.org", q.ID, overHTTP("always", nil)); bridge.CodeOf(err) != bridge.CodeAdminsOnly {
		t.Errorf("over HTTP: %v", err)
	}
	r.put("root", r.says("@root:ex.org", "m.room.message", threadReply(m, "3")))
	r.work()
	r.expect(q.ID, "answered always by @root:ex.org")
	r.hookOf(q.ID, "question.answered")

	nobody := newRig(t, func(c *Config) { c.Admins.Rooms = map[string][]bridge.UserID{room: {}} })
	q, m = nobody.ask(gated())
	for i, who := range []string{"@root:ex.org", "@dana:ex.org"} {
		nobody.put(fmt.Sprint(i), nobody.says(who, "m.room.message", threadReply(m, "3")))
	}
	nobody.work()
	nobody.expect(q.ID, "pending")

	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, "@dana:ex.org"
	q, _ = nobody.ask(direct)
	if _, err := nobody.engine.Answer(t.Context(), "@sam:ex.org", q.ID, overHTTP("skip", nil)); bridge.CodeOf(err) != bridge.CodeNotEligible {
		t.Errorf("sam, for dana: %v", err)
	}
	nobody.expect(q.ID, "pending")
}

// B11: the answer stands, whatever becomes of the messages that show it.
func TestB11ClosingFails(t *testing.T) {
	r := newRig(t, nil).hooked()
	q, m := r.ask(plain())
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	failures := 0
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if req.Method != http.MethodPut || failures >= 5 {
			return false
		}
		failures++
		w.WriteHeader(500)
		return true
	})
	for range 10 {
		r.pump()
		r.expect(q.ID, "answered skip by @dana:ex.org")
		r.clock.Move(time.Minute)
	}
	if shown := r.shown(m); failures != 5 || !strings.HasPrefix(shown, "Skip them, by Dana.") || len(r.bodies()) != 2 {
		t.Errorf("after %d failures the room sees %q and hears %q", failures, shown, r.bodies())
	}
	r.hookOf(q.ID, "question.answered")
}

// B15: the meaning decides what an option does, never its label; and nothing that is typed cancels a question.
func TestB15Meaning(t *testing.T) {
	label := func(labels ...string) func(content, _ map[string]any) {
		return func(content, _ map[string]any) {
			var options []any
			for i, l := range labels {
				name, meaning, _ := strings.Cut(l, "=")
				options = append(options, map[string]any{"id": fmt.Sprint("o", i+1), "label": name, "meaning": meaning, "needs_comment": false})
			}
			content["options"] = options
		}
	}
	r := newRig(t, nil)
	q, m := r.askV2(approval(label("Approve=reject", "Deny=approve", "Allow=choose")))
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "Deny")), r.says("@dana:ex.org", "m.room.message", threadReply(m, "Allow")),
		r.says("@dana:ex.org", "m.room.message", threadReply(m, "cancel")), r.says("@dana:ex.org", "m.room.message", threadReply(m, "/skip")))
	r.work()
	r.expect(q.ID, "pending")
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "Approve")))
	r.work()
	r.expect(q.ID, "answered o1 by @dana:ex.org")
	if a := r.question(q.ID).Answer; a.Meaning != bridge.Reject {
		t.Errorf("its meaning is %s", a.Meaning)
	}
	for i, c := range []struct{ labels, reply, want string }{
		{"Run Skip", "skip", "o2"}, {"Run Pass", "pass", "o2"}, {"Allow Stop", "Allow", "o1"}, {"Run Cancel", "cancel", "o2"},
	} {
		one, two, _ := strings.Cut(c.labels, " ")
		q := plain()
		q.Items[0].Options = []bridge.Option{{ID: "o1", Label: one, Meaning: bridge.Choose}, {ID: "o2", Label: two, Meaning: bridge.Choose}}
		q, m := r.ask(q)
		r.put(fmt.Sprint("b", i), r.says("@dana:ex.org", "m.room.message", threadReply(m, c.reply)))
		r.work()
		r.expect(q.ID, "answered "+c.want+" by @dana:ex.org")
		if a := r.question(q.ID).Answer; a == nil || a.Meaning != bridge.Choose {
			t.Errorf("%q means %+v", c.reply, a)
		}
	}
	unlike := plain() // its id would be a word that answers
	unlike.Items[0].Options[1].ID = "skip_them"
	q, m = r.ask(unlike)
	r.put("3", r.says("@dana:ex.org", "m.room.message", threadReply(m, "skip")), r.says("@dana:ex.org", "m.room.message", threadReply(m, "cancel")))
	r.work()
	r.expect(q.ID, "pending")
}
