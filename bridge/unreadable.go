package bridge

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// unreadableGrace is how long a message may stay unreadable before its sender hears of it: keys are late sometimes.
const unreadableGrace = 30 * time.Second

// Unread is a message that we cannot decrypt, as far as it can be seen from outside. It may become readable later, and is
// received then.
type Unread struct {
	ID           InteractionID
	Conversation ConversationID
	Sender       UserID
	Target       MessageID // that it is about, by its relation; "" when it has none
	Thread       MessageID // that it stands in
	ReceivedAt   time.Time
}

// Unreadable owes the sender of a message that may be an answer one word on how else to answer, after a grace time, once for
// each question. It may be called again with the same message.
func (e *Engine) Unreadable(ctx context.Context, u Unread) error {
	q, ok, err := e.maybeAnswered(ctx, u)
	if err != nil || !ok || q.State.Terminal() || e.overdue(q) {
		return err
	}
	rights, err := e.Gatekeeper.Rights(ctx, q, u.Sender, false)
	if err != nil {
		return err
	}
	if q.Permits(u.Sender, rights) != nil {
		return nil
	}
	c := Courtesy{
		Kind: Rejected, To: u.Sender, About: u.ID, Thread: u.Thread,
		Code: string(CodeUnreadable), Reason: texts.Unreadable(string(q.ID)),
	}
	f, err := telling(q.ID, c, string(CodeUnreadable)+"/"+string(u.Sender))
	if err != nil {
		return err
	}
	f.Due, f.Lane = u.ReceivedAt.Add(unreadableGrace), string(CodeUnreadable)
	if err := e.Store.AddEffects(ctx, f); err != nil {
		return err
	}
	e.Owed()
	return nil
}

// maybeAnswered is the question that a message could be an answer to.
func (e *Engine) maybeAnswered(ctx context.Context, u Unread) (q Question, ok bool, err error) {
	if u.Target == "" {
		if e.Unthreaded != UnthreadedDirect {
			return Question{}, false, nil
		}
		pending, err := e.Store.PendingIn(ctx, u.Conversation, 2)
		if err != nil || len(pending) != 1 {
			return Question{}, false, err
		}
		alone, err := e.Gatekeeper.Alone(ctx, u.Conversation)
		return pending[0], alone, err
	}
	id, ok, err := e.Store.QuestionOf(ctx, u.Conversation, u.Target)
	if err != nil || !ok {
		return Question{}, false, err
	}
	q, err = e.Store.Question(ctx, id)
	return q, err == nil, err
}
