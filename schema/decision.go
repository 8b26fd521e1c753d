package schema

// Decision is what somebody decided about gated exchanges, where that is remembered (Approval and continuations, "Durable
// decisions"). It counts for one agent's requester and purpose, and for one principal, who is kept so that nobody can
// read who it is.
type Decision struct {
	ID         string     `json:"id"` // short, stable, and what people type: d and five characters
	Agent      string     `json:"agent"`
	Requester  string     `json:"requester"`
	Purpose    string     `json:"purpose"`
	Decision   string     `json:"decision"` // approved or declined
	DecidedAt  Timestamp  `json:"decided_at"`
	DecidedBy  *string    `json:"decided_by,omitempty"` // a Matrix id; only to that person, and to admins
	GateID     *string    `json:"gate_id,omitempty"`    // the gate that it was made for; only to its agent
	Uses       int        `json:"uses"`                 // how often it answered since then, in place of its person
	LastUsedAt *Timestamp `json:"last_used_at"`
}

// Decisions is a page of decisions, newest first; NextCursor is nil on the last page.
type Decisions struct {
	Decisions  []Decision `json:"decisions"`
	NextCursor *string    `json:"next_cursor"`
}

var (
	definitionDecision  = queryDefinition("decision")
	definitionDecisions = queryDefinition("decisions")
)

func (*Decision) definition() definition  { return definitionDecision }
func (*Decisions) definition() definition { return definitionDecisions }

func (*Decision) check() []Fault  { return nil }
func (*Decisions) check() []Fault { return nil }
