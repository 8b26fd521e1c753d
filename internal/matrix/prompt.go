package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// prompts asks each person who has to type something, once for each thing that they did for it. One that can never be
// sent is left out: its person finds other ways to answer.
func (s *Service) prompts(ctx context.Context, q bridge.Question, p bridge.Posting) (asides []bridge.Aside, err error) {
	g := progressOf(q, p)
	if len(g.Waiting) == 0 || len(p.Messages) == 0 {
		return nil, nil
	}
	if _, err := s.ready(ctx, conversation(q, p), ""); err != nil {
		return nil, err
	}
	for _, who := range slices.Sorted(maps.Keys(g.Waiting)) {
		w := g.Waiting[who]
		o, ok := q.Items[g.Step].Option(w.Option)
		if _, asked := p.Aside(who, w.about()); asked || !ok || w.needs(o) == needsNothing {
			continue
		}
		m, err := s.prompt(ctx, q, p, who, w, o)
		var impossible *bridge.ErrImpossible
		switch {
		case errors.Is(err, errElsewhere): // before the room was replaced
			continue
		case errors.As(err, &impossible):
			zerolog.Ctx(ctx).Warn().Str("question_id", string(q.ID)).Str("reason", impossible.Reason).Msg("Could not ask somebody for what their option needs")
			continue
		case err != nil:
			return nil, err
		}
		m.Item = g.Step
		asides = append(asides, bridge.Aside{Message: m, To: who, About: w.about()})
	}
	return asides, nil
}

func (s *Service) prompt(ctx context.Context, q bridge.Question, p bridge.Posting, who bridge.UserID, w waiting, o bridge.Option) (bridge.Message, error) {
	conv := conversation(q, p)
	content := notice(promptSentence(w, o))
	content["m.mentions"] = map[string]any{"user_ids": []string{string(who)}}
	about := w.about()
	if about == w.Chosen && w.Original != "" {
		about = w.Original // clients show no edits of their own
	}
	content["m.relates_to"] = map[string]any{
		"rel_type": "m.thread", "event_id": string(p.Messages[0].ID), "is_falling_back": false,
		"m.in_reply_to": map[string]any{"event_id": string(about)},
	}
	before := s.clock.Now()
	id, err := s.sends.send(ctx, outgoing{key: promptKey(q.ID, w, w.needs(o)), question: q.ID, room: conv, kind: "m.room.message", content: content})
	if err != nil {
		return bridge.Message{}, s.sendFailed(ctx, conv, err)
	}
	return bridge.Message{ID: id, PostedAt: before}, nil
}

func promptKey(q bridge.QuestionID, w waiting, n need) string {
	return fmt.Sprintf("%s/prompt/%s/%s", q, w.about(), n)
}

func promptSentence(w waiting, o bridge.Option) string {
	label := clipped(o.Label)
	switch {
	case w.needs(o) == needsComment:
		return texts.Prompt(label, texts.AComment, "", bridge.MaxComment)
	case o.Input.Kind == bridge.InputURL:
		return texts.Prompt(label, texts.AWebAddress, clipped(o.Input.Label), o.Input.MaxLength)
	}
	return texts.Prompt(label, texts.SomeText, clipped(o.Input.Label), o.Input.MaxLength)
}

// promptUnknown is true of the words of somebody who is being asked to type something, when the request may stand in the
// room already and we do not know it yet: they may be what it asks for. Like everything about a message of ours that we
// do not know, they wait for a while.
func (w *worker) promptUnknown(ctx context.Context, ev bridge.InboxEvent, in bridge.Interaction) (bool, error) {
	if _, said := in.Act.(bridge.Said); !said || in.Target() == "" || w.s.clock.Now().Sub(w.known(ev)) > linkWait {
		return false, nil
	}
	id, ok, err := w.s.store.QuestionOf(ctx, in.Conversation, in.Target())
	if err != nil || !ok {
		return false, err
	}
	p, err := w.s.store.Posting(ctx, id)
	if err != nil {
		return false, err
	}
	waits, ok := decodeProgress(p).Waiting[in.Sender]
	if _, asked := p.Aside(in.Sender, waits.about()); !ok || asked {
		return false, nil
	}
	for _, n := range []need{needsInput, needsComment} {
		if _, begun, err := w.s.store.SendByKey(ctx, promptKey(id, waits, n)); begun || err != nil {
			return begun, err
		}
	}
	return false, nil
}

// known is since when we could have found out about an event: we may have been away after we stored it.
func (w *worker) known(ev bridge.InboxEvent) time.Time {
	if w.s.sends.began.After(ev.ReceivedAt) {
		return w.s.sends.began
	}
	return ev.ReceivedAt
}
