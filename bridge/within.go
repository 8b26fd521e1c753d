package bridge

import "context"

// What is here is for those who ask and withdraw as one part of something else, in a transaction of their own.

// Ready says whether a question could be asked where it is meant to be, as far as that has to be asked of somebody else:
// it may use the network, and is called outside of transactions. Errors: CodeRoomUnknown, CodeRoomUnanswerable,
// CodeTargetNotPermitted.
func (e *Engine) Ready(ctx context.Context, q Question) error {
	if err := e.Channel.Supports(ctx, q.Conversation); err != nil {
		return err
	}
	return e.checkTarget(ctx, q)
}

// AskWithin stores a question under its own new id, which [Engine.Ready] let through before, and owes its posting, in the
// transaction of ctx. Errors: CodeInvalidQuestion, CodeSubjectConflict, CodeQuotaExceeded.
func (e *Engine) AskWithin(ctx context.Context, q Question) error {
	q, err := e.checked(ctx, q)
	if err != nil {
		return err
	}
	return e.put(ctx, q)
}

// Withdraw cancels a pending question in the transaction of ctx, with everything that this owes. One that ended already
// stays as it is, and withdrawn is false.
func (e *Engine) Withdraw(ctx context.Context, id QuestionID, by CancelledBy, reason string) (withdrawn bool, err error) {
	s := withdrawal(id, e.Clock.Now())
	s.CancelledBy, s.Reason = by, reason
	q, withdrawn, err := e.settled(ctx, s)
	if withdrawn && err == nil {
		AfterCommit(ctx, func() { e.told(ctx, q) })
	}
	return withdrawn, err
}
