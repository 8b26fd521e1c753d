package bridge

import (
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

// PendingListing selects the pending questions that a person may answer.
type PendingListing struct {
	Who    UserID
	Limit  int    // at least 1
	Cursor string // where the page goes on; "" for the first one
}

// PendingFor gives the pending questions that a person may answer, newest first, and the cursor of the next page, "" on
// the last. The error is CodeInvalidCursor, or *ErrRetry while the rooms of the person cannot be read. (The Question
// Protocol 1.1, section 7, "Pending".)
func (e *Engine) PendingFor(ctx context.Context, l PendingListing) (page []Question, next string, err error) {
	var from *Place
	if l.Cursor != "" {
		place, err := ReadCursor(l.Cursor)
		if err != nil {
			return nil, "", err
		}
		from = &place
	}
	rooms, err := e.Gatekeeper.Joined(ctx, l.Who)
	if err != nil {
		return nil, "", unreadRights(err)
	}
	for {
		batch, err := e.Store.PendingAfter(ctx, rooms, from, pendingBatch)
		if err != nil {
			return nil, "", err
		}
		for _, q := range batch {
			may, err := e.mayAnswer(ctx, l.Who, q)
			switch {
			case err != nil:
				return nil, "", err
			case may && len(page) == l.Limit: // there is another one, so there is another page
				return page, page[len(page)-1].Place().Cursor(), nil
			case may:
				page = append(page, q)
			}
		}
		if len(batch) < pendingBatch {
			return page, "", nil
		}
		last := batch[len(batch)-1].Place()
		from = &last
	}
}

// pendingBatch is how many questions are looked at together.
const pendingBatch = 200

// mayAnswer says whether a question is one that the person can answer now.
func (e *Engine) mayAnswer(ctx context.Context, who UserID, q Question) (bool, error) {
	if e.overdue(q) {
		return false, nil
	}
	rights, err := e.Gatekeeper.Rights(ctx, q, who, false)
	if err != nil {
		return false, unreadRights(err)
	}
	return q.Permits(who, rights) == nil, nil
}

// Answer takes an answer that a person gave outside the conversation. Its Via says how they signed in: ViaAPI, and whatever
// else it is counts as ViaOpenID, the weaker one. Rights are read anew for whatever approves or needs more than being
// there. Whoever comes late gets the question as it was settled, without an error. Errors are *Error as [Engine.Show],
// [Question.Accepts] and [Question.Allows] give them, or *ErrRetry; the question stays pending then.
func (e *Engine) Answer(ctx context.Context, who UserID, id QuestionID, c Choice) (Question, error) {
	if c.Via != ViaAPI {
		c.Via = ViaOpenID
	}
	q, err := e.Show(ctx, who, id)
	if err != nil {
		return q, err
	}
	if q.State.Terminal() {
		e.recordLate(ctx, q, who, c.Via)
		return q, nil
	}
	r, err := e.permitted(ctx, q, who, q.matters(c))
	if err != nil {
		return Question{}, err
	}
	answer, err := e.answerOf(q, c, r, who, "")
	if err != nil {
		return Question{}, err
	}
	q, won, err := e.settle(ctx, Settlement{Question: id, State: Answered, Revision: -1, Answer: &answer, At: answer.At}, nil)
	if err == nil && e.overdue(q) { // it expired between the look at the clock and the update
		q, err = e.expireNow(ctx, q)
	}
	if err == nil && !won {
		e.recordLate(ctx, q, who, c.Via)
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
