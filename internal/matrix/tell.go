package matrix

import (
	"context"
	"errors"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// Tell implements [bridge.Channel]: a notice in the question's thread, in reply to what the person did.
func (s *Service) Tell(ctx context.Context, q bridge.Question, p bridge.Posting, c bridge.Courtesy, key string) error {
	err := s.tell(ctx, q, p, c, key)
	var retry *bridge.ErrRetry
	if errors.As(err, &retry) { // a homeserver that makes us wait has not been told: this was no try
		return &bridge.ErrHeld{Reason: "the homeserver asked to wait", Again: retry.After}
	}
	return err
}

func (s *Service) tell(ctx context.Context, q bridge.Question, p bridge.Posting, c bridge.Courtesy, key string) error {
	conv := conversation(q, p)
	v, err := s.rooms.view(ctx, conv, false)
	if err != nil {
		return err
	}
	if v.encrypted && s.cipher == nil || s.machines[c.To] {
		return nil
	}
	if bridge.Code(c.Code) == bridge.CodeUnreadable {
		if locked, err := s.store.IsLocked(ctx, c.About); err != nil || !locked {
			return err
		}
	}
	content := notice(courtesySentence(v, q, c))
	content["m.mentions"] = map[string]any{"user_ids": []string{string(c.To)}}
	root := c.Thread
	if len(p.Messages) > 0 {
		root = p.Messages[0].ID
	}
	content["m.relates_to"] = repliesTo(c.About, root)
	_, err = s.sends.send(ctx, outgoing{key: key, question: q.ID, room: conv, kind: "m.room.message", content: content})
	return err
}

// repliesTo relates a message to what somebody did, in the thread with the root; "" for none.
func repliesTo(about bridge.InteractionID, root bridge.MessageID) map[string]any {
	relation := map[string]any{"m.in_reply_to": map[string]any{"event_id": string(about)}}
	if root != "" {
		relation["rel_type"], relation["event_id"], relation["is_falling_back"] = "m.thread", string(root), false
	}
	return relation
}

func courtesySentence(v view, q bridge.Question, c bridge.Courtesy) string {
	switch {
	case c.Kind != bridge.Stale:
		return c.Reason
	case !q.State.Terminal():
		return texts.StepOver
	}
	return lateSentence(q, responderName(v, q))
}
