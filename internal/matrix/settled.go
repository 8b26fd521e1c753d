package matrix

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// Settled implements [bridge.Channel]: a notice in the thread says how the question ended, the messages that we posted
// show it, and the reactions go. What is already done is not done again.
func (s *Service) Settled(ctx context.Context, q bridge.Question, p bridge.Posting, key string) (bridge.Change, error) {
	if len(p.Messages) == 0 {
		return bridge.Change{}, nil // never posted
	}
	conv := conversation(q, p)
	v, err := s.rooms.view(ctx, conv, false)
	if errors.Is(err, errNotJoined) || err == nil && v.encrypted && s.cipher == nil {
		return bridge.Change{}, &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: bridge.ReasonNotInRoom}
	}
	if err != nil {
		return bridge.Change{}, err
	}
	end := ending{outcomeSentence(q, responderName(v, q)), outcomeOf(q, p), key, limit(v.encrypted)}
	if err := s.announce(ctx, q, p, end); err != nil {
		return bridge.Change{}, err
	}
	for _, m := range p.Messages {
		if q.Carried != nil && m.ID == q.Carried.Message {
			continue // not ours to edit
		}
		if q.Delivery.Reason == bridge.ReasonRedacted {
			continue // whoever took it away does not want it back
		}
		if err := s.show(ctx, q, conv, m, end); err != nil {
			return bridge.Change{}, err
		}
	}
	return bridge.Change{}, s.clearReactions(ctx, q, conv, "")
}

// ending is how a question ended, for people and for programs, and the key of what says so.
type ending struct {
	sentence string
	outcome  map[string]any
	key      string
	maxBytes int
}

// announce posts the outcome notice, which is also how a carrier learns the answer.
func (s *Service) announce(ctx context.Context, q bridge.Question, p bridge.Posting, end ending) error {
	conv := conversation(q, p)
	content := notice(end.sentence)
	content["m.relates_to"] = inThread(p.Messages[0].ID, p.Messages[len(p.Messages)-1].ID)
	content[outcomeKey] = end.outcome
	if size(content) > end.maxBytes { // escapes can make six bytes of a character
		content[outcomeKey] = withoutTexts(end.outcome)
	}
	return s.closing(ctx, outgoing{key: end.key + "/outcome", question: q.ID, room: conv, kind: "m.room.message", content: content})
}

// closing sends what closes a question. What the homeserver refuses for what it is would be refused for ever; the rest of
// the closing goes on without it.
func (s *Service) closing(ctx context.Context, o outgoing) error {
	_, err := s.sends.send(ctx, o)
	if err == nil {
		return nil
	}
	err = s.sendFailed(ctx, o.room, err)
	var impossible *bridge.ErrImpossible
	if errors.As(err, &impossible) && (impossible.Reason == bridge.ReasonTooLarge || impossible.Reason == bridge.ReasonRefused) {
		zerolog.Ctx(ctx).Error().Str("question_id", string(o.question)).Str("send", o.key).Str("reason", impossible.Reason).Msg("Closing a question without this")
		return nil
	}
	return err
}

// show edits a message of the question into one that shows the outcome. What stands outside m.new_content is for
// clients that know no edits and for push rules: it has nothing of the suite's, so nobody takes the edit for a question,
// and it is a notice, because many homeservers would notify everybody of an edit, and ping whoever it names.
func (s *Service) show(ctx context.Context, q bridge.Question, conv bridge.ConversationID, m bridge.Message, end ending) error {
	e, err := dialect.Elicitation(q, m.Item)
	if err != nil {
		return err
	}
	now, err := s.settledContent(e, end)
	if err != nil {
		return err
	}
	content := notice("* " + end.sentence)
	content["m.new_content"] = now
	content["m.relates_to"] = map[string]any{"rel_type": "m.replace", "event_id": string(m.ID)}
	return s.closing(ctx, outgoing{key: end.key + "/edit/" + string(m.ID), question: q.ID, room: conv, kind: "m.room.message", content: content})
}

// settledContent is the question without its preview, with the outcome. It gives up the outcome's texts, and then the
// question's properties, where they would not fit.
func (s *Service) settledContent(e *schema.Elicitation, end ending) (map[string]any, error) {
	full, err := e.Build(schema.BuildOptions{MaxBytes: 10 * schema.MaxClearBytes})
	if err != nil {
		return nil, err
	}
	if subject, ok := full["subject"].(map[string]any); ok {
		subject = maps.Clone(subject)
		delete(subject, "preview")
		full["subject"] = subject
	}
	text, html := e.SettledBody(end.sentence)
	full["body"], full["formatted_body"], full[outcomeKey] = text, html, end.outcome
	if size(full) <= end.maxBytes {
		return full, nil
	}
	full[outcomeKey] = withoutTexts(end.outcome)
	if size(full) <= end.maxBytes {
		return full, nil
	}
	short := notice(end.sentence)
	short["msgtype"], short[outcomeKey] = "m.text", withoutTexts(end.outcome)
	return short, nil
}

func withoutTexts(outcome map[string]any) map[string]any {
	short := maps.Clone(outcome)
	for _, name := range []string{"text", "comment", "input", "items"} {
		delete(short, name)
	}
	return short
}

func size(content map[string]any) int {
	raw, err := schema.CanonicalJSON(content)
	if err != nil {
		return 1 << 30
	}
	return len(raw)
}

// notice is something that the bridge says: it notifies nobody, and no bot may answer it.
func notice(sentence string) map[string]any {
	text, html := schema.Sentence(sentence)
	return map[string]any{
		"msgtype": "m.notice", "body": text, "format": "org.matrix.custom.html", "formatted_body": html,
		"m.mentions": map[string]any{},
	}
}

// clearReactions takes away the number reactions that we put up in the room, except those of one message.
func (s *Service) clearReactions(ctx context.Context, q bridge.Question, conv bridge.ConversationID, except bridge.MessageID) error {
	all, err := s.store.SendsOf(ctx, q.ID)
	if err != nil {
		return err
	}
	var failed error
	for _, sent := range all {
		if sent.Conversation != conv || !strings.Contains(sent.Key, keycapPart) ||
			except != "" && strings.Contains(sent.Key, keycapPart+string(except)+"/") {
			continue
		}
		m, put, err := s.sends.result(ctx, sent)
		if err != nil {
			failed = errors.Join(failed, err)
		}
		if !put {
			continue
		}
		if err := s.sends.redact(ctx, conv, m, "the question is settled"); err != nil && !temporary(err) {
			zerolog.Ctx(ctx).Warn().Err(err).Str("question_id", string(q.ID)).Str("event_id", string(m)).Msg("Could not take a reaction away")
		} else if err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
