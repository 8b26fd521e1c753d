package schema

// Granted is what an approving answer grants (question.v2, an option's scope): how long it is meant to last, and what it
// is about. The bridge enforces nothing of it, and never answers a question from one.
type Granted struct {
	Scope   string      `json:"scope"`   // once, run or always
	Option  string      `json:"option"`  // the value of the option that was chosen
	Subject *SubjectRef `json:"subject"` // nil where no exact thing was approved
	RunID   *string     `json:"run_id"`  // the run that the question belonged to; nil for none
	By      string      `json:"by"`      // a Matrix id
	Until   *Timestamp  `json:"until"`   // when the approval of the subject lapses; nil for never
}

// The states of a grant.
const (
	GrantActive  = "active"
	GrantRevoked = "revoked"
	GrantLapsed  = "lapsed" // its until has come
)

// Grant is a grant of run or always, as it stands.
type Grant struct {
	ID    string `json:"id"` // short, stable, and what people type: g and five characters
	State string `json:"state"`
	Granted
	QuestionID    string       `json:"question_id"`
	CorrelationID *string      `json:"correlation_id,omitempty"` // the asker's alone
	AskedBy       string       `json:"asked_by"`                 // how the asker is named to people
	Label         string       `json:"label"`                    // of the option
	Room          QuestionRoom `json:"room"`
	GivenAt       Timestamp    `json:"given_at"`
	RevokedAt     *Timestamp   `json:"revoked_at"` // exactly when revoked
	RevokedBy     *string      `json:"revoked_by"` // a Matrix id
}

// Grants is what a list of grants returns; NextCursor is nil on the last page.
type Grants struct {
	Grants     []Grant `json:"grants"`
	NextCursor *string `json:"next_cursor"`
}

// EventGrantRevoked is the event of a [GrantEvent].
const EventGrantRevoked = "grant.revoked"

// GrantEvent is what a webhook receives when somebody takes a grant back.
type GrantEvent struct {
	Event     string      `json:"event"` // EventGrantRevoked
	Grant     Grant       `json:"grant"` // revoked
	Room      WebhookRoom `json:"room"`
	Timestamp Timestamp   `json:"timestamp"` // when it was revoked
}

var (
	grantSchema      = compiled(fileProtocol, "#/$defs/grant")
	grantsSchema     = compiled(fileProtocol, "#/$defs/grants")
	grantEventSchema = compiled(fileProtocol, "#/$defs/grant_event")
)

func (*Grant) definition() definition { return definition{"question-protocol-1.1/grant", grantSchema} }
func (*Grants) definition() definition {
	return definition{"question-protocol-1.1/grants", grantsSchema}
}
func (*GrantEvent) definition() definition {
	return definition{"question-protocol-1.1/grant-event", grantEventSchema}
}

func (*Grant) check() []Fault      { return nil }
func (*Grants) check() []Fault     { return nil }
func (*GrantEvent) check() []Fault { return nil }
