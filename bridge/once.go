package bridge

import (
	"context"
	"errors"
	"time"
)

// RequestID names a request of an asker, so that a repeat of it is known: its key counts for one agent and one thing to
// do in one place.
type RequestID struct {
	Agent AgentID
	Scope string // what is to be done, and where: "ask !room:example.org", "cancel q_…"
	Key   string // the asker's own, 1–255 visible ASCII characters
}

// Response is what a request was answered.
type Response struct {
	Question QuestionID
	Created  bool   // whether the question came of this request
	Body     []byte // as it was sent, and will be sent again
}

// KeptResponse is the response to a request, as the store keeps it. It is forgotten with its question, or sooner.
type KeptResponse struct {
	RequestID
	Request [32]byte // a hash of what was asked: another one under the same id is another request
	KeptAt  time.Time
	Response
}

// Once is a request that counts once, however often it is sent. Its response is kept in the transaction of what it does:
// both are stored, or neither. A refusal does nothing, so it is not kept, and a corrected request may use the same key.
type Once struct {
	RequestID
	Request [32]byte
	// Respond words the response. It is called inside the transaction, and perhaps more than once.
	Respond func(q Question, created bool) (Response, error)
}

// AskOnce asks as [Engine.Ask] does, or gives the response again that an equal request got, whatever became of its
// question since. Another request under the same id is CodeIdempotencyConflict; further errors are those of Ask.
func (e *Engine) AskOnce(ctx context.Context, q Question, o Once) (r Response, replayed bool, err error) {
	return e.once(ctx, o, func(keep keeper) (Question, error) {
		asked, created, err := e.AskWith(ctx, q, func(ctx context.Context, q Question) error { return keep(ctx, q, true) })
		if err == nil && !created {
			err = keep(ctx, asked, false)
		}
		return asked, err
	})
}

// CancelOnce withdraws as [Engine.Cancel] does, or gives the response again that an equal request got. Another request
// under the same id is CodeIdempotencyConflict; further errors are those of Cancel.
func (e *Engine) CancelOnce(ctx context.Context, asker AgentID, id QuestionID, o Once) (r Response, replayed bool, err error) {
	return e.once(ctx, o, func(keep keeper) (Question, error) {
		q, err := e.Fetch(ctx, asker, id)
		if err != nil {
			return q, err
		}
		if q.State.Terminal() {
			return q, keep(ctx, q, false)
		}
		q, _, err = e.settle(ctx, withdrawal(id, e.Clock.Now()), func(ctx context.Context, q Question, _ bool) error {
			return keep(ctx, q, false)
		})
		return q, err
	})
}

// keeper keeps the response to a request, in the transaction of ctx if there is one.
type keeper func(ctx context.Context, q Question, created bool) error

// errRepeated ends the transaction of a request while an equal one is done: nothing is left of it.
var errRepeated = errors.New("a request of the same id was faster")

func (e *Engine) once(ctx context.Context, o Once, do func(keeper) (Question, error)) (r Response, replayed bool, err error) {
	if r, ok, err := e.before(ctx, o); ok || err != nil {
		return r, ok, err
	}
	_, err = do(func(ctx context.Context, q Question, created bool) (err error) {
		if r, err = o.Respond(q, created); err != nil {
			return err
		}
		isNew, err := e.Store.KeepResponse(ctx, KeptResponse{
			RequestID: o.RequestID, Request: o.Request, KeptAt: e.Clock.Now(), Response: r,
		})
		if err == nil && !isNew {
			err = errRepeated
		}
		return err
	})
	if errors.Is(err, errRepeated) || CodeOf(err) == CodeQuotaExceeded { // the equal one took the last place, perhaps
		r, replayed, again := e.before(ctx, o)
		if replayed || again != nil {
			return r, replayed, again
		}
	}
	return r, false, err
}

// before gives the response that an equal request got; ok is false when there was none.
func (e *Engine) before(ctx context.Context, o Once) (r Response, ok bool, err error) {
	kept, ok, err := e.Store.Response(ctx, o.RequestID)
	if err != nil || !ok {
		return Response{}, false, err
	}
	if kept.Request != o.Request {
		return Response{}, false, refusal(CodeIdempotencyConflict, "another request was made with this Idempotency-Key")
	}
	return kept.Response, true, nil
}
