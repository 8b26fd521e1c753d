package collector

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Mode is what an exchange does with decisions that are remembered (Approval and continuations, "Durable decisions").
type Mode string

// The modes.
const (
	Off       Mode = "off"        // neither uses nor stores one
	AskOnce   Mode = "ask_once"   // uses the stored one, or else asks and stores the answer
	AskAlways Mode = "ask_always" // asks, and stores the answer in place of the one before
	NeverAsk  Mode = "never_ask"  // uses the stored one, or else withholds
)

// remembers says whether an answer is stored, which the person is told in the prompt.
func (m Mode) remembers() bool { return m == AskOnce || m == AskAlways }

// uses says whether a stored decision answers.
func (m Mode) uses() bool { return m == AskOnce || m == NeverAsk }

// Scope is what a decision counts for: one agent's requester and purpose, and one principal.
type Scope struct {
	Agent     bridge.AgentID
	Requester string
	Purpose   string
	Principal Principal
}

// Decision is what is known under a scope.
type Decision struct {
	ID       string // "" where nothing is stored
	Approved bool
	Revision int64 // of the scope; 0 where nothing ever was stored
}

// Use is one use of a stored decision in place of a question.
type Use struct {
	Decision string // its id
	Gate     GateID
	At       time.Time
}

// Made is a decision that a person made when they were asked.
type Made struct {
	Scope
	Gate     GateID
	Approved bool
	By       bridge.UserID // "" where another host asked them
	Revision int64         // what the scope must still have for this to be stored
	At       time.Time
}

// Decisions remembers what people decided. Every method joins the transaction of its ctx.
type Decisions interface {
	// Recall gives the decision under a scope.
	Recall(ctx context.Context, s Scope) (Decision, error)
	// Used records that a stored decision answered.
	Used(ctx context.Context, u Use) error
	// Remember stores a decision if its scope still has the revision, which it then increments. Otherwise it stores nothing;
	// what it does with the decision that stands there is its own business.
	Remember(ctx context.Context, m Made) error
}

// forgetful is for where nothing is remembered.
type forgetful struct{}

func (forgetful) Recall(context.Context, Scope) (Decision, error) { return Decision{}, nil }
func (forgetful) Used(context.Context, Use) error                 { return nil }
func (forgetful) Remember(context.Context, Made) error            { return nil }
