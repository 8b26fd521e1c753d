package schema

// ProtocolVersion is the version of Approval and continuations that we speak.
const ProtocolVersion = "2026-07-30"

// Query is one query of a gated exchange (document Approval and continuations, sections 1 and 3).
type Query struct {
	ProtocolVersion     string         `json:"protocolVersion"`
	QueryID             string         `json:"queryId"`                  // a UUID; ours are of version 7
	ContinuationOf      string         `json:"continuationOf,omitempty"` // the queryId of the predecessor
	Type                string         `json:"type"`                     // approval, feedback, …
	Subject             Principal      `json:"subject"`
	RequestedRespondent string         `json:"requestedRespondent"` // human or agent; human for an approval
	Prompt              string         `json:"prompt"`              // 1–2000 characters
	Instructions        string         `json:"instructions,omitempty"`
	Timing              string         `json:"timing"` // immediate or after_outcome_known
	Response            ResponseFormat `json:"response"`
	Delivery            QueryDelivery  `json:"delivery"`
	ExpiresAt           Timestamp      `json:"expiresAt"`
}

// Principal is whom a query is about; the document calls it subject.
type Principal struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	IDScope string `json:"idScope"` // pairwise or local
}

// ResponseFormat says what a response may be: one of Choices, or text of at most MaxLength characters.
type ResponseFormat struct {
	Format    string   `json:"format"` // choice or text
	Choices   []string `json:"choices,omitempty"`
	MaxLength int      `json:"maxLength,omitempty"`
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
	Provenance      string         `json:"provenance"` // mediated, or remembered for a stored decision
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
}

var (
	querySchema    = compiled(fileQueries, "#/$defs/query")
	responseSchema = compiled(fileQueries, "#/$defs/response")
	receiptSchema  = compiled(fileQueries, "#/$defs/receipt")
)

func (*Query) definition() definition { return definition{ProtocolVersion + "/query", querySchema} }
func (*Response) definition() definition {
	return definition{ProtocolVersion + "/response", responseSchema}
}
func (*Receipt) definition() definition {
	return definition{ProtocolVersion + "/receipt", receiptSchema}
}

func (*Query) check() []Fault    { return nil }
func (*Response) check() []Fault { return nil }

func (r *Receipt) check() []Fault {
	if r.NextQuery == nil {
		return nil
	}
	var faults []Fault
	if r.NextQuery.ContinuationOf != r.QueryID {
		faults = append(faults, ruleFault(RuleContinuation, "/nextQuery/continuationOf", "must name the query that this receipt answers"))
	}
	if r.NextQuery.QueryID == r.QueryID {
		faults = append(faults, ruleFault(RuleContinuation, "/nextQuery/queryId", "must be a new identifier"))
	}
	return faults
}
