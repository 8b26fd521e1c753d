package matrix

import (
	"context"
	"errors"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
)

// Tell implements [bridge.Channel]: a notice in the question's thread, in reply to what the person did. Nobody is told
// anything in an encrypted room, where it would stand in clear.
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
	if v.encrypted || s.machines[c.To] {
		return nil
	}
	content := notice(courtesySentence(q, c))
	content["m.mentions"] = map[string]any{"user_ids": []string{string(c.To)}}
	root := c.Thread
	if len(p.Messages) > 0 {
		root = p.Messages[0].ID
	}
	reply := map[string]any{"m.in_reply_to": map[string]any{"event_id": string(c.About)}}
	if root != "" {
		reply["rel_type"], reply["event_id"], reply["is_falling_back"] = "m.thread", string(root), false
	}
	content["m.relates_to"] = reply
	_, err = s.sends.send(ctx, outgoing{key: key, question: q.ID, room: conv, kind: "m.room.message", content: content})
	return err
}

func courtesySentence(q bridge.Question, c bridge.Courtesy) string {
	switch {
	case c.Kind != bridge.Stale:
		return c.Reason
	case !q.State.Terminal():
		return "That step of the question is over. Please answer the newest one in this thread."
	}
	return "Too late: " + lateSentence(q)
}

// lateSentence tells somebody who comes too late how and when the question ended.
func lateSentence(q bridge.Question) string {
	at := atThatTime(q.SettledAt)
	switch {
	case q.State == bridge.Answered:
		return fmt.Sprintf("%s answered this question%s: %s", personName(q.Answer.By), at, answerText(q))
	case q.State == bridge.Expired:
		return "this question expired" + at + ", without an answer."
	case q.CancelledBy == bridge.ByResponder:
		return "this question was dismissed" + at + ", without an answer."
	case q.CancelledBy == bridge.Superseded:
		return "a newer question replaced this one" + at + "."
	case q.Reason == "edited":
		return "this question was withdrawn" + at + ", because it was edited. It has to be asked again."
	}
	return "the asker withdrew this question" + at + "."
}
