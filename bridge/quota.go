package bridge

import "context"

// Quota is how many questions may be pending at once: those of one asker, and those in one conversation, whoever asked
// them. 0 is any number.
type Quota struct{ Asker, Conversation int }

// withinQuota refuses a question by CodeQuotaExceeded that would be one too many, in the transaction that stores it, and
// after what it supersedes was withdrawn. It is asked of no carried question: that stands in the conversation already, so
// that a refusal would spare nobody anything. Once adopted it counts like every other.
// (The Question Protocol 1.1, section 10.)
func (e *Engine) withinQuota(ctx context.Context, q Question) error {
	quota := e.Quota(q.Asker)
	if q.Carried != nil || quota == (Quota{}) {
		return nil
	}
	byAsker, there, err := e.Store.QuotaReached(ctx, q.Asker, q.Conversation, quota)
	switch {
	case err != nil:
		return err
	case byAsker:
		return refusal(CodeQuotaExceeded, "as many questions of this agent are pending as may be at once")
	case there:
		return refusal(CodeQuotaExceeded, "as many questions are pending in this room as may be at once")
	}
	return nil
}
