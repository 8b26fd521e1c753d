package schema

import "strings"

// The states of a gate.
const (
	GateOpen     = "open"     // the person has not answered
	GateApproved = "approved" // and the continuation is not answered
	GateDeclined = "declined"
	GateExpired  = "expired"  // nobody answered in time, the approval or after it the continuation
	GateAnswered = "answered" // the continuation is
	GateWithheld = "withheld" // nobody is asked any more
)

// GateOpening opens a gated exchange. Who is asked, and how the exchange is told from others, stands in its terms; there is
// no ttl among them, since each of the two queries has its own. Data and reply_to are kept with the question in the room.
type GateOpening struct {
	AskTerms
	Requester string         `json:"requester"` // who wants to know, 1–255 characters
	Purpose   string         `json:"purpose"`   // what for, 1–255 characters
	Subject   Principal      `json:"subject"`
	Approval  ApprovalTerms  `json:"approval"`
	Query     ProtectedQuery `json:"query"`
	Ask       string         `json:"ask"`                 // room or return
	Decisions string         `json:"decisions,omitempty"` // off, ask_once, ask_always or never_ask; "" for off
}

// ApprovalTerms is what the person is asked for their approval, and for how long.
type ApprovalTerms struct {
	Prompt       string   `json:"prompt"`                 // 1–2000 characters
	Instructions string   `json:"instructions,omitempty"` // for the agent that asks, at most 4000 characters
	TTL          *Seconds `json:"ttl,omitempty"`          // 30–7200; nil for 3600
}

// ProtectedQuery is what nobody may see before approval.
type ProtectedQuery struct {
	Type                string         `json:"type"`
	Prompt              string         `json:"prompt"`                 // 1–2000 characters
	Instructions        string         `json:"instructions,omitempty"` // at most 4000 characters
	RequestedRespondent string         `json:"requestedRespondent"`    // human or agent
	Timing              string         `json:"timing"`
	Response            ResponseFormat `json:"response"`
	TTL                 *Seconds       `json:"ttl,omitempty"` // from the approval on, 30–7200; nil for 3600
}

// Gate is a gated exchange, as whoever opened it is told. Of the protected query there is nothing in it before approval.
type Gate struct {
	GateID    string    `json:"gate_id"`
	State     string    `json:"state"`  // [GateOpen], …
	Reason    *string   `json:"reason"` // why it is withheld: no_decision or withdrawn
	Ask       string    `json:"ask"`
	Requester string    `json:"requester"`
	Purpose   string    `json:"purpose"`
	Subject   Principal `json:"subject"`
	Decisions string    `json:"decisions"`
	// Query asks for the approval. Its capability is only in the response that opened the gate, for the ask return.
	Query      Query       `json:"query"`
	QuestionID *string     `json:"question_id"` // that asks in the room
	Provenance *string     `json:"provenance"`  // of the approval's answer
	Respondent *Respondent `json:"respondent"`  // of the approval's answer
	DecidedAt  *Timestamp  `json:"decided_at"`
	// NextQuery is the continuation with its capability, while it is for whoever opened the gate to have answered.
	NextQuery     *Query      `json:"next_query,omitempty"`
	Answer        *GateAnswer `json:"answer"` // to the continuation
	CorrelationID *string     `json:"correlation_id"`
	CreatedAt     Timestamp   `json:"created_at"`
}

// GateAnswer is the answer to a continuation, with exactly one of Choice and Text.
type GateAnswer struct {
	ResponseAnswer
	Respondent Respondent `json:"respondent"`
	Provenance string     `json:"provenance"`
	AnsweredAt Timestamp  `json:"answered_at"`
}

// Gates is a page of an agent's, newest first, without what has a capability.
type Gates struct {
	Gates      []Gate  `json:"gates"`
	NextCursor *string `json:"next_cursor"` // nil on the last page
}

// GateEvent is what a webhook is told when a gate moves. Nothing of either query is in it.
type GateEvent struct {
	Event         string      `json:"event"` // gate.approved, gate.declined, gate.expired, gate.answered or gate.withheld
	GateID        string      `json:"gate_id"`
	State         string      `json:"state"`
	Reason        *string     `json:"reason"`
	Ask           string      `json:"ask"`
	Asker         string      `json:"asker"` // the agent that opened it
	Requester     string      `json:"requester"`
	Purpose       string      `json:"purpose"`
	QuestionID    *string     `json:"question_id"`
	Provenance    *string     `json:"provenance"`
	CorrelationID *string     `json:"correlation_id"`
	Room          WebhookRoom `json:"room"`
	Timestamp     Timestamp   `json:"timestamp"`
}

var (
	definitionGateOpening = queryDefinition("gate_opening")
	definitionGate        = queryDefinition("gate")
	definitionGates       = queryDefinition("gates")
	definitionGateEvent   = queryDefinition("gate_event")
)

// queryDefinition is that of a document of Approval and continuations, by its name in the schema.
func queryDefinition(name string) definition {
	return definition{ProtocolVersion + "/" + strings.ReplaceAll(name, "_", "-"), compiled(fileQueries, "#/$defs/"+name)}
}

func (*GateOpening) definition() definition { return definitionGateOpening }
func (*Gate) definition() definition        { return definitionGate }
func (*Gates) definition() definition       { return definitionGates }
func (*GateEvent) definition() definition   { return definitionGateEvent }

func (*Gate) check() []Fault      { return nil }
func (*Gates) check() []Fault     { return nil }
func (*GateEvent) check() []Fault { return nil }

// check applies the rules of a query to both.
func (o *GateOpening) check() []Fault {
	faults := append(o.checkData(), nulFault(o.Requester, "/requester")...)
	faults = append(faults, nulFault(o.Purpose, "/purpose")...)
	faults = append(faults, nulFault(o.Subject.Kind, "/subject/kind")...)
	faults = append(faults, nulFault(o.Subject.ID, "/subject/id")...)
	approval := Query{Prompt: o.Approval.Prompt, Instructions: o.Approval.Instructions}
	faults = append(faults, approval.checkAt("approval")...)
	q := Query{
		Type: o.Query.Type, RequestedRespondent: o.Query.RequestedRespondent, Prompt: o.Query.Prompt, Instructions: o.Query.Instructions,
		Response: o.Query.Response,
	}
	return append(faults, q.checkAt("query")...)
}
