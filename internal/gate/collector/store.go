package collector

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
)

// Store keeps gates. Every method is atomic by itself and joins the transaction of its ctx, see [bridge.Store].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	// AddGate stores a new gate with its approval query, and its continuation if it has one. added is false, and nothing is
	// stored, where the agent opened another in the room by a request of this key.
	AddGate(ctx context.Context, g Gate) (added bool, err error)
	// Gate reads one of an agent's. Any other id gives a *bridge.Error with [CodeGateUnknown].
	Gate(ctx context.Context, agent bridge.AgentID, id GateID) (Gate, error)
	// GateOfRequest finds what an agent opened in a room by the request of a key; ok is false when it opened nothing.
	GateOfRequest(ctx context.Context, agent bridge.AgentID, room bridge.ConversationID, key string) (g Gate, ok bool, err error)
	// GateOfQuery finds the gate that one of its queries belongs to; ok is false when there is none.
	GateOfQuery(ctx context.Context, id gate.QueryID) (g Gate, ok bool, err error)
	// GateOfQuestion finds the gate that a question asks for; ok is false when there is none.
	GateOfQuestion(ctx context.Context, id bridge.QuestionID) (g Gate, ok bool, err error)
	// GatesOfQuestions gives those of the questions that ask for gates.
	GatesOfQuestions(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error)
	// ListGates gives an agent's, newest first, at most limit, and the cursor of the next page, "" on the last. A cursor that
	// it did not give out is bridge.CodeInvalidCursor.
	ListGates(ctx context.Context, l Listing) ([]Gate, string, error)

	// Accept stores the response to a query by one conditional update: first is false, and nothing changed, where the query
	// has one already, or expired at or before ReceivedAt.
	Accept(ctx context.Context, a Accepted) (first bool, err error)
	// MoveGate stores a gate's new state and reason, and a continuation that came with it, by one conditional update: moved is
	// false, and nothing changed, unless it still has the state that it was read with. The protected query is forgotten.
	MoveGate(ctx context.Context, from, to Gate) (moved bool, err error)
	// ExpireGates expires what is due by itself at or before now, at most limit, the earliest first, and gives it.
	ExpireGates(ctx context.Context, now time.Time, limit int) ([]Gate, error)
	// NextGateDeadline is when the next gate expires by itself; ok is false when there is none.
	NextGateDeadline(ctx context.Context) (at time.Time, ok bool, err error)
	// ForgetGates deletes gates in terminal states at or past their ForgetAfter, at most limit, and says how many.
	ForgetGates(ctx context.Context, now time.Time, limit int) (int, error)
}

// Listing selects an agent's gates.
type Listing struct {
	Agent         bridge.AgentID
	State         State // "" for every one
	CorrelationID *string
	Limit         int // 1–200
	Cursor        string
}
