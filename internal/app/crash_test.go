package app

import (
	"fmt"
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

// TestB4 kills the bridge and lets people go on: what is answered meanwhile counts afterwards, also in the thread of a
// carrier's question that the bridge has never seen, and an asker who waits hears of it.
func TestB4(t *testing.T) {
	s := newStage(t)
	s.start("")
	fresh := *s // a room in which nothing was ever asked
	var err error
	fresh.room, err = s.alice.CreateRoom(s.ctx, testserver.Room{Invite: []string{s.bob.ID, s.hub.ID, bot}})
	s.ok(err)
	for _, u := range []*testserver.User{s.bob, s.hub} {
		_, err := u.Join(s.ctx, fresh.room)
		s.ok(err)
	}
	s.ok(s.alice.WaitForMember(s.ctx, fresh.room, bot, "join"))
	q, event := s.ask(threeWays)
	waiting := make(chan error, 1)
	go func() {
		got, err := s.client().Await(s.ctx, q)
		if err == nil && !got.Chose("skip") {
			err = fmt.Errorf("the asker hears %v", got.State)
		}
		waiting <- err
	}()
	s.kill()
	_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	carried, err := s.hub.SendEvent(s.ctx, fresh.room, "m.room.message", carriersQuestion())
	s.ok(err)
	_, err = s.bob.ThreadReply(s.ctx, fresh.room, carried, "ship it monday")
	s.ok(err)
	s.start("")
	s.awaitAnswer(q, "skip", s.alice)
	s.ok(<-waiting)
	s.toldOnce(q)
	if outcome := fresh.outcome(s.hub, "elc_9"); outcome["option_id"] != "b" || outcome["decided_by"] != s.bob.ID {
		t.Errorf("the carrier reads %v", outcome)
	}
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
			sent, answered := make(chan struct{}, 1), make(chan struct{})
			s.proxy.cutAfter(func(r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/send/m.room.message/") {
					return false
				}
				select {
				case sent <- struct{}{}:
					<-answered // the asker, who would ask again otherwise
					_ = s.bridge.Process.Kill()
				default:
				}
				return true
			})
			asked, err := s.client().Ask(s.ctx, "OPS", coreAsk())
			close(answered)
			s.ok(err)
			<-sent
			s.gone()
			s.proxy.cutAfter(nil)
			if restart {
				s.ok(s.server.Kill())
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
