package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// Reminder is a message that notifies people because a pending question's time has come.
type Reminder string

// The reminders: of whoever may answer, and of the workspace admins.
const (
	RemindResponders Reminder = "remind"
	RemindAdmins     Reminder = "escalate"
)

// Each reminder has a lane of its own: what a question's messages wait for does not keep it back.
func (r Reminder) lane() string { return string(r) }

type reminderPayload struct {
	Reminder Reminder `json:"reminder"`
}

// scheduled drops the reminders of a question that can never come, and tells its asker so.
func scheduled(q Question, now time.Time) Question {
	keep := func(at *time.Time, name string) *time.Time {
		switch {
		case at == nil:
			return nil
		case !at.After(now):
			q.Warnings = append(q.Warnings, name+" is in the past and was ignored")
			return nil
		case !at.Before(q.ExpiresAt):
			q.Warnings = append(q.Warnings, name+" is not before the question expires and was ignored")
			return nil
		}
		return at
	}
	q.Warnings = q.Warnings[:len(q.Warnings):len(q.Warnings)]
	q.RemindAt = keep(q.RemindAt, "/deadline/remind_at")
	q.EscalateAt = keep(q.EscalateAt, "/deadline/escalate_at")
	return q
}

// reminders are what a question owes at its times.
func (e *Engine) reminders(q Question) (effects []Effect) {
	add := func(at *time.Time, r Reminder) {
		if at == nil {
			return
		}
		payload, _ := json.Marshal(reminderPayload{r}) // a text always encodes
		effects = append(effects, Effect{
			Kind: EffectRemind, Question: q.ID, Lane: r.lane(), Key: fmt.Sprintf("%s/%s", q.ID, r), Payload: payload, Due: *at,
		})
	}
	add(q.RemindAt, RemindResponders)
	add(q.EscalateAt, RemindAdmins)
	return effects
}

// unposted is how soon to look again whether a question stands where people can be reminded of it.
const unposted = time.Minute

// remind reminds people once of a question that is still pending. One that nobody could see is not worth a reminder; one
// that is not posted yet waits for that.
func (e *Engine) remind(ctx context.Context, q Question, p Posting, f Effect) error {
	var payload reminderPayload
	if err := json.Unmarshal(f.Payload, &payload); err != nil {
		return fmt.Errorf("read a reminder: %w", err)
	}
	switch {
	case q.State.Terminal() || e.overdue(q):
		return nil
	case q.Delivery.State == Queued:
		return &ErrHeld{Reason: "the question is not posted yet", Again: unposted}
	case q.Delivery.State != Posted:
		zerolog.Ctx(ctx).Warn().Str("question_id", string(q.ID)).Str("reminder", string(payload.Reminder)).Msg("Not reminding: the question does not stand in its room")
		return nil
	}
	return ended(ctx, e.Channel.Remind(ctx, q, p, payload.Reminder, f.Key))
}
