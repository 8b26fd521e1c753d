package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Show gives a question to a person who may answer it, or who might have before it ended. The error is CodeNotFound or
// CodeNotEligible, with the reason, or *ErrRetry.
func (e *Engine) Show(ctx context.Context, who UserID, id QuestionID) (Question, error) {
	q, err := e.Store.Question(ctx, id)
	if err != nil {
		return Question{}, err
	}
	if _, err := e.permitted(ctx, q, who, false); err != nil {
		return Question{}, err
	}
	if e.overdue(q) {
		return e.expireNow(ctx, q)
	}
	return q, nil
}

// permitted reads what a person may do with a question, and refuses those who may not answer it. What a copy of the room
// denies is read again: it may be behind. Rights that cannot be read now are *ErrRetry, and no refusal.
func (e *Engine) permitted(ctx context.Context, q Question, who UserID, fresh bool) (Rights, error) {
	r, err := e.rights(ctx, q, who, fresh)
	if err != nil {
		return Rights{}, unreadRights(err)
	}
	return r, q.Permits(who, r)
}

func unreadRights(err error) error {
	return &ErrRetry{After: time.Second, Err: fmt.Errorf("read the responder's rights: %w", err)}
}

// PendingFor gives the pending questions that a person may answer, newest first, at most limit; more says that there are
// others. The error is *ErrRetry while their rooms cannot be read. (The Question Protocol 1.1, section 7, "Pending".)
func (e *Engine) PendingFor(ctx context.Context, who UserID, limit int) (all []Question, more bool, err error) {
	rooms, err := e.Gatekeeper.Joined(ctx, who)
	if err != nil {
		return nil, false, unreadRights(err)
	}
	for _, room := range rooms {
		pending, err := e.Store.PendingIn(ctx, room, maxPendingRead)
		if err != nil {
			return nil, false, err
		}
		for _, q := range pending {
			if e.overdue(q) {
				continue
			}
			rights, err := e.Gatekeeper.Rights(ctx, q, who, false)
			if err != nil {
				return nil, false, unreadRights(err)
			}
			if q.Permits(who, rights) == nil {
				all = append(all, q)
			}
		}
		more = more || len(pending) == maxPendingRead
	}
	slices.SortFunc(all, func(a, b Question) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	if len(all) > limit {
		all, more = all[:limit], true
	}
	return all, more, nil
}

// maxPendingRead is how many pending questions of one conversation a person's list looks at.
const maxPendingRead = 1000

// Answer takes an answer that a person gave outside the conversation. Its Via says how they signed in: ViaAPI, and whatever
// else it is counts as ViaOpenID, the weaker one. Rights are read anew for whatever approves or needs more than being
// there. Whoever comes late gets the question as it was settled, without an error. Errors are *Error as [Engine.Show],
// [Question.Accepts] and [Question.Allows] give them, or *ErrRetry; the question stays pending then.
func (e *Engine) Answer(ctx context.Context, who UserID, id QuestionID, c Choice) (Question, error) {
	q, err := e.Show(ctx, who, id)
	if err != nil || q.State.Terminal() {
		return q, err
	}
	if c.Via != ViaAPI {
		c.Via = ViaOpenID
	}
	r, err := e.permitted(ctx, q, who, q.matters(c))
	if err != nil {
		return Question{}, err
	}
	answer, err := e.answerOf(q, c, r, who, "")
	if err != nil {
		return Question{}, err
	}
	q, _, err = e.settle(ctx, Settlement{Question: id, State: Answered, Revision: -1, Answer: &answer, At: answer.At}, nil)
	if err == nil && e.overdue(q) { // it expired between the look at the clock and the update
		q, err = e.expireNow(ctx, q)
	}
	return q, err
}

// matters is true of a choice for which no copy of anybody's rights is good enough.
func (q Question) matters(c Choice) bool {
	return slices.ContainsFunc(q.chosen(c), func(o Option) bool { return o.Meaning == Approve || o.Requires != "" })
}

// answerOf makes the answer of an accepted choice, complete with the certificate of what it approves.
func (e *Engine) answerOf(q Question, c Choice, r Rights, who UserID, event InteractionID) (Answer, error) {
	now := e.Clock.Now()
	r.Weak = c.Via == ViaOpenID && !e.OpenIDMayApprove
	a, err := q.Accepts(c, r, now)
	if err != nil {
		return Answer{}, err
	}
	a.By, a.At, a.Event = Responder{who, r.DisplayName}, now, event
	if q.Approves(a) && e.Certifier != nil {
		if a.Certificate, err = e.Certifier.Certify(q, a); err != nil {
			return Answer{}, fmt.Errorf("certify the answer to %s: %w", q.ID, err)
		}
	}
	return a, nil
}

// Certifier makes certificates of approvals.
type Certifier interface {
	// Certify states, signed, that exactly the question's subject was approved by this answer: the canonical bytes of a
	// JSON object. It uses neither network nor database.
	Certify(q Question, a Answer) ([]byte, error)
}
