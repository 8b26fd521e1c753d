package schema

import (
	"slices"
	"strconv"
	"strings"
)

// ProtocolVersion is the version of Approval and continuations that we speak.
const ProtocolVersion = "2026-07-30"

// The words of Approval and continuations. A query may be of any other type too.
const (
	TypeApproval = "approval"

	ChoiceApproved = "approved"
	ChoiceDeclined = "declined"

	FormatChoice = "choice"
	FormatText   = "text"

	RespondentHuman = "human"
	RespondentAgent = "agent"

	ProvenanceMediated   = "mediated"   // a host put the query to whoever answered
	ProvenanceRemembered = "remembered" // a stored decision answered
	ProvenanceDirect     = "direct"     // the respondent answered the collector itself

	TimingImmediate         = "immediate"
	TimingAfterOutcomeKnown = "after_outcome_known"

	SubmissionGoesOn = "submitting"

	ReceiptAccepted  = "accepted"
	ReceiptDuplicate = "duplicate"
	ReceiptExpired   = "expired"
	ReceiptRejected  = "rejected"
)

// Query is one query of a gated exchange (document Approval and continuations, sections 1 and 3).
type Query struct {
	ProtocolVersion     string         `json:"protocolVersion"`
	QueryID             string         `json:"queryId"`                  // a UUID of version 7, in lower case
	ContinuationOf      string         `json:"continuationOf,omitempty"` // the queryId of the predecessor
	Type                string         `json:"type"`                     // approval, feedback or another word
	Subject             Principal      `json:"subject"`
	RequestedRespondent string         `json:"requestedRespondent"`    // human or agent; human for an approval
	Prompt              string         `json:"prompt"`                 // 1–2000 characters
	Instructions        string         `json:"instructions,omitempty"` // for the agent that asks, at most 4000 characters
	Timing              string         `json:"timing"`                 // immediate or after_outcome_known
	Response            ResponseFormat `json:"response"`
	Delivery            QueryDelivery  `json:"delivery"`
	ExpiresAt           Timestamp      `json:"expiresAt"`
}

// Principal is whom a query is about; the document calls it subject.
type Principal struct {
	Kind    string `json:"kind"`    // 1–64 characters
	ID      string `json:"id"`      // 1–255 characters
	IDScope string `json:"idScope"` // pairwise or local
}

// ResponseFormat says what a response may be: one of Choices, or text of at most MaxLength characters.
type ResponseFormat struct {
	Format    string   `json:"format"`              // choice or text
	Choices   []string `json:"choices,omitempty"`   // 2–20 that differ, of 1–100 characters
	MaxLength int      `json:"maxLength,omitempty"` // 1–4000
}

// QueryDelivery says where a response goes. Capability is our additive property: a secret bound to this query.
type QueryDelivery struct {
	Binding    string `json:"binding"`            // always https
	Endpoint   string `json:"endpoint,omitempty"` // the predecessor's when absent
	Capability string `json:"capability,omitempty"`
}

// Response is what a host submits (section 2).
type Response struct {
	ProtocolVersion string         `json:"protocolVersion"`
	QueryID         string         `json:"queryId"`
	ResponseID      string         `json:"responseId"` // one for all retries
	Respondent      Respondent     `json:"respondent"`
	Provenance      string         `json:"provenance"` // mediated, remembered or direct
	Answer          ResponseAnswer `json:"answer"`
	RespondedAt     Timestamp      `json:"respondedAt"`
}

// Respondent is who answered.
type Respondent struct {
	Kind string `json:"kind"` // human or agent
}

// ResponseAnswer has exactly one of Choice and Text.
type ResponseAnswer struct {
	Choice *string `json:"choice,omitempty"`
	Text   *string `json:"text,omitempty"`
}

// Receipt is what a collector answers to a response (section 3).
type Receipt struct {
	ProtocolVersion string    `json:"protocolVersion"`
	QueryID         string    `json:"queryId"`
	ResponseID      string    `json:"responseId"`
	Status          string    `json:"status"` // accepted, duplicate, expired or rejected
	Retryable       bool      `json:"retryable"`
	NextQuery       *Query    `json:"nextQuery,omitempty"` // only when accepted
	ReceivedAt      Timestamp `json:"receivedAt"`
	// Reason is our additive property: why not, as a stable word.
	Reason string `json:"reason,omitempty"`
}

// QueryAsk asks a query of the people in a room, for the agent that was given it. It has no TTL: the query's expiry is the
// question's.
type QueryAsk struct {
	AskTerms
	Query Query `json:"query"`
}

// Submission is what became of the answer to a query, as the question's asker is told it.
type Submission struct {
	QueryID    string  `json:"query_id"`
	ResponseID *string `json:"response_id"` // nil until a person has answered
	// Status is waiting (for a person), submitting, then accepted, duplicate, expired or rejected as the receipt has it,
	// failed where there is none, or none where nobody answered and nothing was submitted.
	Status string  `json:"status"`
	Reason *string `json:"reason"` // why not, as a stable word
	// Refused says why a follow-up query was not taken over, as a stable word.
	Refused string `json:"refused,omitempty"`
}

var (
	querySchema    = compiled(fileQueries, "#/$defs/query")
	responseSchema = compiled(fileQueries, "#/$defs/response")
	receiptSchema  = compiled(fileQueries, "#/$defs/receipt")
	queryAskSchema = compiled(fileQueries, "#/$defs/query_ask")
)

func (*Query) definition() definition { return definition{ProtocolVersion + "/query", querySchema} }
func (*Response) definition() definition {
	return definition{ProtocolVersion + "/response", responseSchema}
}
func (*Receipt) definition() definition {
	return definition{ProtocolVersion + "/receipt", receiptSchema}
}
func (*QueryAsk) definition() definition {
	return definition{ProtocolVersion + "/query-ask", queryAskSchema}
}

func (q *Query) check() []Fault { return q.checkAt() }

func (q *QueryAsk) check() []Fault { return append(q.Query.checkAt("query"), q.checkData()...) }

// checkAt checks a query that stands at a place of its document.
func (q *Query) checkAt(place ...string) []Fault {
	var faults []Fault
	at := func(tokens ...string) string { return pointer(slices.Concat(place, tokens)...) }
	text := func(s string, tokens ...string) { faults = append(faults, nulFault(s, at(tokens...))...) }
	text(q.Prompt, "prompt")
	text(q.Instructions, "instructions")
	text(q.Subject.Kind, "subject", "kind")
	text(q.Subject.ID, "subject", "id")
	for i, choice := range q.Response.Choices {
		text(choice, "response", "choices", strconv.Itoa(i))
	}
	if q.Type != TypeApproval {
		return faults
	}
	if q.RequestedRespondent != RespondentHuman {
		faults = append(faults, ruleFault(RuleApproval, at("requestedRespondent"), "must be human: an approval is asked of a person"))
	}
	if q.Response.Format != FormatChoice {
		faults = append(faults, ruleFault(RuleApproval, at("response", "format"), "must be choice: an approval is not typed"))
	} else if !approvedOrDeclined(q.Response.Choices) {
		faults = append(faults, ruleFault(RuleApproval, at("response", "choices"), "must be approved and declined, and nothing else"))
	}
	return faults
}

func approvedOrDeclined(choices []string) bool {
	return len(choices) == 2 && slices.Contains(choices, ChoiceApproved) && slices.Contains(choices, ChoiceDeclined)
}

func nulFault(s, location string) []Fault {
	if !strings.ContainsRune(s, 0) {
		return nil
	}
	return []Fault{ruleFault(RuleNUL, location, "holds the character U+0000")}
}

func (r *Response) check() []Fault {
	if r.Answer.Text == nil {
		return nil
	}
	return nulFault(*r.Answer.Text, "/answer/text")
}

func (r *Receipt) check() []Fault {
	if r.NextQuery == nil {
		return nil
	}
	faults := r.NextQuery.checkAt("nextQuery")
	if r.NextQuery.ContinuationOf != r.QueryID {
		faults = append(faults, ruleFault(RuleContinuation, "/nextQuery/continuationOf", "must name the query that this receipt answers"))
	}
	if r.NextQuery.QueryID == r.QueryID {
		faults = append(faults, ruleFault(RuleContinuation, "/nextQuery/queryId", "must be a new identifier"))
	}
	return faults
}

// DecodeReceipt reads a receipt whose follow-up query may break the rules: the receipt stands then, without it, and next
// is the [*Refusal] of what came with it. The last error is of a receipt that breaks them by itself.
func DecodeReceipt(raw []byte) (r *Receipt, next, err error) {
	tree, err := read(raw, nil)
	if err != nil {
		return nil, nil, err
	}
	r = &Receipt{}
	if next = decodeTree(r, tree); next == nil {
		return r, nil, nil
	}
	if properties, ok := tree.(map[string]any); ok {
		delete(properties, "nextQuery")
	}
	r = &Receipt{}
	if err := decodeTree(r, tree); err != nil {
		return nil, nil, err
	}
	return r, next, nil
}
