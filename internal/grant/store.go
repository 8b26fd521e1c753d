package grant

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Store keeps grants. Every method is atomic by itself and joins the transaction of its ctx, see [bridge.Store].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	// AddGrant stores a grant that an answer gave; added is false where its id is taken, and nothing is stored. A question
	// gives one.
	AddGrant(ctx context.Context, g Grant) (added bool, err error)
	// Grant reads one with its question; another id is a *bridge.Error with [CodeUnknown].
	Grant(ctx context.Context, id ID) (Grant, error)
	// ListGrants gives newest first, and the cursor of the next page, "" on the last. A cursor that it did not give out is
	// bridge.CodeInvalidCursor.
	ListGrants(ctx context.Context, l Listing) (page []Grant, next string, err error)
	// RevokeGrant takes a grant back by one conditional update: revoked is false, and nothing changed, where somebody did
	// already, or it had lapsed by then.
	RevokeGrant(ctx context.Context, r Revoking) (revoked bool, err error)
	// MoveGrants makes the grants of a conversation those of another one.
	MoveGrants(ctx context.Context, from, to bridge.ConversationID) error
	// KeepQuestion says when a question may be forgotten, in place of what was said before.
	KeepQuestion(ctx context.Context, id bridge.QuestionID, until time.Time) error
}

// CodeUnknown says that there is no such grant.
const CodeUnknown bridge.Code = "grant_not_found"

// Listing selects grants: those that an asker's questions gave, or those given in some conversations.
type Listing struct {
	Asker         bridge.AgentID          // "" for anybody's
	Conversations []bridge.ConversationID // where Asker is ""
	State         State                   // "" for every one
	Now           time.Time               // what State is told by
	Limit         int                     // 1–200
	Cursor        string                  // "" for the first page
}

// Revoking is one try to take a grant back.
type Revoking struct {
	Grant ID
	By    bridge.UserID
	At    time.Time
}
