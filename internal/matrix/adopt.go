package matrix

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// carried takes an event of a carrier: a question is adopted, an edit of one cancels it, everything else is none of our
// business, for carriers never answer. In an encrypted room, what came in clear is nobody's word.
func (w *worker) carried(ctx context.Context, e event, ev bridge.InboxEvent, carrier Carrier) error {
	room := bridge.ConversationID(e.Room)
	encrypted, err := w.s.isEncrypted(ctx, room)
	if err != nil { // it is not held for that: what is known must do
		_, _, encrypted, err = w.s.store.Standing(ctx, room)
	}
	if err != nil {
		return err
	}
	r := readRelation(e.Content)
	switch {
	case encrypted && e.seal == nil, e.Type != "m.room.message", e.pruned():
	case r.kind == replacing:
		if e.Content.object("m.new_content") != nil {
			if err := w.engine.CarrierEdited(ctx, room, bridge.MessageID(r.target), carrier.User); err != nil {
				return err
			}
		}
	case e.isQuestion():
		return w.adopt(ctx, e, ev, carrier)
	}
	return w.finish(ctx, e)
}

// adopt makes a question of a carrier's event. What is refused is said in its thread and in the log, with the rule.
func (w *worker) adopt(ctx context.Context, e event, ev bridge.InboxEvent, carrier Carrier) error {
	log := zerolog.Ctx(ctx)
	now := w.s.clock.Now()
	if now.Sub(e.SentAt) >= schema.ElicitationDefaultLifetime {
		log.Warn().Str("carrier", e.Sender).Msg("Not adopting a question whose time is over")
		return w.finish(ctx, e)
	}
	q, err := w.s.adopted(e, carrier, now)
	if err == nil {
		err = w.engine.Adopt(ctx, q, bridge.InteractionID(e.ID))
	}
	rule, why := notAdopted(err)
	if rule != "" {
		log.Warn().Str("carrier", e.Sender).Str("rule", rule).Str("why", why).Msg("Refused a carrier's question")
		err = w.s.refuse(ctx, e, texts.Refused(rule, why))
	}
	var limited *bridge.ErrRetry
	if errors.As(err, &limited) && now.Add(limited.After).Sub(ev.ReceivedAt) > longestRefusal {
		log.Warn().Err(err).Msg("Not saying that a question was refused: the homeserver makes us wait, and so would everybody in the room")
		err = nil
	}
	if err == nil {
		err = w.finish(ctx, e)
	}
	if err == nil && rule != "" {
		w.s.cfg.Audit.Record(ctx, bridge.AuditRecord{
			At: now, Action: bridge.AuditAskRefused, Conversation: bridge.ConversationID(e.Room), Agent: carrier.Agent, User: carrier.User,
			Via: bridge.ViaCarrier, Code: bridge.Code(rule), Event: bridge.InteractionID(e.ID),
		})
	}
	return err
}

// notAdopted is the rule that refused a carrier's question, and why; "" for what is no refusal.
func notAdopted(err error) (rule, why string) {
	var refusal *schema.Refusal
	var conflict *bridge.Error
	switch {
	case errors.As(err, &refusal):
		f := refusal.Faults[0]
		at := f.Location
		if at == "" {
			at = "the whole content"
		}
		return string(f.Rule), at + " " + f.Reason
	case errors.As(err, &conflict):
		return string(conflict.Code), conflict.Reason
	}
	return "", ""
}

// longestRefusal is how long what else happens in a room waits for a refusal to be said.
const longestRefusal = 30 * time.Second

// adopted validates the event and reads it as a question of the carrier's agent. Its time counts from when the carrier
// sent it.
func (s *Service) adopted(e event, carrier Carrier, now time.Time) (bridge.Question, error) {
	content, err := schema.Decode[schema.Elicitation](e.RawContent)
	if err != nil {
		return bridge.Question{}, err
	}
	asked := e.SentAt
	if asked.After(now) {
		asked = now
	}
	return dialect.FromElicitation(content, dialect.AdoptContext{
		Agent: carrier.Agent, Carrier: carrier.User, Message: bridge.MessageID(e.ID), Conversation: bridge.ConversationID(e.Room),
		Now: asked, FreeTextReplies: carrier.FreeTextReplies,
	})
}

// refuse says in the thread of a carrier's event why it is not adopted. If that cannot be said, the log has it.
func (s *Service) refuse(ctx context.Context, e event, why string) error {
	content := notice(why)
	content["m.relates_to"] = inThread(bridge.MessageID(e.ID), bridge.MessageID(e.ID))
	_, err := s.sends.send(ctx, outgoing{
		key: "refused/" + e.ID, room: bridge.ConversationID(e.Room), kind: "m.room.message", content: content,
	})
	if err != nil && !temporary(err) {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not say that a question was refused")
		return nil
	}
	return err
}
