package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// someText is a question whose third option needs a text.
const someText = `{"prompt":"Which mirror?","options":[{"value":"main","label":"The main one"},{"value":"skip","label":"None"}],` +
	`"text_input":{"placeholder":"Another one","max_length":60}}`

// prompt waits for the request to somebody to type something.
func (s *stage) prompt(to *testserver.User) testserver.Event {
	s.t.Helper()
	event, err := to.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		mentions, _ := e.Field("m.mentions", "user_ids").([]any)
		return e.Sender == bot && e.MsgType() == "m.notice" && strings.Contains(e.Body(), "“cancel”") && len(mentions) == 1 && mentions[0] == to.ID
	})
	s.ok(err)
	return event
}

func (s *stage) await(question string) *client.Outcome {
	s.t.Helper()
	got, err := s.client().Await(s.ctx, question)
	s.ok(err)
	return got
}

// TestTypedAcrossARestart asks for the text of option 3 in the thread, and kills the bridge before it is typed: when the
// request stands there, and when the bridge does not even know that it does. It is asked for once, and the text counts.
func TestTypedAcrossARestart(t *testing.T) {
	for name, unknown := range map[string]bool{"the request is known": false, "the request is not known": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.start("")
			q, event := s.ask(someText)
			killed := make(chan struct{}, 1)
			if unknown {
				s.proxy.cutAfter(func(r *http.Request) bool {
					if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/send/m.room.message/") {
						return false
					}
					select {
					case killed <- struct{}{}:
						_ = s.bridge.Process.Kill()
					default:
					}
					return true
				})
			}
			_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "3")
			s.ok(err)
			asked := s.prompt(s.alice)
			if want := "“Something else” needs some text from you (“Another one”, up to 60 characters): write it here, or write “cancel” to go back."; asked.Body() != want {
				t.Errorf("asked %q", asked.Body())
			}
			if unknown {
				<-killed
				s.gone()
				s.proxy.cutAfter(nil)
			} else {
				s.kill()
			}
			_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "the one in the cellar")
			s.ok(err)
			s.start("")
			got := s.await(q)
			if text, _ := got.Text(); text != "the one in the cellar" {
				t.Errorf("the answer is %q: %+v", text, got.Question.Answer)
			}
			if who, _ := got.Responder(); who.ID != s.alice.ID {
				t.Errorf("answered by %s", who.ID)
			}
			if outcome := s.outcome(s.alice, q); outcome["text"] != "the one in the cellar" || outcome["option_id"] != nil {
				t.Errorf("the room hears %v", outcome)
			}
			if n := s.count(func(e testserver.Event) bool { return e.Sender == bot && strings.Contains(e.Body(), "“cancel”") }); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// TestFirstWhileAnotherTypes lets bob answer while alice was asked to type: nobody waits for her.
func TestFirstWhileAnotherTypes(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(someText)
	_, err := s.alice.React(s.ctx, s.room, event.ID, "3️⃣")
	s.ok(err)
	s.prompt(s.alice)
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.awaitAnswer(q, "skip", s.bob)
	_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	_, err = s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.Body() == "Already answered: None, by Bob." })
	s.ok(err)
}

// TestASetOfThree asks several options, an option or a text, and a text, one after the other in one thread, and kills the
// bridge after every answer.
func TestASetOfThree(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(`{"prompt":"The release","items":[
		{"header":"Suites","prompt":"Which suites?","multiple":true,"options":["Unit","Browser","Load"]},
		{"header":"Runner","prompt":"On which runner?","options":["Small","Large"],"text_input":{"max_length":60}},
		{"header":"Branch","prompt":"Which branch?","text_input":{"max_length":60}}]}`)
	step := func(id, says string) testserver.Event {
		t.Helper()
		e, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
			return e.Sender == bot && e.Field("elicitation_id") == id && e.Field("suite_event_type") != nil
		})
		s.ok(err)
		if !strings.Contains(e.Body(), says) {
			t.Errorf("the step does not say %q: %q", says, e.Body())
		}
		return e
	}
	say := func(u *testserver.User, text string) {
		t.Helper()
		_, err := u.ThreadReply(s.ctx, s.room, event.ID, text)
		s.ok(err)
	}
	step(q, "(1 of 3)")
	say(s.alice, "1, Load")
	if e := step(q+"/2", "(2 of 3)"); e.Relation().EventID != event.ID {
		t.Errorf("the second step is related to %s", e.Relation().EventID)
	}
	s.kill()
	s.start("")
	say(s.bob, "3")
	s.prompt(s.bob)
	s.kill()
	say(s.bob, "the one in the cellar")
	s.start("")
	step(q+"/3", "(3 of 3)")
	say(s.alice, "main")
	got := s.await(q)
	items, err := json.Marshal(got.Items())
	s.ok(err)
	want := `[{"header":"Suites","selected":["Unit","Load"],"labels":["Unit","Load"],"text":null},` +
		`{"header":"Runner","selected":[],"labels":[],"text":"the one in the cellar"},{"header":"Branch","selected":[],"labels":[],"text":"main"}]`
	if string(items) != want {
		t.Errorf("the answer is %s", items)
	}
	s.toldOnce(q)
}
