package bridge

import (
	"context"

	"github.com/rs/zerolog"
)

// Adopt stores a question that a carrier posted itself, already posted, and marks the carrier's event as handled. An
// equal question under the same elicitation id is the same one; another gives CodeElicitationConflict, and nothing is
// stored then.
func (e *Engine) Adopt(ctx context.Context, q Question, event InteractionID, posted Message) error {
	if _, ok, err := e.earlier(ctx, q); err != nil {
		return err
	} else if ok {
		return e.Store.FinishInteraction(ctx, event)
	}
	q.State, q.Delivery = Pending, Delivery{State: Posted, Message: posted.ID}
	err := e.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := e.Store.CreateQuestion(ctx, q); err != nil {
			return err
		}
		p := Posting{Question: q.ID, Conversation: q.Conversation, Messages: []Message{posted}}
		if err := e.Store.SavePosting(ctx, p); err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, event)
	})
	if err != nil {
		return err
	}
	zerolog.Ctx(ctx).Info().Str("question_id", string(q.ID)).Str("asker", string(q.Asker)).Msg("Question adopted")
	e.Deadline(q.ExpiresAt)
	return nil
}

// CarrierEdited cancels a carried question whose carrier edited it: what people would answer is no longer what stands
// there. Anything else is left alone.
func (e *Engine) CarrierEdited(ctx context.Context, conv ConversationID, original MessageID, carrier UserID, event InteractionID) error {
	q, ok, err := e.owner(ctx, conv, original)
	if err != nil {
		return err
	}
	if !ok || q.Carried == nil || q.Carried.By != carrier || q.Carried.Message != original || q.State.Terminal() {
		return e.Store.FinishInteraction(ctx, event)
	}
	s := Settlement{Question: q.ID, State: Cancelled, Revision: -1, CancelledBy: ByAsker, Reason: "edited", At: e.Clock.Now()}
	_, _, err = e.settle(ctx, s, func(ctx context.Context, _ Question, _ bool) error {
		return e.Store.FinishInteraction(ctx, event)
	})
	return err
}

// MessageRemoved records that a message of the conversation was redacted. A question whose current message it was can
// no longer be answered there; its asker sees so, and the deadline still holds. It may be called again.
func (e *Engine) MessageRemoved(ctx context.Context, conv ConversationID, m MessageID) error {
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := e.Store.DropReply(ctx, InteractionID(m)); err != nil {
			return err
		}
		q, ok, err := e.owner(ctx, conv, m)
		if err != nil || !ok || q.State.Terminal() {
			return err
		}
		p, err := e.Store.Posting(ctx, q.ID)
		if err != nil {
			return err
		}
		if current, ok := p.Current(); !ok || current.ID != m {
			return nil
		}
		zerolog.Ctx(ctx).Warn().Str("question_id", string(q.ID)).Msg("A pending question was redacted")
		return e.Store.SetDelivery(ctx, q.ID, Delivery{State: Failed, Message: m, Reason: ReasonRedacted})
	})
}

func (e *Engine) owner(ctx context.Context, conv ConversationID, m MessageID) (Question, bool, error) {
	id, ok, err := e.Store.QuestionOf(ctx, conv, m)
	if err != nil || !ok {
		return Question{}, false, err
	}
	q, err := e.Store.Question(ctx, id)
	return q, err == nil, err
}

// manyPending is more questions than anybody has open in one conversation; the rest are moved on the next call.
const manyPending = 1000

// RoomClosed records why the pending questions of a conversation cannot be answered there any more.
func (e *Engine) RoomClosed(ctx context.Context, conv ConversationID, reason string) error {
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		pending, err := e.Store.PendingIn(ctx, conv, manyPending)
		if err != nil {
			return err
		}
		for _, q := range pending {
			if err := e.Store.SetDelivery(ctx, q.ID, Delivery{State: Unanswerable, Message: q.Delivery.Message, Reason: reason}); err != nil {
				return err
			}
		}
		return nil
	})
}

// RoomMoved posts the pending questions of a conversation once more, in the one that replaces it. Carried ones are not
// ours to post and stay behind. Both postings stay linked.
func (e *Engine) RoomMoved(ctx context.Context, from, to ConversationID) error {
	err := e.Store.Atomically(ctx, func(ctx context.Context) error {
		pending, err := e.Store.PendingIn(ctx, from, manyPending)
		if err != nil {
			return err
		}
		for _, q := range pending {
			if q.Carried != nil {
				continue
			}
			if err := e.Store.MoveQuestion(ctx, q.ID, to); err != nil {
				return err
			}
			f := Effect{Kind: EffectRender, Question: q.ID, Key: string(q.ID) + "/upgrade/" + string(to), Due: e.Clock.Now()}
			if err := e.Store.AddEffects(ctx, f); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.Owed()
	}
	return err
}

// RoomChanged tells the engine that who is in a conversation changed: questions that were held there are tried again.
func (e *Engine) RoomChanged(ctx context.Context, conv ConversationID) error {
	pending, err := e.Store.PendingIn(ctx, conv, manyPending)
	if err != nil {
		return err
	}
	for _, q := range pending {
		if q.Delivery.State != Queued {
			continue
		}
		if err := e.Store.HastenEffects(ctx, q.ID, e.Clock.Now()); err != nil {
			return err
		}
	}
	e.Owed()
	return nil
}
