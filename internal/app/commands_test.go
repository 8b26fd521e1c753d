//go:build goolm

package app

import (
	"testing"

	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// A command is taken as answers are: a bridge that is killed between the answer to the homeserver and the handling obeys
// once it is back, and replies once.
func TestACommandSurvivesAKill(t *testing.T) {
	s := newStage(t)
	s.start("receive")
	_, err := s.bob.Send(s.ctx, s.room, "!revoke d22222")
	s.ok(err)
	s.gone()
	s.start("")
	s.says(s.alice, s.room, func(body string) bool { return body == texts.NothingNamed })
	s.kill()
	s.start("")
	_, err = s.bob.Send(s.ctx, s.room, "!revoke g22222")
	s.ok(err)
	s.says(s.alice, s.room, func(string) bool {
		return s.count(func(e testserver.Event) bool { return e.Body() == texts.NothingNamed }) == 2
	})
}

// In an encrypted room where no question was ever asked, a command that comes encrypted is obeyed, and what is private goes
// to a direct room that is encrypted too. In clear it is not even looked at.
func TestCommandsInAnEncryptedRoom(t *testing.T) {
	s := newEncryptedStage(t)
	alice := s.sealedClient(s.alice)
	s.sealRoom()
	s.start("")
	s.ok(alice.WaitForRoom(s.ctx, s.room, bot))
	_, err := s.bob.Send(s.ctx, s.room, "!revoke d33333") // whose client does not encrypt
	s.ok(err)
	_, err = alice.Send(s.ctx, s.room, "!decisions")
	s.ok(err)
	sealed := func(room, body string) {
		t.Helper()
		e, err := alice.WaitFor(s.ctx, room, func(e sealedclient.Event) bool { return e.Sender == bot && e.Body() == body })
		s.ok(err)
		if !e.Encrypted || e.MsgType() != "m.notice" {
			t.Errorf("%q came as %+v", body, e)
		}
	}
	sealed(s.room, texts.ToldInPrivate)
	direct := s.directRoom(s.alice)
	sealed(direct, texts.Decisions(nil, false))
	_, err = alice.Send(s.ctx, s.room, "!revoke d22222")
	s.ok(err)
	sealed(s.room, texts.NothingNamed)
	if n := s.count(func(e testserver.Event) bool { return e.Sender == bot && e.Type == "m.room.encrypted" }); n != 2 {
		t.Errorf("the bot said %d things in the room", n)
	}
}
