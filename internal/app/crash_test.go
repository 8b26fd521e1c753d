package app

import (
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// TestKilledBetweenReceiptAndHandling kills the bridge after it took a reply and before it read it: the homeserver never
// sends that reply again, and it counts all the same (guarantee 1; field cases A16 and B4).
func TestKilledBetweenReceiptAndHandling(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.ask(threeWays)
	s.kill()
	s.start("receive")
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.gone() // it dies of the reply
	s.start("")
	s.awaitAnswer(q, "skip", s.alice)
	s.toldOnce(q)
}

// TestKilledBetweenSettlingAndOutcome kills the bridge when the answer is stored and nobody was told: the room and the
// asker are told after the restart, once (guarantees 3 and 4).
func TestKilledBetweenSettlingAndOutcome(t *testing.T) {
	s := newStage(t)
	s.start("settled")
	q, event := s.ask(threeWays)
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	s.gone()
	s.start("")
	s.awaitAnswer(q, "run_them", s.bob)
	if outcome := s.outcome(s.alice, q); outcome["decided_by"] != s.bob.ID {
		t.Errorf("the room hears %v", outcome)
	}
	s.toldOnce(q)
}

// TestKilledBetweenSendAndResponse kills the bridge after the homeserver took the question and before the bridge learned
// its event id: it is found again, and posted once (guarantee 2).
func TestKilledBetweenSendAndResponse(t *testing.T) {
	for name, restart := range map[string]bool{"the homeserver goes on": false, "the homeserver forgets its transaction ids": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.start("")
			sent := make(chan struct{}, 1)
			s.proxy.cutAfter(func(r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/send/m.room.message/") {
					return false
				}
				select {
				case sent <- struct{}{}:
					_ = s.bridge.Process.Kill()
				default:
				}
				return true
			})
			asked, err := s.client().Ask(s.ctx, "OPS", coreAsk())
			s.ok(err)
			<-sent
			s.gone()
			s.proxy.cutAfter(nil)
			if restart {
				s.ok(s.server.Stop()) // its transaction ids are in memory alone
				s.ok(s.server.Restart(s.ctx))
			}
			s.start("")
			event := s.posted(asked.ID)
			_, err = s.alice.React(s.ctx, s.room, event.ID, "1️⃣")
			s.ok(err)
			s.awaitAnswer(asked.ID, "run_them", s.alice)
			s.outcome(s.alice, asked.ID)
			if n := s.count(func(e testserver.Event) bool {
				return e.Field("elicitation_id") == asked.ID && e.Field("suite_event_type") != nil
			}); n != 1 {
				t.Errorf("the question stands in the room %d times", n)
			}
		})
	}
}

// toldOnce wants one outcome notice of a question in the room.
func (s *stage) toldOnce(question string) {
	s.t.Helper()
	s.outcome(s.alice, question)
	if n := s.count(func(e testserver.Event) bool {
		return e.MsgType() == "m.notice" && e.Field("dev.superpipeline.question.outcome", "elicitation_id") == question
	}); n != 1 {
		s.t.Errorf("the outcome was told %d times", n)
	}
}
