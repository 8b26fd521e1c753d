package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// TestAnswersOnARealHomeserver answers questions in every way that people do.
func TestAnswersOnARealHomeserver(t *testing.T) {
	s := newStage(t)
	s.start("")
	for name, c := range map[string]struct {
		do   func(event string) error
		want string
	}{
		"a threaded reply by number": {func(e string) error { _, err := s.alice.ThreadReply(s.ctx, s.room, e, "2"); return err }, "skip"},
		"by name, in another case":   {func(e string) error { _, err := s.alice.ThreadReply(s.ctx, s.room, e, "RUN the tests."); return err }, "run_them"},
		"by id":                      {func(e string) error { _, err := s.alice.ThreadReply(s.ctx, s.room, e, "run_them"); return err }, "run_them"},
		"a rich reply with the old quote": {func(e string) error {
			_, err := s.alice.SendEvent(s.ctx, s.room, "m.room.message", map[string]any{
				"msgtype": "m.text", "body": "> <" + bot + "> 1. Run the tests\n> 2. Skip them\n\n3",
				"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": e}},
			})
			return err
		}, "later"},
		"a thread by its unstable name": {func(e string) error {
			_, err := s.alice.SendEvent(s.ctx, s.room, "m.room.message", map[string]any{
				"msgtype": "m.text", "body": "1", "m.mentions": map[string]any{},
				"m.relates_to": map[string]any{"rel_type": "io.element.thread", "event_id": e, "is_falling_back": true},
			})
			return err
		}, "run_them"},
		"a reaction": {func(e string) error { _, err := s.alice.React(s.ctx, s.room, e, "2️⃣"); return err }, "skip"},
		"a correction by edit": {func(e string) error {
			slip, err := s.alice.ThreadReply(s.ctx, s.room, e, "hm, let me see")
			if err != nil {
				return err
			}
			_, err = s.alice.Edit(s.ctx, s.room, slip, "2")
			return err
		}, "skip"},
		"a structured answer": {func(e string) error {
			q, err := s.alice.Event(s.ctx, s.room, e)
			if err != nil {
				return err
			}
			_, err = s.alice.SendEvent(s.ctx, s.room, "m.room.message", map[string]any{
				"msgtype": "m.text", "body": "Later", "suite_event_type": "dev.superpipeline.question.answer.v2",
				"elicitation_id": q.Field("elicitation_id"), "option_id": "later",
				"m.relates_to": map[string]any{"rel_type": "m.reference", "event_id": e},
			})
			return err
		}, "later"},
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.t = t
			q, event := s.ask(threeWays)
			s.ok(c.do(event.ID))
			s.awaitAnswer(q, c.want, s.alice)
			outcome := s.outcome(s.alice, q)
			if outcome["state"] != "answered" || outcome["option_id"] != c.want || outcome["decided_by"] != s.alice.ID || outcome["question_event_id"] != event.ID {
				t.Errorf("the outcome says %v", outcome)
			}
		})
	}
}

// TestWhatARoomSees follows one question from its posting to its close, as the people in the room see it.
func TestWhatARoomSees(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(threeWays)
	wantBody := "CI asks the room.\n\nMay I run the tests?\n\n1. Run the tests\n2. Skip them\n3. Ask me later\n\nReply in this thread with the number or the option's name."
	if event.Body() != wantBody {
		t.Errorf("the body is %q", event.Body())
	}
	for _, key := range []string{"1️⃣", "2️⃣", "3️⃣"} {
		_, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
			return e.Sender == bot && e.Type == "m.reaction" && e.Relation().Key == key && e.Relation().EventID == event.ID
		})
		s.ok(err)
	}
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "I think we did that yesterday, all 2 of us")
	s.ok(err)
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "7")
	s.ok(err)
	hint, err := s.bob.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.MsgType() == "m.notice" })
	s.ok(err)
	if !strings.Contains(hint.Body(), "There is no option 7") || hint.Relation().EventID != event.ID {
		t.Errorf("the hint is %q, related to %s", hint.Body(), hint.Relation().EventID)
	}
	_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "skip them")
	s.ok(err)
	s.awaitAnswer(q, "skip", s.alice)
	edit, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.Relation().Type == "m.replace" })
	s.ok(err)
	if edit.Relation().EventID != event.ID || !strings.HasPrefix(edit.NewBody(), "Skip them, by Alice.") {
		t.Errorf("the question now reads %q", edit.NewBody())
	}
	for range 3 {
		_, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Type == "m.room.redaction" && e.Sender == bot })
		s.ok(err)
	}
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	late, err := s.bob.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.notice" && e.ID != hint.ID && e.Relation().Type != "m.replace" &&
			e.Field("dev.superpipeline.question.outcome") == nil
	})
	s.ok(err)
	if late.Body() != "Already answered: Skip them, by Alice." {
		t.Errorf("who came late is told %q", late.Body())
	}
	var said []string
	s.count(func(e testserver.Event) bool {
		if e.Sender == bot && e.MsgType() == "m.notice" && e.Relation().Type != "m.replace" { // the question itself becomes a notice
			said = append(said, e.ID+" "+e.Body())
		}
		return false
	})
	if len(said) != 3 {
		t.Errorf("the bot said this in the thread, want a hint, the outcome and a word to who came late:\n%s", strings.Join(said, "\n"))
	}
}

// TestTwoPeopleRace lets two people answer at once.
func TestTwoPeopleRace(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(threeWays)
	errs := make(chan error, 2)
	go func() { _, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "1"); errs <- err }()
	go func() { _, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2"); errs <- err }()
	s.ok(<-errs)
	s.ok(<-errs)
	got, err := s.client().Await(s.ctx, q)
	s.ok(err)
	who, _ := got.Responder()
	value, _ := got.Value()
	winner, loser, name := s.alice, s.bob, "Alice"
	if who.ID == s.bob.ID {
		winner, loser, name = s.bob, s.alice, "Bob"
	}
	if outcome := s.outcome(loser, q); outcome["decided_by"] != winner.ID || outcome["option_id"] != value {
		t.Errorf("the asker heard %s by %s, the room %v", value, who.ID, outcome)
	}
	_, err = loser.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		mentions, _ := e.Field("m.mentions", "user_ids").([]any)
		return e.Sender == bot && e.MsgType() == "m.notice" && strings.Contains(e.Body(), name) &&
			e.Field("dev.superpipeline.question.outcome") == nil && (len(mentions) == 0 || mentions[0] == loser.ID)
	})
	s.ok(err)
}

// carriersQuestion is one that a carrier posts itself.
func carriersQuestion() map[string]any {
	return map[string]any{
		"msgtype": "m.text", "suite_event_type": "dev.superpipeline.question.v2", "schema_version": 1, "elicitation_id": "elc_9",
		"body":     "An agent is waiting on you — \"Launch post\" at stage `draft`.\n\nWhich headline?\n\n1. Ship it today\n2. Ship it Monday\n\nReply with the number, or the option's name.",
		"board_id": "brd_1", "card_id": "crd_1", "run_id": "run_1", "stage_key": "draft", "card_title": "Launch post", "asked_by": "agt_1",
		"question": "Which headline?", "options": []any{
			map[string]any{"id": "a", "label": "Ship it today", "meaning": "choose", "needs_comment": false},
			map[string]any{"id": "b", "label": "Ship it Monday", "meaning": "choose", "needs_comment": false},
		},
	}
}

// TestACarriersQuestion is adopted, answered in its thread, and its outcome is read by the carrier; its message is not
// touched.
func TestACarriersQuestion(t *testing.T) {
	s := newStage(t)
	s.start("")
	content := carriersQuestion()
	event, err := s.hub.SendEvent(s.ctx, s.room, "m.room.message", content)
	s.ok(err)
	_, err = s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { // adopted: the bot's reactions stand under it
		return e.Sender == bot && e.Type == "m.reaction" && e.Relation().EventID == event && e.Relation().Key == "2️⃣"
	})
	s.ok(err)
	_, err = s.alice.ThreadReply(s.ctx, s.room, event, "ship it monday")
	s.ok(err)
	outcome := s.outcome(s.hub, "elc_9")
	if outcome["option_id"] != "b" || outcome["decided_by"] != s.alice.ID || outcome["board_id"] != "brd_1" || outcome["question_event_id"] != event {
		t.Errorf("the carrier reads %v", outcome)
	}
	if n := s.count(func(e testserver.Event) bool { return e.Sender == bot && e.Relation().Type == "m.replace" }); n != 0 {
		t.Error("the bridge edited a carrier's message")
	}

	delete(content, "question")
	bad, err := s.hub.SendEvent(s.ctx, s.room, "m.room.message", content)
	s.ok(err)
	refusal, err := s.hub.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.notice" && e.Relation().EventID == bad
	})
	s.ok(err)
	if !strings.Contains(refusal.Body(), "schema") {
		t.Errorf("the carrier is told %q, without the rule", refusal.Body())
	}
}

// TestExpiredWhileDown lets a question's time pass while the bridge is down: it expires once, and says so.
func TestExpiredWhileDown(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(strings.Replace(threeWays, "{", `{"ttl":30,`, 1))
	s.kill()
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "1 please") // talk, while nobody listens
	s.ok(err)
	wait := time.NewTimer(time.Until(expiry(t, s, q)))
	defer wait.Stop()
	<-wait.C // the deadline itself: the least ttl is 30 seconds
	s.start("")
	got, err := s.client().Await(s.ctx, q)
	s.ok(err)
	if !got.NoAnswer() || got.Question.Answer != nil {
		t.Errorf("it ended as %s with %v", got.State, got.Question.Answer)
	}
	if outcome := s.outcome(s.alice, q); outcome["state"] != "expired" {
		t.Errorf("the room hears %v", outcome)
	}
}

func expiry(t *testing.T, s *stage, _ string) time.Time {
	t.Helper()
	event, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Field("question") == "May I run the tests?" })
	s.ok(err)
	return time.UnixMilli(event.SentAt).Add(31 * time.Second)
}

// TestAShellGate is the headline use of the command line: a person's decision is a shell condition. It is also in
// examples, as a script.
func TestAShellGate(t *testing.T) {
	s := newStage(t)
	s.start("")
	path := filepath.Dir(s.buildQuestion())
	for prompt, command := range map[string][]string{
		"Deploy to prod?":    {"sh", "-c", `if [ "$(question ask OPS "$0" --yes-no --wait)" = "approve" ]; then echo deploying; else echo stopped; fi`, "Deploy to prod?"},
		"Deploy to staging?": {filepath.Join("..", "..", "examples", "gate.sh"), "OPS", "Deploy to staging?", "echo", "deploying"},
	} {
		script := exec.CommandContext(s.ctx, command[0], command[1:]...)
		script.Env = append(os.Environ(), "QUESTION_SERVER="+s.api, "QUESTION_TOKEN="+s.token, "PATH="+path+":"+os.Getenv("PATH"))
		out := make(chan string, 1)
		go func() {
			o, err := script.Output()
			if err != nil {
				o = append(o, err.Error()...)
			}
			out <- string(o)
		}()
		event, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Field("question") == prompt })
		s.ok(err)
		_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "yes")
		s.ok(err)
		select {
		case got := <-out:
			if got != "deploying\n" {
				t.Errorf("%s: the script printed %q", prompt, got)
			}
		case <-s.ctx.Done():
			t.Fatal("the script still waits")
		}
	}
}
