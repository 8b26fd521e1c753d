package collector

import (
	"time"

	"superpipeline.dev/question-bridge/internal/gate"
)

// Principal is whom a query is about; the document calls it subject.
type Principal struct{ Kind, ID, Scope string }

// Respondent is who is to answer a query, or did.
type Respondent string

// The respondents.
const (
	Human Respondent = "human"
	Agent Respondent = "agent"
)

// Provenance is how a response came about.
type Provenance string

// The provenances.
const (
	Mediated   Provenance = "mediated"   // a host put the query to whoever answered
	Remembered Provenance = "remembered" // a stored decision answered
	Direct     Provenance = "direct"     // the respondent answered the collector itself
)

// Approval is the type of a query that asks a person for it. It permits exactly two answers.
const (
	Approval = "approval"

	ChoiceApproved = "approved"
	ChoiceDeclined = "declined"
)

// Query is a query as its collector keeps it. Its endpoint and its capability are derived, see [Collector.Ready].
type Query struct {
	ID             gate.QueryID
	ContinuationOf gate.QueryID // "" for none
	Type           string
	Principal      Principal
	Respondent     Respondent
	Prompt         string
	Instructions   string
	Timing         string
	Format         Format
	ExpiresAt      time.Time
}

// Immediate is the timing of an approval.
const Immediate = "immediate"

// Format is what an answer may be: one of Choices, or, where there are none, text of 1 to MaxLength characters.
type Format struct {
	Choices   []string
	MaxLength int
}

// Answer has exactly one of Choice and Text.
type Answer struct{ Choice, Text *string }

// Equal says whether two answers say the same.
func (a Answer) Equal(b Answer) bool { return same(a.Choice, b.Choice) && same(a.Text, b.Text) }

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Response is an answer to a query, and how it came about.
type Response struct {
	ID          gate.ResponseID
	Query       gate.QueryID
	Respondent  Respondent
	Provenance  Provenance
	Answer      Answer
	RespondedAt time.Time // to the millisecond
}

// Status is what became of a response.
type Status string

// The statuses of a receipt.
const (
	ReceiptAccepted  Status = "accepted"
	ReceiptDuplicate Status = "duplicate"
	ReceiptExpired   Status = "expired"
	ReceiptRejected  Status = "rejected"
)

// Receipt is what a response is answered. None asks for another try.
type Receipt struct {
	Query      gate.QueryID
	Response   gate.ResponseID
	Status     Status
	Next       *Ready // the continuation, where an approving response is accepted
	ReceivedAt time.Time
	Reason     string // why it is rejected, in one word
}

// Ready is a query as it is sent.
type Ready struct {
	Query
	Endpoint   string
	Capability string
}
