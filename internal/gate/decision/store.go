package decision

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// Store keeps decisions. Every method is atomic by itself and joins the transaction of its ctx, see [bridge.Store].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	// DecisionUnder gives what stands under a key, which stays so until the transaction ends; ok is false where nothing ever
	// did.
	DecisionUnder(ctx context.Context, k Key) (d Decision, ok bool, err error)
	// Decision gives what an id names, in the same way. Any other id gives a *bridge.Error with [CodeUnknown].
	Decision(ctx context.Context, id ID) (Decision, error)
	// ListDecisions gives those that stand, newest first, at most limit, and the cursor of the next page, "" on the last. A
	// cursor that it did not give out is bridge.CodeInvalidCursor.
	ListDecisions(ctx context.Context, l Listing) (page []Decision, next string, err error)

	// AddDecision stores the first decision under a key. added is false, and nothing is stored, where the key or the id is
	// taken.
	AddDecision(ctx context.Context, d Decision) (added bool, err error)
	// MoveDecision stores d by one conditional update: moved is false, and nothing changed, unless the revision is the one
	// before d's.
	MoveDecision(ctx context.Context, d Decision) (moved bool, err error)
	// AddUse records one use of a decision.
	AddUse(ctx context.Context, u collector.Use) error
	// ForgetEmptied deletes keys that were emptied before a time, with their uses, at most limit, and says how many.
	ForgetEmptied(ctx context.Context, before time.Time, limit int) (int, error)
}

// Listing selects decisions: those of an agent, those that a person made, or all.
type Listing struct {
	Agent  bridge.AgentID
	By     bridge.UserID
	Limit  int // 1–200
	Cursor string
}
