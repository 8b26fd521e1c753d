package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

// Run does one effect. A nil error means that it is done, also when there turned out to be nothing to do. *ErrHeld and
// *ErrRetry say when to come back; any other error is worth another try until its kind gives up.
func (e *Engine) Run(ctx context.Context, f Effect) error {
	if f.Kind == EffectReply {
		return e.reply(ctx, f)
	}
	q, err := e.Store.Question(ctx, f.Question)
	if err != nil {
		if CodeOf(err) == CodeNotFound {
			return nil // forgotten
		}
		return err
	}
	p, err := e.Store.Posting(ctx, f.Question)
	if err != nil {
		return err
	}
	switch f.Kind {
	case EffectRender:
		return e.render(ctx, q, p, f)
	case EffectUpdate:
		return e.update(ctx, q, p, f)
	case EffectSettled:
		return e.close(ctx, q, p, f)
	case EffectRemind:
		return e.remind(ctx, q, p, f)
	case EffectTell:
		var c Courtesy
		if err := json.Unmarshal(f.Payload, &c); err != nil {
			return fmt.Errorf("read a courtesy: %w", err)
		}
		return e.Channel.Tell(ctx, q, p, c, f.Key)
	}
	return fmt.Errorf("no handler for effects of kind %s", f.Kind)
}

// renderPayload is what a render may say beside its question. Arrived: its message stands in the conversation already.
type renderPayload struct {
	Arrived bool `json:"arrived,omitempty"`
}

func (e *Engine) render(ctx context.Context, q Question, p Posting, f Effect) error {
	if q.State.Terminal() {
		return e.posthumous(ctx, q, p, f)
	}
	if q.Carried != nil || q.Delivery.State == Posted { // it stands there already
		return e.controls(ctx, q.ID, f.Key)
	}
	change, err := e.Channel.Render(ctx, q, p, f.Key)
	if err != nil {
		return e.undelivered(ctx, q, err)
	}
	if len(change.Messages) == 0 {
		return nil
	}
	if err := e.posted(ctx, q, p, change); err != nil {
		return err
	}
	return e.controls(ctx, q.ID, f.Key)
}

// controls puts up what a posted question is answered by with one click. It comes after the posting is saved: people
// answer as soon as they see the message.
func (e *Engine) controls(ctx context.Context, id QuestionID, key string) error {
	q, err := e.Store.Question(ctx, id)
	if err != nil || q.State.Terminal() {
		return err
	}
	p, err := e.Store.Posting(ctx, id)
	if err != nil {
		return err
	}
	return ended(ctx, e.Channel.Controls(ctx, q, p, key))
}

// posthumous saves what an earlier try has posted of a question that has ended meanwhile, so that it is closed. What was
// never tried is never posted.
func (e *Engine) posthumous(ctx context.Context, q Question, p Posting, f Effect) error {
	var payload renderPayload
	_ = json.Unmarshal(f.Payload, &payload) // another kind's has no such thing in it
	if q.Carried != nil || f.Attempts <= 1 && !payload.Arrived {
		return nil
	}
	change, err := e.Channel.Render(ctx, q, p, f.Key)
	if err != nil || len(change.Messages) == 0 {
		return ended(ctx, err)
	}
	return e.posted(ctx, q, p, change)
}

// ended takes an effect that can never be done for done.
func ended(ctx context.Context, err error) error {
	var impossible *ErrImpossible
	if errors.As(err, &impossible) {
		zerolog.Ctx(ctx).Warn().Str("reason", impossible.Reason).Msg("Left undone, because it cannot be done")
		return nil
	}
	return err
}

// posted saves what was posted. Much may have happened while it was being posted: a step may have been answered, the
// room may have been closed or replaced. So the change is applied to the posting as it stands now; a step that came up
// meanwhile is still to be shown, and what is known of the room stays known.
func (e *Engine) posted(ctx context.Context, before Question, was Posting, c Change) error {
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		q, err := e.Store.Question(ctx, before.ID)
		if err != nil {
			return err
		}
		if q.Conversation != before.Conversation {
			for _, m := range c.Messages {
				if err := e.Store.LinkMessage(ctx, before.Conversation, m.ID, q.ID); err != nil {
					return err
				}
			}
			return nil
		}
		now, err := e.Store.Posting(ctx, q.ID)
		if err != nil {
			return err
		}
		now.Moving = now.Moving && now.Revision != was.Revision
		now = applied(now, c)
		if err := e.savePosting(ctx, q, now); err != nil {
			return err
		}
		d := q.Delivery
		if d.State == before.Delivery.State {
			d = Delivery{State: Posted}
		}
		if m, ok := now.Current(); ok {
			d.Message = m.ID
		}
		return e.Store.SetDelivery(ctx, q.ID, d)
	})
}

func (e *Engine) update(ctx context.Context, q Question, p Posting, f Effect) error {
	var payload updatePayload
	if err := json.Unmarshal(f.Payload, &payload); err != nil {
		return fmt.Errorf("read an update: %w", err)
	}
	if q.State.Terminal() {
		return e.posthumous(ctx, q, p, f)
	}
	if q.Revision != payload.Revision {
		return nil
	}
	if !p.Moving && !payload.Quiet { // its step is shown already
		return e.controls(ctx, q.ID, f.Key)
	}
	change, err := e.Channel.Updated(ctx, q, p, nil, f.Key)
	if err != nil && p.Moving {
		return e.undelivered(ctx, q, err)
	}
	if err != nil {
		return ended(ctx, err)
	}
	if err := e.posted(ctx, q, p, change); err != nil {
		return err
	}
	return e.controls(ctx, q.ID, f.Key)
}

func (e *Engine) close(ctx context.Context, q Question, p Posting, f Effect) error {
	change, err := e.Channel.Settled(ctx, q, p, f.Key)
	var impossible *ErrImpossible
	if errors.As(err, &impossible) {
		return &ErrHeld{Reason: impossible.Reason, Again: closeAgain}
	}
	if err != nil || change.Messages == nil && change.Progress == nil && change.Asides == nil {
		return err
	}
	p = applied(p, change)
	p.Moving = false
	return e.savePosting(ctx, q, p)
}

// closeAgain is how soon it is worth another try to close a question where that was refused; the next interaction with
// it tries at once.
const closeAgain = 24 * time.Hour

func applied(p Posting, c Change) Posting {
	if c.Messages != nil {
		p.Messages = c.Messages
	}
	if c.Progress != nil {
		p.Progress = c.Progress
	}
	for _, a := range c.Asides {
		if !slices.ContainsFunc(p.Asides, func(known Aside) bool { return known.ID == a.ID }) {
			p.Asides = append(p.Asides[:len(p.Asides):len(p.Asides)], a)
		}
	}
	return p
}

// savePosting saves the posting of a question, which changed just now.
func (e *Engine) savePosting(ctx context.Context, q Question, p Posting) error {
	p.Question, p.Conversation, p.ChangedAt = q.ID, q.Conversation, e.Clock.Now()
	return e.Store.SavePosting(ctx, p)
}
