package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// Receive reads one interaction and stores whatever it causes, together with the mark that it is handled. An error
// means that nothing was stored and the same interaction is to be received again.
func (e *Engine) Receive(ctx context.Context, in Interaction) error {
	ctx = zerolog.Ctx(ctx).With().Str("event_id", string(in.ID)).Str("room_id", string(in.Conversation)).Logger().WithContext(ctx)
	if c, ok := e.commandIn(in); ok {
		return e.obey(ctx, in, c)
	}
	for range 3 {
		done, err := e.receive(ctx, in)
		if done || err != nil {
			return err
		}
	}
	return errMoved
}

// receive makes one try; done is false when the question moved on meanwhile.
func (e *Engine) receive(ctx context.Context, in Interaction) (done bool, err error) {
	r, err := e.aim(ctx, in)
	if err != nil {
		return false, err
	}
	if r == nil || r.q.Conversation != in.Conversation { // its question moved to another conversation: this one is over
		return true, e.finish(ctx, in)
	}
	if e.overdue(r.q) {
		if r.q, err = e.expireNow(ctx, r.q); err != nil {
			return false, err
		}
	}
	reading := r.read(e.Channel)
	_, withdrew := in.Act.(Withdrew)
	if p, ok := reading.(Partial); ok && withdrew { // whoever may withdraw what was said, the homeserver has decided
		return e.advance(ctx, r, p)
	}
	switch reading.(type) {
	case Ignored:
		if withdrew {
			return true, e.finish(ctx, in)
		}
		return true, e.ignore(ctx, r)
	case Outdated:
		return true, e.tell(ctx, r, Courtesy{Kind: Stale, Code: "outdated"})
	}
	if r.q.State.Terminal() {
		if r.q.Answer != nil && r.q.Answer.Event == in.ID {
			return true, e.Store.FinishInteraction(ctx, in.ID)
		}
		return true, e.tell(ctx, r, Courtesy{Kind: Stale, Code: string(r.q.State)})
	}
	rights, err := e.rights(ctx, r.q, in.Sender, false)
	if err != nil {
		return false, fmt.Errorf("read the sender's rights: %w", err)
	}
	if rights.Machine {
		return true, e.Store.FinishInteraction(ctx, in.ID) // no word to a machine: it might answer
	}
	dismissed, _ := reading.(Dismissed)
	if err := r.q.Permits(in.Sender, rights); err != nil {
		if dismissed.Talk {
			return true, e.ignore(ctx, r)
		}
		return true, e.tell(ctx, r, courtesyOf(err))
	}
	if c, ok := r.obstacle(reading); ok {
		return true, e.tell(ctx, r, c)
	}
	switch reading := reading.(type) {
	case Chosen:
		return e.choose(ctx, r, reading.Choice, rights)
	case Dismissed:
		return true, e.dismiss(ctx, r, reading.Reason)
	case Partial:
		if err := r.q.Allows(reading.Choice, rights, e.Clock.Now()); err != nil {
			return true, e.tell(ctx, r, courtesyOf(err))
		}
		return e.advance(ctx, r, reading)
	default:
		return false, fmt.Errorf("a reading of type %T", reading)
	}
}

// obstacle is what keeps an attempt by somebody who may answer from being read as an answer.
func (r *reception) obstacle(reading Reading) (Courtesy, bool) {
	reject := func(code, reason string) (Courtesy, bool) {
		return Courtesy{Kind: Rejected, Code: code, Reason: reason}, true
	}
	switch {
	case r.q.Delivery.Reason == ReasonRedacted:
		return reject(ReasonRedacted, texts.RedactedQuestion)
	case r.q.Delivery.Reason == ReasonRoomUpgraded:
		return reject(ReasonRoomUpgraded, texts.RoomGoesOn)
	case r.p.Moving:
		return reject(codeMoving, texts.StillPosting)
	}
	var chosen Choice
	switch reading := reading.(type) {
	case Refused:
		return reject(string(reading.Code), reading.Reason)
	case Chosen:
		chosen = reading.Choice
	case Partial:
		chosen = reading.Choice
	}
	if r.in.Doubted && r.q.weighty(chosen) {
		return reject(string(CodeDeviceUntrusted), texts.DeviceUntrusted)
	}
	return Courtesy{}, false
}

const codeMoving = "moving"

func (e *Engine) choose(ctx context.Context, r *reception, c Choice, rights Rights) (bool, error) {
	answer, err := e.answerOf(r.q, c, rights, r.in.Sender, r.in.ID)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return true, e.tell(ctx, r, courtesyOf(refused))
	case err != nil:
		return false, err
	case r.correction && answer.Meaning == Approve:
		return true, e.tell(ctx, r, Courtesy{Kind: Rejected, Code: "edit_cannot_approve", Reason: texts.EditedApproval})
	}
	if r.q.Subject != nil && answer.Meaning != Reject && answer.Via != ViaStructured { // what was shown must still be there
		stands, err := e.Channel.Stands(ctx, r.q, r.p)
		if err != nil {
			return false, fmt.Errorf("look whether the question still stands: %w", err)
		}
		if !stands {
			return true, e.tell(ctx, r, courtesyOf(refusal(CodeQuestionRemoved, texts.QuestionRemoved)))
		}
	}
	s := Settlement{Question: r.q.ID, State: Answered, Revision: r.q.Revision, Answer: &answer, At: answer.At}
	retry := false
	q, won, err := e.settle(ctx, s, func(ctx context.Context, q Question, won bool) error {
		if retry = !won && q.State == Pending; retry { // at another revision, or overdue: read it again
			return nil
		}
		if !won {
			if err := e.addCourtesy(ctx, r, Courtesy{Kind: Stale, Code: string(q.State)}); err != nil {
				return err
			}
		}
		return e.Store.FinishInteraction(ctx, r.in.ID)
	})
	if err == nil && !retry {
		e.Owed()
		e.recordLost(ctx, r, q, won)
	}
	if won {
		e.Observer.Replied(e.Clock.Now().Sub(r.in.ReceivedAt))
	}
	return !retry, err
}

func (e *Engine) dismiss(ctx context.Context, r *reception, reason string) error {
	s := Settlement{
		Question: r.q.ID, State: Cancelled, Revision: -1, CancelledBy: ByResponder, DismissedBy: r.in.Sender, Reason: reason, At: e.Clock.Now(),
	}
	q, won, err := e.settle(ctx, s, func(ctx context.Context, q Question, won bool) error {
		late := Courtesy{Kind: Stale, Code: string(q.State), To: r.in.Sender}
		var err error
		if won { // seen again, the same event is nothing to tell them
			_, err = e.Store.FirstTime(ctx, q.ID, late.once(r.p.Step()))
		} else {
			err = e.addCourtesy(ctx, r, late)
		}
		if err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, r.in.ID)
	})
	if err == nil {
		e.recordLost(ctx, r, q, won)
	}
	return err
}

// advance moves the posting on. What is not a step leaves one that is still to be shown so.
func (e *Engine) advance(ctx context.Context, r *reception, p Partial) (bool, error) {
	step := !p.Quiet || r.p.Moving
	moved := false
	err := e.Store.Atomically(ctx, func(ctx context.Context) error {
		var err error
		if moved, err = e.Store.Advance(ctx, r.q.ID, r.q.Revision, p.Progress, step); err != nil || !moved {
			return err
		}
		if err := e.oweUpdate(ctx, r.q.ID, updatePayload{r.q.Revision + 1, !step}); err != nil {
			return err
		}
		if _, withdrew := r.in.Act.(Withdrew); p.Quiet && !withdrew { // it may be withdrawn
			if err := e.remember(ctx, r); err != nil {
				return err
			}
		}
		return e.finish(ctx, r.in)
	})
	if moved {
		e.Owed()
	}
	return moved, err
}

// finish ends an interaction; what it withdraws is forgotten with it.
func (e *Engine) finish(ctx context.Context, in Interaction) error {
	w, ok := in.Act.(Withdrew)
	if !ok {
		return e.Store.FinishInteraction(ctx, in.ID)
	}
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		kept, ok, err := e.Store.Reply(ctx, InteractionID(w.Original))
		if err == nil && ok && kept.Conversation == in.Conversation {
			err = e.Store.DropReply(ctx, kept.ID)
		}
		if err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, in.ID)
	})
}

// updatePayload says which revision an update shows: a later one makes it needless.
type updatePayload struct {
	Revision int  `json:"revision"`
	Quiet    bool `json:"quiet,omitempty"`
}

func (e *Engine) oweUpdate(ctx context.Context, id QuestionID, u updatePayload) error {
	payload, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return e.Store.AddEffects(ctx, Effect{
		Kind: EffectUpdate, Question: id, Key: effectKey(id, EffectUpdate, u.Revision), Payload: payload, Due: e.Clock.Now(),
	})
}

// ignore finishes an interaction that means nothing, and remembers a reply for a later correction of it.
func (e *Engine) ignore(ctx context.Context, r *reception) error {
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := e.keep(ctx, r); err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, r.in.ID)
	})
}

// keep remembers what somebody said about a question, for a correction of it.
func (e *Engine) keep(ctx context.Context, r *reception) error {
	if _, ok := r.in.Act.(Said); !ok || !r.related || r.q.State.Terminal() {
		return nil
	}
	return e.remember(ctx, r)
}

func (e *Engine) remember(ctx context.Context, r *reception) error {
	return e.Store.KeepReply(ctx, Reply{
		ID: r.original(), Conversation: r.in.Conversation, Sender: r.in.Sender, Question: r.q.ID,
		Step: r.p.Step(), Encrypted: r.in.Encrypted,
	})
}

// tell finishes an interaction with a courtesy, which is owed once per person, question, step and code.
func (e *Engine) tell(ctx context.Context, r *reception, c Courtesy) error {
	rights, err := e.Gatekeeper.Rights(ctx, r.q, r.in.Sender, false)
	if err != nil {
		return fmt.Errorf("read the sender's rights: %w", err)
	}
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		if c.Kind != Stale {
			if err := e.keep(ctx, r); err != nil {
				return err
			}
		}
		if c.Code == codeMoving || r.q.State.Terminal() { // what shows the step or the end may wait, after a refusal
			if err := e.Store.HastenEffects(ctx, r.q.ID, e.Clock.Now()); err != nil {
				return err
			}
		}
		if c.Code == codeMoving { // or was given up
			if err := e.oweUpdate(ctx, r.q.ID, updatePayload{Revision: r.q.Revision}); err != nil {
				return err
			}
		}
		if !rights.Machine {
			if err := e.addCourtesy(ctx, r, c); err != nil {
				return err
			}
		}
		return e.Store.FinishInteraction(ctx, r.in.ID)
	})
	if err == nil {
		e.Owed()
		if !rights.Machine {
			e.recordAttempt(ctx, r, c)
		}
	}
	return err
}

func (e *Engine) addCourtesy(ctx context.Context, r *reception, c Courtesy) error {
	c.To, c.About, c.Thread = r.in.Sender, r.original(), r.thread
	first, err := e.Store.FirstTime(ctx, r.q.ID, c.once(r.p.Step()))
	if err != nil || !first {
		return err
	}
	zerolog.Ctx(ctx).Info().Str("question_id", string(r.q.ID)).Str("courtesy", string(c.Kind)).Str("code", c.Code).Msg("Not an answer")
	f, err := telling(r.q.ID, c, string(r.in.ID))
	if err != nil {
		return err
	}
	f.Due = e.Clock.Now()
	if c.Kind != Stale { // what is said of the end comes after it; a hint does not wait for a step that cannot be posted
		f.Lane = laneHints
	}
	return e.Store.AddEffects(ctx, f)
}

const laneHints = "hints"

// telling is the effect of a courtesy; what is told under the same name is told once.
func telling(q QuestionID, c Courtesy, name string) (Effect, error) {
	payload, err := json.Marshal(c)
	return Effect{Kind: EffectTell, Question: q, Key: fmt.Sprintf("%s/%s/%s", q, EffectTell, name), Payload: payload}, err
}

// courtesyOf words a refusal for the person. Who may not choose something is denied it; what is no answer is rejected.
func courtesyOf(err error) Courtesy {
	c := Courtesy{Kind: Rejected, Code: string(CodeOf(err)), Reason: err.Error()}
	if shown, ok := err.(*Error); ok {
		c.Reason = shown.Reason
	}
	switch Code(c.Code) {
	case CodeNotEligible, CodeAdminsOnly:
		c.Kind = Denied
	}
	return c
}
