package host

import (
	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/schema"
)

// Asked is a query that was handed in, and the question that puts it to people.
type Asked struct {
	Question bridge.QuestionID
	Agent    bridge.AgentID
	Query    schema.Query // with its endpoint; without its capability once its submission has ended
	Submission
}

// Submission is what became of the answer.
type Submission struct {
	Response gate.ResponseID // the same for every try; "" until a person answers
	Status   Status
	Reason   string          // why not, as a stable word: ours, or the receipt's; "" for none
	Receipt  *schema.Receipt // without the query that came with it; nil without one
	Next     *schema.Query   // the query that follows, with its endpoint
	Refused  Refusal         // why a query that came with the receipt was not taken over; "" for none
}

// Status is how far a submission came.
type Status string

// The statuses. From Accepted on it has ended.
const (
	Waiting    Status = "waiting"               // for a person
	Submitting Status = schema.SubmissionGoesOn // what they said
	Accepted   Status = schema.ReceiptAccepted
	Duplicate  Status = schema.ReceiptDuplicate
	Expired    Status = schema.ReceiptExpired
	Rejected   Status = schema.ReceiptRejected
	Failed     Status = "failed" // there is no receipt, and no more tries
)

// Why a submission failed.
const (
	ReasonRefused   = "refused_by_collector" // by something else than a receipt
	ReasonEndpoint  = "endpoint_refused"     // by us: it is none that may be called
	ReasonNoReceipt = "no_receipt"           // until the query expired
	ReasonForgotten = "forgotten"            // what the person typed was erased before it was submitted
)

// Refusal says why a query that follows was not taken over.
type Refusal string

// The refusals of a query that follows (section 3, and what it leaves open).
const (
	RefusedMalformed    Refusal = "malformed"         // it breaks the rules of a query
	RefusedUnconnected  Refusal = "other_predecessor" // it does not continue the query that was answered
	RefusedNotNew       Refusal = "not_new"           // its identifier was seen before
	RefusedSubject      Refusal = "other_subject"     // it is about somebody else
	RefusedExpired      Refusal = "expired"           // already
	RefusedAfterDecline Refusal = "after_decline"     // nothing follows a no
)

// statusNone is what the asker is told where nothing was or will be submitted, since nobody answered.
const statusNone = "none"

// Show gives what the asker of a question is told: what became of the answer, and the query that follows.
func (a Asked) Show(state bridge.State) (schema.Submission, *schema.Query) {
	out := schema.Submission{
		QueryID: a.Query.QueryID, Status: string(a.Status), ResponseID: orNil(string(a.Response)), Reason: orNil(a.Reason), Refused: string(a.Refused),
	}
	if a.Status == Waiting && (state == bridge.Expired || state == bridge.Cancelled) {
		out.Status = statusNone
	}
	return out, a.Next
}

// Ended says whether nothing more will become of the answer to a question in that state.
func (a Asked) Ended(state bridge.State) bool {
	switch a.Status {
	case Waiting:
		return state == bridge.Expired || state == bridge.Cancelled
	case Submitting:
		return false
	}
	return true
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
