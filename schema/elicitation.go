package schema

import (
	"encoding/json"
	"slices"
)

// EventType is the suite_event_type of a question.v2 event, an m.room.message.
const EventType = "dev.superpipeline.question.v2"

// Meaning says what choosing an option does (document question.v2, "Fields").
type Meaning string

// The meanings. Only approve needs a subject that is fully shown; only it can be refused for want of rights to it.
const (
	Approve Meaning = "approve"
	Reject  Meaning = "reject"
	Revise  Meaning = "revise"
	Choose  Meaning = "choose"
	Defer   Meaning = "defer"
)

// WorkspaceAdmin is the only value of an option's requires.
const WorkspaceAdmin = "workspace-admin"

// SubjectSchemaApproval is the subject schema of every approval request.
const SubjectSchemaApproval = "stk-capability/v1"

// Elicitation is the content of a dev.superpipeline.question.v2 event: an agent's question, as an m.room.message that
// every Matrix client shows by its body. Lengths count Unicode code points. (Document question.v2, "Fields".)
type Elicitation struct {
	MsgType        string   `json:"msgtype"` // always m.text
	Body           string   `json:"body"`
	SuiteEventType string   `json:"suite_event_type"` // always EventType
	SchemaVersion  int      `json:"schema_version"`   // at least 1
	ElicitationID  string   `json:"elicitation_id"`   // at least 1 character
	BoardID        string   `json:"board_id"`
	CardID         string   `json:"card_id"` // "" for an approval request, which belongs to no card, run or stage
	RunID          string   `json:"run_id"`
	StageKey       string   `json:"stage_key"`
	CardTitle      string   `json:"card_title"`
	AskedBy        string   `json:"asked_by"`
	Question       string   `json:"question"`
	Options        []Option `json:"options"` // at most 20, ids unique; empty exactly when FreeText is set

	FreeText          *FreeText `json:"free_text,omitempty"`
	Subject           *Subject  `json:"subject,omitempty"`
	ApprovalRequestID string    `json:"approval_request_id,omitempty"`
	Deadline          *Deadline `json:"deadline,omitempty"`
	DeepLink          string    `json:"deep_link,omitempty"`

	// ResponderScope is our additive property "responder_scope": "direct" or "room". Any other value is ignored.
	ResponderScope string `json:"responder_scope,omitempty"`
	// Multiple is our additive property "multiple": any number of the options may be chosen.
	Multiple bool `json:"multiple,omitzero"`

	// ByReply is no property: it makes the body show the whole subject and say that a reply can approve it. It is for an
	// event that we post ourselves; a subject that cannot be shown whole is never shown so (see [Elicitation.ShowsSubject]).
	ByReply bool `json:"-"`
	// MaySkip is no property: it makes the body say that "skip" is a reply, too.
	MaySkip bool `json:"-"`

	tree map[string]any
}

// Option is one predefined answer. Answering is by ID.
type Option struct {
	ID           string  `json:"id"`    // 1–200 characters
	Label        string  `json:"label"` // at most 200 characters; blank ones are shown by their id
	Meaning      Meaning `json:"meaning"`
	NeedsComment bool    `json:"needs_comment"`
	Input        *Input  `json:"input,omitempty"`
	Scope        string  `json:"scope,omitempty"`    // once, run or always: how long an approval is meant to last
	Requires     string  `json:"requires,omitempty"` // WorkspaceAdmin, or nothing

	// Style is our additive property "style": how a button looks. Any value that is not text is ignored.
	Style string `json:"style,omitempty"`
}

// Name is what the option is called: its label, or its id where the label shows nothing.
func (o Option) Name() string {
	if isBlank(o.Label) {
		return o.ID
	}
	return o.Label
}

// Input is what choosing an option asks the person to type.
type Input struct {
	Kind      string `json:"kind"`  // text or url
	Label     string `json:"label"` // at most 200 characters
	Required  bool   `json:"required"`
	MaxLength int    `json:"max_length"` // 1–4000 characters
}

// FreeText makes a question without options answerable by typing.
type FreeText struct {
	MaxLength int `json:"max_length"` // 1–2000 characters
}

// Subject is the exact thing that an approving answer approves.
type Subject struct {
	ID              string        `json:"id"`     // 1–512 characters
	Digest          string        `json:"digest"` // 1–512 characters, compared byte for byte
	Schema          string        `json:"schema"` // 1–200 characters
	Revision        int           `json:"revision"`
	ExpiresAt       *Timestamp    `json:"expires_at"` // when the binding lapses; nil for never
	Preview         []PreviewItem `json:"preview"`    // at most 20
	PreviewComplete bool          `json:"preview_complete"`
}

// PreviewItem is one part of what the subject does. Type says which of the others it has: "text" has Text and maybe
// Label, "field" has Label and Value, "link" has Label and URL.
type PreviewItem struct {
	Type  string `json:"type"`
	Label string `json:"label,omitempty"` // at most 200 characters
	Text  string `json:"text,omitempty"`  // at most 4000 characters
	Value string `json:"value,omitempty"` // at most 200 characters
	URL   string `json:"url,omitempty"`   // http or https, at most 4000 characters
}

// MarshalJSON writes exactly the properties of the item's type, empty ones too.
func (p PreviewItem) MarshalJSON() ([]byte, error) {
	item := map[string]string{"type": p.Type}
	if p.Label != "" || p.Type != "text" {
		item["label"] = p.Label
	}
	switch p.Type {
	case "text":
		item["text"] = p.Text
	case "field":
		item["value"] = p.Value
	case "link":
		item["url"] = p.URL
	}
	return json.Marshal(item)
}

// Deadline says when the sender wants people reminded and the question escalated. Its pattern admits text that is not a
// time: use [Timestamp.Time].
type Deadline struct {
	RemindAt   *Timestamp `json:"remind_at,omitempty"`
	EscalateAt *Timestamp `json:"escalate_at,omitempty"`
}

// Draft is an elicitation that may lack its body, because the body is still to be rendered.
type Draft struct{ Elicitation }

var elicitationSchema = compiled(fileElicitation, "")

func (*Elicitation) definition() definition { return definition{EventType, elicitationSchema} }
func (*Draft) definition() definition       { return definition{EventType, draftSchema} }

// Property gives a property of the decoded event by its name, also one that question.v2 does not name, such as
// formatted_body: a string, json.Number, bool, nil, []any or map[string]any, not to be changed.
func (e *Elicitation) Property(name string) (any, bool) {
	v, ok := e.tree[name]
	return v, ok
}

func (e *Elicitation) keepTree(tree map[string]any) { e.tree = tree }

// IsApprovalRequest says whether this is a SuperToolkit approval request, which belongs to no card.
func (e *Elicitation) IsApprovalRequest() bool { return e.CardID == "" && e.ApprovalRequestID != "" }

// Incomplete says whether there is a subject that is not fully shown: its preview is marked so, or it is empty whatever
// the mark says. Nobody may approve it, on any surface.
func (e *Elicitation) Incomplete() bool {
	return e.Subject != nil && (!e.Subject.PreviewComplete || len(e.Subject.Preview) == 0)
}

// Printable says whether text can show the whole of the subject as it is: nothing in it is a link, whose target text does
// not show, and nothing that stands on one line has line breaks, which are lost there.
func (s *Subject) Printable() bool {
	if hasBreak(s.ID) || hasBreak(s.Digest) {
		return false
	}
	return !slices.ContainsFunc(s.Preview, func(p PreviewItem) bool { return p.Type == "link" || hasBreak(p.Label) || hasBreak(p.Value) })
}

// ShowsSubject says whether the body that we render shows the whole subject, so that a reply to it can approve that.
func (e *Elicitation) ShowsSubject() bool {
	return e.ByReply && e.Subject != nil && !e.Incomplete() && e.Subject.Printable()
}
