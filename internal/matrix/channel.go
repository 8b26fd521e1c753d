package matrix

import (
	"context"
	"errors"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// Supports implements [bridge.Channel]. A room whose state cannot be read right now is no reason to refuse: the question
// waits.
func (s *Service) Supports(ctx context.Context, conv bridge.ConversationID) error {
	v, err := s.rooms.view(ctx, conv, false)
	no := func(reason string) error {
		return &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: reason}
	}
	switch {
	case errors.Is(err, errNotJoined):
		return no(fmt.Sprintf("the bot %s has not joined this room: invite it", s.hs.bot))
	case err != nil:
		return nil
	case v.encrypted && s.cipher == nil:
		return no("the room is encrypted, and encryption is not configured here")
	case v.tombstone != nil:
		return no("the room was closed and goes on in another one")
	}
	return nil
}

// Check implements [bridge.Channel]: every step is built as it would be sent. Encryption leaves less room; of a room whose
// state cannot be read now, what was known last counts.
func (s *Service) Check(ctx context.Context, q bridge.Question) error {
	_, _, encrypted, err := s.store.Standing(ctx, q.Conversation)
	if err != nil {
		return err
	}
	for step := range q.Items {
		if _, err := s.content(q, step, limit(encrypted)); err != nil {
			var refusal *schema.Refusal
			if errors.As(err, &refusal) {
				f := refusal.Faults[0]
				return &bridge.Error{Code: bridge.CodeInvalidQuestion, Field: f.Location, Reason: f.Reason}
			}
			return &bridge.Error{Code: bridge.CodeInvalidQuestion, Reason: "the question cannot be written as an event"}
		}
	}
	return nil
}

// limit is how large a content may be, in bytes of canonical JSON.
func limit(encrypted bool) int {
	if encrypted {
		return schema.MaxEncryptedBytes
	}
	return schema.MaxClearBytes
}

// content is what a step is sent as. Only the person that a direct question is for is notified.
func (s *Service) content(q bridge.Question, step, maxBytes int) (map[string]any, error) {
	e, err := dialect.Elicitation(q, step)
	if err != nil {
		return nil, err
	}
	return e.Build(schema.BuildOptions{Mentions: mentions(q), MaxBytes: maxBytes})
}

func mentions(q bridge.Question) []string {
	if q.Scope != bridge.Direct {
		return nil
	}
	return []string{string(q.Target)}
}

// conversation is where a posting stands: after a room was upgraded, not where its question was asked.
func conversation(q bridge.Question, p bridge.Posting) bridge.ConversationID {
	if p.Conversation != "" {
		return p.Conversation
	}
	return q.Conversation
}

// inThread relates a message to the thread of its question.
func inThread(root, last bridge.MessageID) map[string]any {
	return map[string]any{
		"rel_type": "m.thread", "event_id": string(root), "is_falling_back": true,
		"m.in_reply_to": map[string]any{"event_id": string(last)},
	}
}
