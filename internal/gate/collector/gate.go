package collector

import (
	"crypto/rand"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
)

// GateID names a gate; [NewGateID] makes one.
type GateID string

// NewGateID makes an unguessable id: "g_" and 26 characters.
func NewGateID() GateID { return GateID("g_" + strings.ToLower(rand.Text())) }

// State is where a gate stands.
type State string

// The states. From Open a gate moves to one of the others, and from Approved to Answered or Expired; nothing else moves.
const (
	Open     State = "open"     // the person has not answered
	Approved State = "approved" // the protected query is disclosed, and not answered
	Declined State = "declined"
	Expired  State = "expired"  // nobody answered in time: the approval, or after it the continuation
	Answered State = "answered" // the continuation is answered
	Withheld State = "withheld" // nobody is asked any more, see [Reason]
)

// Terminal says whether the state is final.
func (s State) Terminal() bool { return s != Open && s != Approved }

// Reason says why a gate is withheld.
type Reason string

// The reasons.
const (
	NoDecision Reason = "no_decision" // only a stored decision was to be used, and there is none
	Withdrawn  Reason = "withdrawn"   // the question ended in its room without an answer, before its time
)

// Route is how the approval is asked.
type Route string

// The routes.
const (
	InRoom   Route = "room"   // as a question in the gate's room
	ByReturn Route = "return" // by the host of whoever opened the gate, which responds over HTTPS
)

// Gate is one gated exchange: an approval, and after it a continuation.
type Gate struct {
	ID            GateID
	Agent         bridge.AgentID // who opened it
	Conversation  bridge.ConversationID
	Requester     string
	Purpose       string
	Principal     Principal
	Route         Route
	Mode          Mode
	Revision      int64 // of the stored decisions when the gate was opened
	CorrelationID *string

	Question     bridge.QuestionID // that asks for the approval in a room; "" for none
	Approval     Asked
	Protected    *Protected // only while the gate is open: then it is disclosed, or forgotten
	Continuation *Asked

	State       State
	Reason      Reason
	CreatedAt   time.Time
	ForgetAfter time.Time
	Request     Request
}

// Asked is a query as it is asked, without its capability, and the response that was accepted.
type Asked struct {
	Query
	Accepted *Accepted
}

// Accepted is a response, and when it was accepted.
type Accepted struct {
	Response
	ReceivedAt time.Time
}

// Protected is a query that nobody may see before approval.
type Protected struct {
	Type         string
	Respondent   Respondent
	Prompt       string
	Instructions string
	Timing       string
	Format       Format
	TTL          time.Duration
}

// Request names the request that opened a gate, for its repeats; the zero one has no name.
type Request struct {
	Key  string
	Hash [32]byte
}

// Due is when the gate expires by itself. A question in a room has its own deadline, and takes the gate along.
func (g Gate) Due() *time.Time {
	switch {
	case g.State == Open && g.Question == "":
		return &g.Approval.ExpiresAt
	case g.State == Approved:
		return &g.Continuation.ExpiresAt
	}
	return nil
}

// Woken is what wakes whoever waits for the gate: the question in its room, or else its own id. Those never meet.
func (g Gate) Woken() bridge.QuestionID {
	if g.Question != "" {
		return g.Question
	}
	return bridge.QuestionID(g.ID)
}

// query finds the gate's query of an id; nil for any other.
func (g *Gate) query(id gate.QueryID) *Asked {
	switch {
	case g.Approval.ID == id:
		return &g.Approval
	case g.Continuation != nil && g.Continuation.ID == id:
		return g.Continuation
	}
	return nil
}

// Provenance is how the approval was decided; "" before it was.
func (g Gate) Provenance() Provenance {
	if g.Approval.Accepted == nil {
		return ""
	}
	return g.Approval.Accepted.Provenance
}

// Offered is the continuation while it waits for a response, for whoever opened the gate: nil where it goes to the host
// that submitted the approval.
func (g Gate) Offered() *Query {
	if g.State != Approved || g.Route == ByReturn && g.Provenance() != Remembered {
		return nil
	}
	return &g.Continuation.Query
}
