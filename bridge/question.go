package bridge

import (
	"encoding/json"
	"time"
)

// State is where a question stands. Terminal states are immutable and one-way.
type State string

// The four states (The Question Protocol 1.1, section 2); nothing else is a state.
const (
	Pending   State = "pending"
	Answered  State = "answered"
	Expired   State = "expired"
	Cancelled State = "cancelled"
)

// Terminal says whether the state is final.
func (s State) Terminal() bool { return s != Pending }

// Retention is how long a question is kept after it was asked (DESIGN section 5, "Retention").
const Retention = 90 * 24 * time.Hour

// Dialect is how an asker speaks: the core protocol or question.v2. It decides limits and how a question is shown to it.
type Dialect string

// The dialects.
const (
	Core Dialect = "core"
	V2   Dialect = "v2"
)

// ResponderScope says who may answer.
type ResponderScope string

// Direct is one named person; Room is anyone eligible in the conversation.
const (
	Direct ResponderScope = "direct"
	Room   ResponderScope = "room"
)

// Question is one asking, with one answer. What was asked never changes; State, Revision, Answer and the fields after
// them do.
type Question struct {
	ID            QuestionID
	Asker         AgentID
	AskedBy       string // how the asker is named to people
	Conversation  ConversationID
	Dialect       Dialect
	ElicitationID string   // unique per asker; a core question's is its own id
	Carried       *Carried // set when the sender posted the question itself, and only then
	Title         string   // context of a core question, card_title of a v2 one
	Prompt        string   // what a set of items is about as a whole; "" for a question of one, and where nothing was said
	Items         []Item   // at least one; the norm is exactly one
	Scope         ResponderScope
	Target        UserID // for Direct

	Subject           *Subject
	ByReply           bool // prose and reactions may choose more than to decline the subject: its message shows all of it
	ApprovalRequestID string
	RunID             string // the run that it belongs to, as its sender calls that; "" for none
	RemindAt          *time.Time
	EscalateAt        *time.Time

	// Content is the question.v2 content as its sender wrote it; nil for a core question.
	Content json.RawMessage
	// Digest identifies what was asked, for telling a repeated ask from a conflicting one.
	Digest string

	CorrelationID *string
	ReplyTo       *string
	Data          json.RawMessage // a JSON object, or nil
	Dismissible   bool
	Rationed      bool // the Question Queue asks it: any direct reply that names no option ends it, see [Named]
	Warnings      []string

	CreatedAt   time.Time
	ExpiresAt   time.Time
	ForgetAfter time.Time

	State       State
	Revision    int // how often the posting moved on
	Answer      *Answer
	SettledAt   *time.Time
	CancelledBy CancelledBy
	DismissedBy UserID // who, where CancelledBy is ByResponder
	Reason      string // why it was cancelled, if there is more to say
	Delivery    Delivery
}

// Carried says that a carrier posted the question itself and the bridge only adopted it.
type Carried struct {
	By              UserID
	Message         MessageID
	FreeTextReplies bool // prose may answer a free_text question of this carrier
}

// Item is one prompt within a question.
type Item struct {
	Header   string // names the item within a set; empty for a question of one
	Prompt   string
	Options  []Option
	Multiple bool
	Text     *TextInput // invites a typed answer; nil for options alone
}

// Option is a predefined answer.
type Option struct {
	ID           OptionID
	Label        string // as a person reads and types it; the id where the sender left it blank
	Meaning      Meaning
	Style        string // primary, danger or default
	NeedsComment bool
	Input        *Input
	Grant        Grant  // how long an approval is meant to last; "" for no statement
	Requires     string // "workspace-admin" or ""
	// Typed marks the option that stands for the item's own typed answer: choosing it answers with the text alone.
	Typed bool
}

// Meaning is what an option does. Only the meaning decides approve or reject, never the label.
type Meaning string

// The meanings of question.v2.
const (
	Approve Meaning = "approve"
	Reject  Meaning = "reject"
	Revise  Meaning = "revise"
	Choose  Meaning = "choose"
	Defer   Meaning = "defer"
)

// Grant is how long an approval is meant to last (question.v2 calls it scope).
type Grant string

// The grants.
const (
	GrantOnce   Grant = "once"
	GrantRun    Grant = "run"
	GrantAlways Grant = "always"
)

// RequiresWorkspaceAdmin is the one value of Option.Requires.
const RequiresWorkspaceAdmin = "workspace-admin"

// Input is what choosing an option asks a person to type.
type Input struct {
	Kind      string // InputText or InputURL
	Label     string
	Required  bool
	MaxLength int // code points
}

// The kinds of input.
const (
	InputText = "text"
	InputURL  = "url"
)

// TextInput invites a typed answer.
type TextInput struct {
	Placeholder string
	MaxLength   int // code points
}

// Subject is the exact thing that an approving answer approves.
type Subject struct {
	SubjectRef
	LapsesAt *time.Time // when the binding lapses; nil for never
	Complete bool       // whether the whole of it is shown; an empty preview never is
	// Printable says that its preview is shown whole where it is printed: a link's target, for one, is not.
	Printable bool
}

// SubjectRef names a subject exactly: all four are compared byte for byte.
type SubjectRef struct {
	ID       string
	Digest   string
	Schema   string
	Revision int64
}

// CancelledBy is who withdrew a question.
type CancelledBy string

// Who can withdraw a question.
const (
	ByAsker     CancelledBy = "asker"
	ByResponder CancelledBy = "responder"
	Superseded  CancelledBy = "superseded"
)
