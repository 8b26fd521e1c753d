package matrix

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// replyKept is how long after its command a reply is worth saying.
const replyKept = 24 * time.Hour

// privatePart is in the keys of what is sent to a direct room.
const privatePart = "/private"

// Reply implements [bridge.Channel]: a notice in reply to the command, which notifies nobody.
func (s *Service) Reply(ctx context.Context, r bridge.AddressedReply, key string) error {
	if s.clock.Now().Sub(r.At) > replyKept {
		zerolog.Ctx(ctx).Warn().Str("event_id", string(r.About)).Msg("A reply to a command could not be said in time")
		return nil
	}
	v, err := s.rooms.view(ctx, r.Conversation, false)
	switch {
	case errors.Is(err, errNotJoined), err == nil && v.encrypted && s.cipher == nil:
		return nil
	case err != nil:
		return err
	case !r.Private || v.isOnly(r.To):
		return s.reply(ctx, r, r.Text, key)
	}
	direct, err := s.directRoom(ctx, r.To, v.encrypted, key+privatePart)
	if err != nil && !temporary(err) {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not make a direct room")
		return s.reply(ctx, r, texts.NotInPrivate, key)
	}
	if err == nil {
		err = s.reply(ctx, r, texts.ToldInPrivate, key)
	}
	if err != nil {
		return err
	}
	return s.replyInPrivate(ctx, r, direct, key+privatePart)
}

// reply says a text where the command was given.
func (s *Service) reply(ctx context.Context, r bridge.AddressedReply, text, key string) error {
	content := notice(text)
	content["m.relates_to"] = repliesTo(r.About, r.Thread)
	return s.say(ctx, outgoing{key: key, room: r.Conversation, kind: "m.room.message", content: content})
}

// replyInPrivate waits in an encrypted room until the person is there with a device that can read it.
func (s *Service) replyInPrivate(ctx context.Context, r bridge.AddressedReply, direct bridge.ConversationID, key string) error {
	v, err := s.rooms.view(ctx, direct, false)
	if err != nil {
		return err
	}
	if v.encrypted {
		if v.members[r.To].membership != "join" {
			return &bridge.ErrHeld{Reason: bridge.ReasonTargetAway, Again: s.patience(r)}
		}
		if err := s.reaches(ctx, v, r.To); err != nil {
			return err
		}
	}
	return s.say(ctx, outgoing{key: key, room: direct, kind: "m.room.message", content: notice(r.Text)})
}

// patience is how soon to look again whether somebody has accepted an invitation: most do at once.
func (s *Service) patience(r bridge.AddressedReply) time.Duration {
	if s.clock.Now().Sub(r.At) < heldFor {
		return 2 * time.Second
	}
	return heldFor
}

func (s *Service) say(ctx context.Context, o outgoing) error {
	if _, err := s.sends.send(ctx, o); err != nil {
		return s.sendFailed(ctx, o.room, err)
	}
	return nil
}
