package matrix

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// echoes gives the bot everything back that it has sent and not seen yet, as sent now, and handles it.
func (r *rig) echoes() {
	r.t.Helper()
	for _, e := range r.server.sent(room, "m.room.message") {
		e["origin_server_ts"] = r.clock.Now().UnixMilli()
		r.put("echo", r.echo(e))
	}
	r.work()
	r.clock.Move(time.Second)
}

// does lets somebody do something, and has everything that it causes done.
func (r *rig) does(sender, eventType, content string) {
	r.t.Helper()
	r.put("x", r.says(sender, eventType, content))
	r.work()
	r.pump()
	r.echoes()
}

func (r *rig) replies(sender, root, body string) {
	r.t.Helper()
	r.does(sender, "m.room.message", threadReply(root, body))
}

// newest is the body of what was sent to the room last.
func (r *rig) newest() string {
	bodies := r.bodies()
	return bodies[len(bodies)-1]
}

// promptsSent gives the requests for a text that stand in the room.
func (r *rig) promptsSent() (prompts []map[string]any) {
	for _, e := range r.server.sent(room, "m.room.message") {
		if strings.Contains(fmt.Sprint(e["content"].(map[string]any)[sendKey]), "/prompt/") {
			prompts = append(prompts, e)
		}
	}
	return prompts
}

const dana, sam = "@dana:ex.org", "@sam:ex.org"

// An option that needs a text is asked for in the thread: one notice to that person alone, which is no step. The bridge may
// stop at every point between.
func TestPrompt(t *testing.T) {
	r := newRig(t, nil)
	asked := typing()
	asked.Items[0].Options[2].Input.Label = "Which\nmirror"
	q, m := r.ask(asked)
	r.echoes()
	reactions := len(r.server.sent(room, "m.reaction"))
	r.replies(dana, m, "3")
	choosing := fmt.Sprintf("$p%d", r.next)
	r.restart()
	prompts := r.promptsSent()
	if len(prompts) != 1 {
		t.Fatalf("said %q", r.bodies())
	}
	content := prompts[0]["content"].(map[string]any)
	want := "“Something else” needs some text from you (“Which mirror”, up to 20 characters): write it here, or write “cancel” to go back."
	if content["msgtype"] != "m.notice" || content["body"] != want {
		t.Errorf("asked by %s: %s", content["msgtype"], content["body"])
	}
	relates := content["m.relates_to"].(map[string]any)
	if fmt.Sprint(content["m.mentions"]) != "map[user_ids:["+dana+"]]" || relates["event_id"] != m || relates["rel_type"] != "m.thread" ||
		relates["is_falling_back"] != false || fmt.Sprint(relates["m.in_reply_to"]) != "map[event_id:"+choosing+"]" {
		t.Errorf("the prompt mentions %v and relates to %v", content["m.mentions"], relates)
	}
	if got := len(r.server.sent(room, "m.reaction")); got != reactions {
		t.Errorf("%d reactions were put up besides", got-reactions)
	}
	p, err := r.db.Posting(t.Context(), q.ID)
	noError(t, err)
	if len(p.Messages) != 1 || p.Moving || len(p.Asides) != 1 || p.Asides[0].To != dana || string(p.Asides[0].About) != choosing || p.Asides[0].Seq == 0 {
		t.Errorf("the posting is %+v", p)
	}
	r.expect(q.ID, "pending")
	r.replies(dana, m, "the other one")
	r.expect(q.ID, `answered other input "the other one" by @dana:ex.org`)
	if r.newest() != "Something else — “the other one”, by Dana." {
		t.Errorf("said %q", r.newest())
	}
}

// What is asked for differs with the option: a web address, a comment, and both one after the other.
func TestPromptTexts(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	r.replies(dana, m, "4")
	if want := "“Use a mirror” needs a web address from you (up to 40 characters): write it here, or write “cancel” to go back."; r.newest() != want {
		t.Errorf("asked %q", r.newest())
	}
	r.replies(dana, m, "cancel")
	r.expect(q.ID, "pending")
	r.replies(dana, m, "https://ex.org") // talk
	r.expect(q.ID, "pending")
	r.replies(dana, m, "5")
	first := r.newest()
	r.replies(dana, m, "first")
	if want := "“Revise” needs a comment from you (up to 4000 characters): write it here, or write “cancel” to go back."; first == r.newest() || r.newest() != want {
		t.Errorf("asked %q, then %q", first, r.newest())
	}
	r.restart()
	r.replies(dana, m, "second")
	r.expect(q.ID, `answered both input "first" comment "second" by @dana:ex.org`)
}

// The same event asks once, a new one anew; nobody waits for anybody.
func TestPromptForEach(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	choosing := r.says(dana, "m.room.message", threadReply(m, "3"))
	for _, txn := range []string{"1", "2"} {
		r.put(txn, choosing)
		r.work()
		r.pump()
		r.echoes()
	}
	r.does(sam, "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"`+m+`","key":"3️⃣"}}`)
	if n := len(r.promptsSent()); n != 2 {
		t.Errorf("asked %d times, want each of them once", n)
	}
	r.does(dana, "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"`+m+`","key":"3️⃣"}}`)
	if n := len(r.promptsSent()); n != 3 {
		t.Errorf("asked %d times after a new choice", n)
	}
	r.replies(sam, m, "sam's")
	r.expect(q.ID, `answered other input "sam's" by @sam:ex.org`)
	r.replies(dana, m, "dana's")
	if want := "Already answered: Something else — “sam's”, by Sam."; r.newest() != want {
		t.Errorf("who came late is told %q", r.newest())
	}
}

// Who chose by an edit is asked in reply to the message that they edited.
func TestPromptAfterAnEdit(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	r.replies(dana, m, "hm")
	slip := fmt.Sprintf("$p%d", r.next)
	r.does(dana, "m.room.message", `{"msgtype":"m.text","body":"* 3","m.new_content":{"msgtype":"m.text","body":"3"},"m.relates_to":{"rel_type":"m.replace","event_id":"`+slip+`"}}`)
	prompts := r.promptsSent()
	if len(prompts) != 1 {
		t.Fatalf("said %q", r.bodies())
	}
	if to := prompts[0]["content"].(map[string]any)["m.relates_to"].(map[string]any)["m.in_reply_to"]; fmt.Sprint(to) != "map[event_id:"+slip+"]" {
		t.Errorf("asked in reply to %v", to)
	}
	r.does(dana, "m.room.redaction", `{"redacts":"`+slip+`"}`)
	r.replies(dana, m, "the other one")
	r.expect(q.ID, "pending")
}

// Somebody else answers while one person types.
func TestSomebodyElseIsFirst(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	r.put("1", r.says(sam, "m.room.message", threadReply(m, "hm")))
	r.work()
	slip := fmt.Sprintf("$p%d", r.next)
	r.replies(dana, m, "3")
	r.does(sam, "m.room.message", `{"msgtype":"m.text","body":"* 2","m.new_content":{"msgtype":"m.text","body":"2"},"m.relates_to":{"rel_type":"m.replace","event_id":"`+slip+`"}}`)
	r.expect(q.ID, "answered skip by @sam:ex.org")
}

// The prompt was sent, and the bridge does not know it: it is found again, and what was written for it meanwhile counts.
func TestPromptFoundAgain(t *testing.T) {
	for option, want := range map[string]string{"3": "other input", "7": "why comment"} {
		t.Run(want, func(t *testing.T) { promptFoundAgain(t, option, want) })
	}
}

func promptFoundAgain(t *testing.T, option, want string) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q, m := r.ask(typing())
	r.echoes()
	r.put("1", r.says(dana, "m.room.message", threadReply(m, option)))
	r.work()
	cut(r, 1)
	if waiting := r.pump(); len(waiting) != 1 {
		t.Fatalf("the lost answer gave %v", waiting)
	}
	r.server.forgetTransactions()
	r.echoes() // of the prompt too, which comes before what is written for it
	r.put("2", r.says(dana, "m.room.message", threadReply(m, "the other one")))
	r.clock.Move(time.Hour / 2) // the bridge was away
	r.restart()
	r.work()
	r.expect(q.ID, "pending")
	r.clock.Move(2 * flight)
	r.pump()
	r.work()
	r.expect(q.ID, `answered `+want+` "the other one" by @dana:ex.org`)
	if n := len(r.promptsSent()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// What is written while a prompt is not even begun to be sent does not wait for it, and neither does what comes while
// it cannot be sent for long.
func TestTalkDoesNotWaitForAPrompt(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q, m := r.ask(typing())
	r.echoes()
	unhandled := func() int {
		events, err := r.db.NextEvents(t.Context(), r.clock.Now().Add(time.Hour), 10)
		noError(t, err)
		return len(events)
	}
	r.put("1", r.says(dana, "m.room.message", threadReply(m, "3")), r.says(dana, "m.room.message", threadReply(m, "let me see")))
	r.work()
	if n := unhandled(); n != 0 {
		t.Fatalf("%d events wait", n)
	}
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if isSend(req) {
			w.WriteHeader(502)
		}
		return isSend(req)
	})
	r.pump()
	r.put("2", r.says(dana, "m.room.message", threadReply(m, "still looking")), r.says(sam, "m.room.message", threadReply(m, "me too")))
	r.work()
	if n := unhandled(); n == 0 {
		t.Fatal("what could be for the prompt did not wait")
	}
	r.clock.Move(linkWait + time.Second)
	r.work()
	if n := unhandled(); n != 0 {
		t.Errorf("%d events wait", n)
	}
	r.expect(q.ID, "pending")
}

// Redacting what chose the option goes back to the options.
func TestChoiceRedacted(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	r.replies(dana, m, "3")
	r.does(dana, "m.room.redaction", fmt.Sprintf(`{"redacts":"$p%d"}`, r.next))
	r.replies(dana, m, "the other one")
	r.expect(q.ID, "pending")
	r.replies(dana, m, "2")
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// What cannot be the text is told, also to somebody who was given a hint before, and it is still waited for.
func TestPromptRefusals(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(typing())
	r.echoes()
	r.replies(dana, m, "99")
	r.replies(dana, m, "3")
	for text, want := range map[string]string{
		strings.Repeat("x", 21): texts.TooLong(20), "2": texts.InputOrOption(3),
	} {
		r.replies(dana, m, text)
		if r.newest() != want {
			t.Errorf("%q is told %q, want %q", text, r.newest(), want)
		}
	}
	r.replies(dana, m, "3: 2")
	r.expect(q.ID, `answered other input "2" by @dana:ex.org`)
}

// Who may not choose an option is not asked to type for it.
func TestNoPromptForWhoMayNot(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admins.Users = []bridge.UserID{sam} })
	asked := typing()
	asked.Items[0].Options[2].Requires = bridge.RequiresWorkspaceAdmin
	q, m := r.ask(asked)
	r.echoes()
	r.replies(dana, m, "3")
	if r.newest() != texts.AdminsOnly || len(r.promptsSent()) != 0 {
		t.Errorf("said %q", r.newest())
	}
	r.replies(sam, m, "3")
	r.replies(sam, m, "the other one")
	r.expect(q.ID, `answered other input "the other one" by @sam:ex.org`)
}

// Declining an exact operation with a comment is asked for in the thread too, and can be taken back.
func TestPromptAboutASubject(t *testing.T) {
	r := newRig(t, nil)
	asked := typing()
	asked.Subject = &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "s", Digest: "d", Schema: "x", Revision: 1}}
	q, m := r.ask(asked)
	r.echoes()
	r.replies(dana, m, "3")
	if len(r.promptsSent()) != 0 {
		t.Error("a reply may not choose this, and is asked for more")
	}
	r.replies(dana, m, "7")
	r.replies(dana, m, "cancel")
	r.replies(dana, m, "too risky")
	r.expect(q.ID, "pending")
	r.replies(dana, m, "7")
	r.replies(dana, m, "too risky")
	r.expect(q.ID, `answered why comment "too risky" by @dana:ex.org`)
}

// A set is asked step by step, and says at which step it is; several options, a text asked for, and a restart at every
// point.
func TestSetWithTyping(t *testing.T) {
	r := newRig(t, nil)
	asked := q1()
	options := asked.Items[0].Options
	typed := &bridge.TextInput{MaxLength: 20, Placeholder: "Which one"}
	asked.Items = []bridge.Item{
		{Header: "suites", Prompt: "Which suites?", Multiple: true, Options: options[:2]},
		{Header: "runner", Prompt: "On which runner?", Text: typed, Options: []bridge.Option{options[0], options[1],
			{ID: "_text", Label: "Something else", Meaning: bridge.Choose, Typed: true, Input: &bridge.Input{Kind: bridge.InputText, Label: "Which one", Required: true, MaxLength: 20}}}},
		{Header: "branch", Prompt: "Which branch?", Text: typed},
	}
	q, m := r.ask(asked)
	r.echoes()
	step := func(n int) string {
		t.Helper()
		for _, e := range r.server.sent(room, "m.room.message") {
			if content := e["content"].(map[string]any); content["elicitation_id"] == fmt.Sprintf("%s/%d", q.ID, n) {
				if body := fmt.Sprint(content["body"]); !strings.Contains(body, fmt.Sprintf("(%d of 3)", n)) {
					t.Errorf("step %d says %q", n, body)
				}
				return e["event_id"].(string)
			}
		}
		t.Fatalf("step %d is not asked: %q", n, r.bodies())
		return ""
	}
	if first := r.bodies()[0]; !strings.Contains(first, "(1 of 3)") {
		t.Errorf("the first step says %q", first)
	}
	r.put("1", r.says(dana, "m.room.message", threadReply(m, "2, 1")))
	r.work()
	r.put("2", r.says(sam, "m.room.message", threadReply(m, "1")))
	r.restart()
	r.work()
	r.pump()
	r.echoes()
	if r.newest() != texts.StillPosting {
		t.Errorf("somebody faster than the next step is told %q", r.newest())
	}
	second := step(2)
	r.replies(sam, m, "3")
	prompt := r.promptsSent()
	if len(prompt) != 1 {
		t.Fatalf("said %q", r.bodies())
	}
	r.restart()
	r.does(dana, "m.room.message", reply2(m, m)) // to the first step
	if r.newest() != texts.StepOver {
		t.Errorf("who answers an earlier step is told %q", r.newest())
	}
	r.does(sam, "m.room.message", strings.Replace(reply2(m, fmt.Sprint(prompt[0]["event_id"])), `"2"`, `"the big one"`, 1))
	step(3)
	r.restart()
	asides := fmt.Sprint(prompt[0]["event_id"])
	r.does(sam, "m.room.message", reply2(m, asides)) // to the request of the step before
	r.does(sam, "m.room.message", reply2(m, second))
	r.expect(q.ID, "pending")
	r.replies(dana, m, "main")
	r.expect(q.ID, `answered run_them+skip/"the big one"/"main" by @dana:ex.org`)
	if want := "suites: Run the tests, Skip them; runner: “the big one”; branch: “main”, by Dana."; r.newest() != want {
		t.Errorf("said %q", r.newest())
	}
}
