package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// Clock tells the time. It is handed to everything that decides by it.
type Clock interface{ Now() time.Time }

// SystemClock is the machine's clock, to the millisecond, in UTC.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Unthreaded says when a message with no relation to a question may answer it.
type Unthreaded string

// UnthreadedDirect lets one answer in a conversation of two, under the conditions of DESIGN "Which question a message
// answers"; UnthreadedNever demands a thread, a reply or a reaction.
const (
	UnthreadedDirect Unthreaded = "direct"
	UnthreadedNever  Unthreaded = "never"
)

// ByReply says when prose and reactions may do more with a subject than decline it.
type ByReply string

// ByReplyNever keeps approvals to structured and API answers; ByReplyComplete lets prose and reactions approve where a
// message of ours prints the whole subject (DESIGN "Answering a question that has a subject").
const (
	ByReplyNever    ByReply = "never"
	ByReplyComplete ByReply = "complete"
)

// Parts is what an engine is made of. Quota, Owed, Deadline, Observer and Auditor may be nil.
type Parts struct {
	Store      Store
	Channel    Channel
	Gatekeeper Gatekeeper
	Notifier   Notifier
	Features   []Feature
	Commanders []Commander // those who share a name are asked in this order
	Certifier  Certifier   // nil where approvals yield no certificates
	Clock      Clock
	Unthreaded Unthreaded
	ByReply    ByReply
	Quota      func(asker AgentID) Quota
	// OpenIDMayApprove lets [ViaOpenID] do what a person's own token may.
	OpenIDMayApprove bool
	// Owed is called after a commit that added effects, Deadline after one that added a question.
	Owed     func()
	Deadline func(time.Time)
	Observer Observer
	Auditor  Auditor
}

// Engine is the one place where questions are asked, moved on and settled. All its methods may be called at once.
type Engine struct{ Parts }

// NewEngine makes an engine of its parts.
func NewEngine(p Parts) *Engine {
	if p.Quota == nil {
		p.Quota = func(AgentID) Quota { return Quota{} }
	}
	if p.Owed == nil {
		p.Owed = func() {}
	}
	if p.Deadline == nil {
		p.Deadline = func(time.Time) {}
	}
	if p.Observer == nil {
		p.Observer = unobserved{}
	}
	if p.Auditor == nil {
		p.Auditor = Unaudited{}
	}
	return &Engine{p}
}

// Ask stores a question and owes its posting. An equal ask under the same elicitation id gives the stored question and
// created false; another one gives CodeElicitationConflict. Other errors: CodeRoomUnknown, CodeRoomUnanswerable,
// CodeTargetNotPermitted, CodeInvalidQuestion, CodeSubjectConflict, CodeQuotaExceeded.
func (e *Engine) Ask(ctx context.Context, q Question) (asked Question, created bool, err error) {
	return e.AskWith(ctx, q, func(context.Context, Question) error { return nil })
}

// AskWith asks as [Engine.Ask] does; with runs in the transaction that stores a new question, and its error is the error.
func (e *Engine) AskWith(ctx context.Context, q Question, with func(ctx context.Context, q Question) error) (asked Question, created bool, err error) {
	if earlier, ok, err := e.earlier(ctx, q); ok || err != nil {
		return earlier, false, err
	}
	if q, err = e.checked(ctx, q); err != nil {
		return Question{}, false, err
	}
	if err := e.Ready(ctx, q); err != nil {
		return Question{}, false, err
	}
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := e.put(ctx, q); err != nil {
			return err
		}
		return with(ctx, q)
	})
	if code := CodeOf(err); code == CodeElicitationConflict || code == CodeQuotaExceeded { // lost a race with an equal ask, perhaps
		if earlier, ok, err := e.earlier(ctx, q); ok || err != nil {
			return earlier, false, err
		}
	}
	if err != nil {
		return Question{}, false, err
	}
	return q, true, nil
}

// checked is a question as it will be stored, if it can be posted as it is.
func (e *Engine) checked(ctx context.Context, q Question) (Question, error) {
	q = scheduled(q, e.Clock.Now())
	q.ByReply = e.ByReply == ByReplyComplete && q.Carried == nil && q.Subject != nil && q.Subject.Complete && q.Subject.Printable
	q.State, q.Delivery = Pending, Delivery{State: Queued}
	return q, e.Channel.Check(ctx, q)
}

// put stores a question with its posting, in the transaction of ctx, and tells of it after the commit.
func (e *Engine) put(ctx context.Context, q Question) error {
	effect := Effect{Kind: EffectRender, Question: q.ID, Key: effectKey(q.ID, EffectRender, 0), Due: q.CreatedAt}
	superseded, err := e.ask(ctx, q, effect)
	if err != nil {
		return err
	}
	AfterCommit(ctx, func() {
		zerolog.Ctx(ctx).Info().Str("question_id", string(q.ID)).Str("room_id", string(q.Conversation)).
			Str("asker", string(q.Asker)).Msg("Question asked")
		e.Observer.Asked()
		e.recordAsked(ctx, q)
		e.Owed()
		e.told(ctx, superseded...)
		e.Deadline(q.ExpiresAt)
	})
	return nil
}

// earlier finds an equal question that was asked before. One that is called by its own new id is the first of its kind.
func (e *Engine) earlier(ctx context.Context, q Question) (Question, bool, error) {
	if q.ElicitationID == string(q.ID) {
		return Question{}, false, nil
	}
	earlier, err := e.Store.QuestionByElicitation(ctx, q.Asker, q.ElicitationID)
	switch {
	case CodeOf(err) == CodeNotFound:
		return Question{}, false, nil
	case err != nil:
		return Question{}, false, err
	case earlier.Digest != q.Digest || earlier.Conversation != q.Conversation:
		return Question{}, false, refusal(CodeElicitationConflict, "another question was asked under this elicitation_id")
	}
	return earlier, true, nil
}

// checkTarget refuses a direct question to somebody who could not answer it. Who is there cannot be read now, perhaps:
// then it is read when the question is posted, and again when there is an answer.
func (e *Engine) checkTarget(ctx context.Context, q Question) error {
	if q.Scope != Direct {
		return nil
	}
	r, err := e.rights(ctx, q, q.Target, false)
	switch {
	case r.Machine, r.IsAsker:
	case r.Unreadable, err == nil && r.Member:
		return nil
	case err != nil:
		return fmt.Errorf("read the target's rights: %w", err)
	}
	return &Error{CodeTargetNotPermitted, "/target_user_id", "the target is not a person who has joined the room"}
}

// rights reads what a person may do; fresh trusts no copy of the conversation's state. That somebody is no member is not
// believed of a copy, which may be behind: whoever has just joined would be refused for good.
func (e *Engine) rights(ctx context.Context, q Question, who UserID, fresh bool) (Rights, error) {
	r, err := e.Gatekeeper.Rights(ctx, q, who, fresh)
	if fresh || err != nil || r.Unreadable || r.Member || r.Machine || r.IsAsker {
		return r, err
	}
	return e.Gatekeeper.Rights(ctx, q, who, true)
}

// Fetch gives a question to its own asker; anybody else's is CodeNotFound.
func (e *Engine) Fetch(ctx context.Context, asker AgentID, id QuestionID) (Question, error) {
	return e.Read(ctx, id, func(q Question) (bool, error) { return q.Asker == asker, nil })
}

// Read gives a question that may be read; one that may not is CodeNotFound, as if there were none. An error of may is the
// error.
func (e *Engine) Read(ctx context.Context, id QuestionID, may func(Question) (bool, error)) (Question, error) {
	q, err := e.Store.Question(ctx, id)
	if err != nil {
		return Question{}, err
	}
	if ok, err := may(q); err != nil {
		return Question{}, err
	} else if !ok {
		return Question{}, refusal(CodeNotFound, "there is no such question")
	}
	if e.overdue(q) {
		return e.expireNow(ctx, q)
	}
	return q, nil
}

// List gives an asker's own questions, or those of a conversation, newest first, and the cursor of the next page, "" on the last.
func (e *Engine) List(ctx context.Context, l Listing) ([]Question, string, error) {
	return e.Store.ListQuestions(ctx, l)
}

// Cancel withdraws a pending question of the asker. A question that is settled already comes back as it is.
func (e *Engine) Cancel(ctx context.Context, asker AgentID, id QuestionID) (Question, error) {
	q, err := e.Fetch(ctx, asker, id)
	if err != nil || q.State.Terminal() {
		return q, err
	}
	q, _, err = e.settle(ctx, withdrawal(id, e.Clock.Now()), nil)
	return q, err
}

// withdrawal is how a question ends that its asker withdraws.
func withdrawal(id QuestionID, at time.Time) Settlement {
	return Settlement{Question: id, State: Cancelled, Revision: -1, CancelledBy: ByAsker, At: at}
}

// Expire settles what is overdue, at most limit questions, and says how many it was. A thousand may be due at once, so
// only what a feature has to know is read of them.
func (e *Engine) Expire(ctx context.Context, limit int) (int, error) {
	var expired []Lapsed
	err := e.Store.Atomically(ctx, func(ctx context.Context) error {
		var err error
		now := e.Clock.Now()
		if expired, err = e.Store.ExpireDue(ctx, now, limit); err != nil {
			return err
		}
		if err := e.expiring(ctx, expired); err != nil {
			return err
		}
		closings := make([]Effect, 0, len(expired))
		for _, q := range expired {
			closings = append(closings, closing(q.ID, now))
		}
		return e.Store.AddEffects(ctx, closings...)
	})
	if err != nil {
		return 0, err
	}
	nobody := Origin{}.In(ctx) // whoever came by just now did not do it
	for _, q := range expired {
		e.ended(ctx, q.ID, Expired)
		e.record(nobody, AuditRecord{Action: AuditExpired, Question: q.ID, Conversation: q.Conversation, Agent: q.Asker})
	}
	if len(expired) > 0 {
		e.Owed()
	}
	return len(expired), nil
}

// settle makes the one move into a terminal state, with everything it owes, in one transaction. with runs in it however
// it ends; it may be nil. won is false when somebody or the deadline was first; q is then what they left.
func (e *Engine) settle(ctx context.Context, s Settlement, with func(ctx context.Context, q Question, won bool) error) (q Question, won bool, err error) {
	err = e.Store.Atomically(ctx, func(ctx context.Context) error {
		var err error
		if q, won, err = e.settled(ctx, s); err != nil {
			return err
		}
		if with == nil {
			return nil
		}
		return with(ctx, q, won)
	})
	if err != nil {
		return Question{}, false, err
	}
	if won {
		e.told(ctx, q)
	}
	return q, won, nil
}

// settled makes the move and adds what it owes, in the caller's transaction: its closing, and what the features add.
func (e *Engine) settled(ctx context.Context, s Settlement) (q Question, won bool, err error) {
	if q, won, err = e.Store.Settle(ctx, s); err != nil || !won {
		return q, won, err
	}
	if err = e.settling(ctx, q); err == nil {
		err = e.Store.AddEffects(ctx, closing(q.ID, *q.SettledAt))
	}
	return q, won, err
}

// closing says in the room how a question ended.
func closing(id QuestionID, at time.Time) Effect {
	return Effect{Kind: EffectSettled, Question: id, Key: effectKey(id, EffectSettled, 0), Due: at}
}

// told wakes whoever waits, after commit.
func (e *Engine) told(ctx context.Context, settled ...Question) {
	for _, q := range settled {
		e.ended(ctx, q.ID, q.State)
		e.recordSettled(ctx, q)
	}
	if len(settled) > 0 {
		e.Owed()
	}
}

func (e *Engine) ended(ctx context.Context, id QuestionID, state State) {
	zerolog.Ctx(ctx).Info().Str("question_id", string(id)).Str("state", string(state)).Msg("Question settled")
	e.Observer.Settled(state)
	e.Notifier.Notify(id)
}

// overdue is true of a question whose deadline passed before the sweep came by.
func (e *Engine) overdue(q Question) bool {
	return q.State == Pending && !e.Clock.Now().Before(q.ExpiresAt)
}

// expireNow settles an overdue question ahead of the sweep.
func (e *Engine) expireNow(ctx context.Context, q Question) (Question, error) {
	for e.overdue(q) {
		if _, err := e.Expire(ctx, 1000); err != nil {
			return Question{}, err
		}
		var err error
		if q, err = e.Store.Question(ctx, q.ID); err != nil {
			return Question{}, err
		}
	}
	return q, nil
}

// effectKey is the stable id of an effect, and of what it sends.
func effectKey(id QuestionID, kind EffectKind, revision int) string {
	return fmt.Sprintf("%s/%s/%d", id, kind, revision)
}

// errMoved is a revision race that was lost three times: the interaction is read again later.
var errMoved = errors.New("the question kept moving on")
