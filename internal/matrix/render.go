package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// Render implements [bridge.Channel].
func (s *Service) Render(ctx context.Context, q bridge.Question, p bridge.Posting, key string) (bridge.Change, error) {
	conv, step := conversation(q, p), progressOf(q, p).Step
	if q.State.Terminal() {
		return s.found(ctx, p, step, key)
	}
	v, err := s.ready(ctx, conv, q.Target)
	if err != nil {
		return bridge.Change{}, err
	}
	if err := s.targetThere(ctx, q, conv); err != nil {
		return bridge.Change{}, err
	}
	m, err := s.post(ctx, q, p, step, post{key, limit(v.encrypted)})
	if errors.Is(err, errElsewhere) {
		return bridge.Change{}, nil // the room that it moved to has an effect of its own
	}
	if err != nil {
		return bridge.Change{}, err
	}
	return bridge.Change{Messages: append(p.Messages[:len(p.Messages):len(p.Messages)], m)}, nil
}

// found gives what an earlier try has posted, for a question that was settled meanwhile: its message is to be closed.
func (s *Service) found(ctx context.Context, p bridge.Posting, step int, key string) (bridge.Change, error) {
	id, ok, err := s.sends.find(ctx, key)
	if err != nil || !ok || slices.ContainsFunc(p.Messages, func(m bridge.Message) bool { return m.ID == id }) {
		return bridge.Change{}, err
	}
	m := bridge.Message{ID: id, PostedAt: s.clock.Now(), Item: step}
	return bridge.Change{Messages: append(p.Messages[:len(p.Messages):len(p.Messages)], m)}, nil
}

// Updated implements [bridge.Channel]: the next step is posted below the one before, and whoever has to type something is
// asked for it.
func (s *Service) Updated(ctx context.Context, q bridge.Question, p bridge.Posting, _ *bridge.Interaction, key string) (c bridge.Change, err error) {
	if p.Moving {
		if c, err = s.Render(ctx, q, p, key); err != nil {
			return c, err
		}
	}
	c.Asides, err = s.prompts(ctx, q, p)
	return c, err
}

// Controls implements [bridge.Channel]: number reactions at the current message, and none at the steps before it. A
// carrier's question gets them too.
func (s *Service) Controls(ctx context.Context, q bridge.Question, p bridge.Posting, _ string) error {
	m, ok := p.Current()
	if !ok || p.Moving { // the next step is on its way
		return nil
	}
	conv := conversation(q, p)
	s.seed(ctx, q, m.Item, conv, m.ID)
	if len(p.Messages) == 1 {
		return nil
	}
	if err := s.clearReactions(ctx, q, conv, m.ID); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Str("question_id", string(q.ID)).Msg("Could not take the reactions of an earlier step away")
	}
	return nil
}

// post is one try at posting a step.
type post struct {
	key      string
	maxBytes int
}

func (s *Service) post(ctx context.Context, q bridge.Question, p bridge.Posting, step int, try post) (bridge.Message, error) {
	conv := conversation(q, p)
	content, err := s.content(q, step, try.maxBytes)
	var refusal *schema.Refusal
	if errors.As(err, &refusal) {
		zerolog.Ctx(ctx).Error().Err(refusal).Str("question_id", string(q.ID)).Msg("A question cannot be written as an event")
		return bridge.Message{}, &bridge.ErrImpossible{State: bridge.Failed, Reason: bridge.ReasonUnwritable}
	}
	if err != nil {
		return bridge.Message{}, err
	}
	if len(p.Messages) > 0 {
		content["m.relates_to"] = inThread(p.Messages[0].ID, p.Messages[len(p.Messages)-1].ID)
	}
	before := s.clock.Now()
	id, err := s.sends.send(ctx, outgoing{key: try.key, question: q.ID, room: conv, kind: "m.room.message", content: content})
	if err != nil {
		return bridge.Message{}, s.sendFailed(ctx, conv, err)
	}
	zerolog.Ctx(ctx).Info().Str("question_id", string(q.ID)).Str("room_id", string(conv)).Str("event_id", string(id)).Msg("Question posted")
	return bridge.Message{ID: id, PostedAt: before, Item: step}, nil
}

// The reactions are put up and taken away by these parts of a send's key.
const keycapPart = "/keycap/"

func keycap(n int) string { return fmt.Sprintf("%d\ufe0f\u20e3", n) }

// longestNap is how long putting up reactions waits for a homeserver that asks for it.
const longestNap = 5 * time.Second

// seed puts the number reactions up, for answering with one click. The question does without them where that fails.
func (s *Service) seed(ctx context.Context, q bridge.Question, step int, conv bridge.ConversationID, m bridge.MessageID) {
	if !s.cfg.Keycaps {
		return
	}
	if _, _, encrypted, err := s.store.Standing(ctx, conv); err != nil || encrypted && !(s.cfg.Encryption != nil && s.cfg.Encryption.Keycaps) {
		return // in an encrypted room they would show the homeserver what people choose
	}
	for _, n := range (reader{q: q, item: q.Items[step]}).reactions() {
		key := fmt.Sprintf("%s/controls%s%s/%d", q.ID, keycapPart, m, n) // the same after every update of the posting
		err := s.react(ctx, q, conv, m, key, keycap(n))
		var retry *bridge.ErrRetry
		if errors.As(err, &retry) && retry.After <= longestNap {
			select {
			case <-time.After(retry.After):
			case <-ctx.Done():
				return
			}
			err = s.react(ctx, q, conv, m, key, keycap(n))
		}
		if err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Str("question_id", string(q.ID)).Msg("Could not put up a reaction")
			if temporary(err) {
				return
			}
		}
	}
}

func (s *Service) react(ctx context.Context, q bridge.Question, conv bridge.ConversationID, m bridge.MessageID, key, symbol string) error {
	content := map[string]any{"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": string(m), "key": symbol}}
	_, err := s.sends.send(ctx, outgoing{key: key, question: q.ID, room: conv, kind: "m.reaction", content: content})
	return err
}
