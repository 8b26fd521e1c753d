package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"
)

// Adopt stores a question that a carrier posted itself, already posted, and marks the carrier's event as handled. An
// equal question under the same elicitation id is the same one, and its message belongs to that too; another question
// gives CodeElicitationConflict or CodeSubjectConflict, and nothing is stored then.
func (e *Engine) Adopt(ctx context.Context, q Question, event InteractionID) error {
	if earlier, ok, err := e.earlier(ctx, q); err != nil {
		return err
	} else if ok {
		return e.Store.Atomically(ctx, func(ctx context.Context) error {
			if err := e.Store.LinkMessage(ctx, q.Conversation, q.Carried.Message, earlier.ID); err != nil {
				return err
			}
			return e.Store.FinishInteraction(ctx, event)
		})
	}
	q = scheduled(q, e.Clock.Now())
	posted := Message{ID: q.Carried.Message, PostedAt: q.CreatedAt}
	q.State, q.Delivery = Pending, Delivery{State: Posted, Message: posted.ID}
	f := Effect{Kind: EffectRender, Question: q.ID, Key: effectKey(q.ID, EffectRender, 0), Due: e.Clock.Now()}
	var superseded []Question
	err := e.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		if superseded, err = e.ask(ctx, q, f); err != nil {
			return err
		}
		if err := e.savePosting(ctx, q, Posting{Messages: []Message{posted}}); err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, event)
	})
	if err != nil {
		return err
	}
	zerolog.Ctx(ctx).Info().Str("question_id", string(q.ID)).Str("asker", string(q.Asker)).Msg("Question adopted")
	e.Observer.Asked()
	e.recordAsked(ctx, q)
	e.Owed()
	e.told(ctx, superseded...)
	e.Deadline(q.ExpiresAt)
	return nil
}

// ReasonEdited is why a question was cancelled whose carrier edited it.
const ReasonEdited = "edited"

// CarrierEdited cancels the pending question that a carrier posted as this message, because what people would answer is
// no longer what stands there. Any other message is left alone. It may be called again.
func (e *Engine) CarrierEdited(ctx context.Context, conv ConversationID, m MessageID, by UserID) error {
	q, ok, err := e.owner(ctx, conv, m)
	if err != nil || !ok || q.Carried == nil || q.Carried.By != by || q.Carried.Message != m || q.State.Terminal() {
		return err
	}
	s := Settlement{Question: q.ID, State: Cancelled, Revision: -1, CancelledBy: ByAsker, Reason: ReasonEdited, At: e.Clock.Now()}
	_, _, err = e.settle(ctx, s, nil)
	return err
}

// Echo is a message that we sent as it came back to us.
type Echo struct {
	Question     QuestionID
	Conversation ConversationID
	Message      MessageID
	Seq          int64     // where it stands in the order of what we received
	SentAt       time.Time // by the clock of the server that it was sent through, like the times of interactions
}

// Echoed ties a message of ours to its question and notes where it stands; over says that the question has ended. It
// joins a store transaction of its caller.
func (e *Engine) Echoed(ctx context.Context, echo Echo) (over bool, err error) {
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := e.Store.SeenMessage(ctx, echo); err != nil {
			return err
		}
		q, err := e.Store.Question(ctx, echo.Question)
		over = q.State.Terminal()
		return err
	})
	return over, err
}

// AskedLate takes the echo of a message that asks a question which has ended, sent under a key, and marks it as handled.
// Where the message was not known when the question was closed, it is closed now.
func (e *Engine) AskedLate(ctx context.Context, echo Echo, sentAs string) error {
	arrived, err := json.Marshal(renderPayload{Arrived: true})
	if err != nil {
		return err
	}
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		p, err := e.Store.Posting(ctx, echo.Question)
		if err != nil {
			return err
		}
		if !p.has(echo.Message) {
			now := e.Clock.Now()
			err := e.Store.AddEffects(ctx,
				Effect{Kind: EffectRender, Question: echo.Question, Key: sentAs, Payload: arrived, Due: now},
				Effect{Kind: EffectSettled, Question: echo.Question, Key: effectKey(echo.Question, EffectSettled, 0), Due: now})
			if err != nil {
				return err
			}
		}
		return e.Store.FinishInteraction(ctx, InteractionID(echo.Message))
	})
	if err == nil {
		e.Owed()
	}
	return err
}

// QuestionRedacted records that a message of the conversation was redacted. A pending question whose current message it
// was can no longer be answered there; its asker sees so, and the deadline still holds. ok says whether the message was
// such a question. It may be called again.
func (e *Engine) QuestionRedacted(ctx context.Context, conv ConversationID, m MessageID) (ok bool, err error) {
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		ok = false
		q, found, err := e.owner(ctx, conv, m)
		if err != nil || !found || q.State.Terminal() {
			return err
		}
		p, err := e.Store.Posting(ctx, q.ID)
		if err != nil {
			return err
		}
		current, posted := p.Current()
		if !posted && q.Conversation == conv {
			return &ErrRetry{After: time.Second, Err: errors.New("the question is still being posted")}
		}
		if !posted || current.ID != m || p.Moving { // an earlier step may go
			return nil
		}
		ok = true
		zerolog.Ctx(ctx).Warn().Str("question_id", string(q.ID)).Msg("A pending question was redacted")
		return e.Store.SetDelivery(ctx, q.ID, Delivery{State: Failed, Message: m, Reason: ReasonRedacted})
	})
	return ok, err
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

// Unanswerable records why the pending questions of a conversation cannot be answered there any more.
func (e *Engine) Unanswerable(ctx context.Context, conv ConversationID, reason string) error {
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

// Moved posts the pending questions of a conversation once more, in the one that replaces it, where features go on with
// theirs. Carried ones are not ours to post and stay behind. Both postings stay linked.
func (e *Engine) Moved(ctx context.Context, from, to ConversationID) error {
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
		return e.moving(ctx, from, to)
	})
	if err == nil {
		e.Owed()
	}
	return err
}

func (e *Engine) moving(ctx context.Context, from, to ConversationID) error {
	for _, f := range e.Features {
		if m, ok := f.(Mover); ok {
			if err := m.Moving(ctx, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// Changed tells the engine that it changed who is in a conversation, or who may do what there: questions that were held
// there are tried again, and those that could not be posted or answered because we were not there, or might not write.
func (e *Engine) Changed(ctx context.Context, conv ConversationID) error {
	err := e.Store.Atomically(ctx, func(ctx context.Context) error {
		pending, err := e.Store.PendingIn(ctx, conv, manyPending)
		if err != nil {
			return err
		}
		for _, q := range pending {
			if err := e.tryAgain(ctx, q); err != nil {
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

func (e *Engine) tryAgain(ctx context.Context, q Question) error {
	switch d := q.Delivery; {
	case d.State == Queued:
		return e.Store.HastenEffects(ctx, q.ID, e.Clock.Now())
	case d.State == Unanswerable && d.Reason == ReasonNotInRoom, d.State == Failed && d.Reason == ReasonNotPermitted:
		return e.revive(ctx, q)
	}
	return nil
}
