// Package httpapi is the HTTP side of The Question Protocol 1.1: one table of routes over the engine.
package httpapi

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Tokens finds the agent behind a bearer token.
type Tokens interface {
	// TokenByHash finds a token that is neither revoked nor expired at now; ok is false when there is none.
	TokenByHash(ctx context.Context, hash [32]byte, now time.Time) (t bridge.Token, ok bool, err error)
	// TokenUsed records when a token was last used, to the minute.
	TokenUsed(ctx context.Context, id string, at time.Time) error
}

// TokenBook is what the token command keeps; the store implements both.
type TokenBook interface {
	Tokens
	AddToken(ctx context.Context, t bridge.Token) error
	ListTokens(ctx context.Context) ([]bridge.Token, error)
	// RevokeToken revokes by id; found is false when there is no such token.
	RevokeToken(ctx context.Context, id string, at time.Time) (found bool, err error)
}

// Rooms turns what a client writes for a room (a room id, an alias, or a code from the configuration) into the
// conversation it means, with its canonical code and name for webhooks. Unknown gives a *bridge.Error with
// CodeRoomUnknown; any other error says that the homeserver could not be asked.
type Rooms interface {
	Resolve(ctx context.Context, room string) (Room, error)
}

// Room is a resolved room.
type Room struct {
	ID    bridge.ConversationID
	Code  string // from the configuration; "" when it has none
	Alias string
	Name  string
}
