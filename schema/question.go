package schema

import (
	"fmt"
	"strings"
)

// State is where a question stands. Terminal states are immutable and one-way (section 2).
type State string

// The four states; there are no others.
const (
	Pending   State = "pending"
	Answered  State = "answered"
	Expired   State = "expired"
	Cancelled State = "cancelled"
)

// Question is the question object of The Question Protocol 1.1, section 3, the same on ask, fetch, wait, cancel and answer.
// Properties of the document are always present, null where there is nothing to say; the rest are ours, and absent then.
type Question struct {
	ID               string           `json:"id"`
	Kind             string           `json:"kind"` // always question
	Prompt           string           `json:"prompt"`
	Context          *string          `json:"context"`
	Options          []QuestionOption `json:"options"` // empty for a question answered by typing
	TextInput        *TextInput       `json:"text_input"`
	ResponderScope   string           `json:"responder_scope"` // direct or room
	TargetUserID     *string          `json:"target_user_id"`
	ResolutionPolicy string           `json:"resolution_policy"` // always first
	State            State            `json:"state"`
	Answer           *Answer          `json:"answer"` // exactly when answered
	ExpiresAt        Timestamp        `json:"expires_at"`
	ResolvedAt       *Timestamp       `json:"resolved_at"` // exactly when no longer pending
	CorrelationID    *string          `json:"correlation_id"`
	ReplyTo          *string          `json:"reply_to"`
	Data             map[string]any   `json:"data"`
	CreatedAt        Timestamp        `json:"created_at"`

	Items             []QuestionItem `json:"items,omitempty"`
	Subject           *Subject       `json:"subject,omitempty"`
	Deadline          *Deadline      `json:"deadline,omitempty"`
	ApprovalRequestID string         `json:"approval_request_id,omitempty"`
	Dismissible       bool           `json:"dismissible,omitempty"`
	CancelledBy       string         `json:"cancelled_by,omitempty"` // asker, responder or superseded
	Delivery          *Delivery      `json:"delivery,omitempty"`
	Warnings          []string       `json:"warnings,omitempty"`
	// Gate and NextQuery are of a question that asks a query of Approval and continuations, and its asker's alone.
	Gate      *Submission `json:"gate,omitempty"`
	NextQuery *Query      `json:"next_query,omitempty"`

	// What only a responder is told: whom their token stands for, who asks, and where. To them CorrelationID, ReplyTo and
	// Data, which are the asker's own, are null.
	Viewer  string        `json:"viewer,omitempty"` // a Matrix id
	AskedBy string        `json:"asked_by,omitempty"`
	Room    *QuestionRoom `json:"room,omitempty"`
}

// QuestionRoom is the room that a question was asked in.
type QuestionRoom struct {
	ID   string  `json:"id"`
	Code *string `json:"code"` // from the server's configuration
	Name *string `json:"name"`
}

// QuestionOption is one option as a question shows it. Primary and Destructive say the same as Style, for older clients.
type QuestionOption struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Style       Style  `json:"style"`
	Primary     bool   `json:"primary"`
	Destructive bool   `json:"destructive"`

	Meaning      Meaning `json:"meaning,omitempty"`
	NeedsComment bool    `json:"needs_comment,omitempty"`
	Input        *Input  `json:"input,omitempty"`
	Scope        string  `json:"scope,omitempty"`
	Requires     string  `json:"requires,omitempty"`
}

// QuestionItem is one prompt of a set.
type QuestionItem struct {
	Header    string           `json:"header"`
	Prompt    string           `json:"prompt"`
	Options   []QuestionOption `json:"options"`
	Multiple  bool             `json:"multiple"`
	TextInput *TextInput       `json:"text_input"`
}

// Questions is what a list returns; NextCursor is nil on the last page.
type Questions struct {
	Questions  []Question `json:"questions"`
	NextCursor *string    `json:"next_cursor"`
}

// Answer is the resolution (section 4): Value and Label for a tapped option, Text for a typed answer, and none of them
// for a set of items or a multiple choice, which has Items.
type Answer struct {
	Value      *string   `json:"value"`
	Label      *string   `json:"label"`
	Text       *string   `json:"text"`
	Responder  Responder `json:"responder"`
	AnsweredAt Timestamp `json:"answered_at"`

	Items       []AnswerItem   `json:"items,omitempty"`
	Comment     *string        `json:"comment,omitempty"`
	Input       *string        `json:"input,omitempty"`
	Meaning     Meaning        `json:"meaning,omitempty"`
	Grant       *Granted       `json:"grant,omitempty"`
	Via         string         `json:"via,omitempty"`
	EventID     *string        `json:"event_id,omitempty"`
	Certificate map[string]any `json:"certificate,omitempty"`
}

// Responder is the authenticated person who answered, never something the caller supplied.
type Responder struct {
	ID          string  `json:"id"` // a Matrix id
	DisplayName *string `json:"display_name"`
}

// AnswerItem is the answer to one item of a set.
type AnswerItem struct {
	Header   string   `json:"header"`
	Selected []string `json:"selected"` // values
	Labels   []string `json:"labels"`
	Text     *string  `json:"text"`
}

// Delivery says whether anybody could have seen the question: "nobody answered" differs from "nobody could have".
type Delivery struct {
	State   string  `json:"state"` // queued, posted, failed or unanswerable
	EventID *string `json:"event_id"`
	Reason  *string `json:"reason"`           // why not, as a stable word
	Detail  string  `json:"detail,omitempty"` // the reason as a sentence
}

// AnswerBody is what a responder sends (section 7, "Answer"): exactly one of Value, Text and Items.
type AnswerBody struct {
	Value   *string          `json:"value,omitempty"`
	Text    *string          `json:"text,omitempty"`
	Items   []AnswerBodyItem `json:"items,omitempty"`
	Comment *string          `json:"comment,omitempty"`
	Input   *string          `json:"input,omitempty"`
	Subject *SubjectRef      `json:"subject,omitempty"`
}

// AnswerBodyItem answers one item of a set.
type AnswerBodyItem struct {
	Header   string   `json:"header"`
	Selected []string `json:"selected,omitempty"` // values
	Text     *string  `json:"text,omitempty"`
}

// SubjectRef names the exact subject that an approving answer approves, compared byte for byte.
type SubjectRef struct {
	ID       string `json:"id"`
	Digest   string `json:"digest"`
	Schema   string `json:"schema"`
	Revision int    `json:"revision"`
}

// AnswerEnvelope is how a question ended, with what its asker gave to know it by (section 4).
type AnswerEnvelope struct {
	QuestionID    string         `json:"question_id"`
	State         State          `json:"state"` // never pending
	Answer        *Answer        `json:"answer"`
	CorrelationID *string        `json:"correlation_id"`
	ReplyTo       *string        `json:"reply_to"`
	Data          map[string]any `json:"data"`
	CancelledBy   string         `json:"cancelled_by,omitempty"`
	Delivery      *Delivery      `json:"delivery,omitempty"`
}

// WebhookEvent is what a webhook receives (section 7, "Outgoing-webhook event").
type WebhookEvent struct {
	Event string `json:"event"` // question.answered, question.expired or question.cancelled
	AnswerEnvelope
	Room      WebhookRoom `json:"room"`
	Timestamp Timestamp   `json:"timestamp"`
}

// WebhookRoom is the room a webhook event is about.
type WebhookRoom struct {
	Name *string `json:"name"`
	Code *string `json:"code"`
}

var (
	questionSchema  = compiled(fileProtocol, "#/$defs/question")
	questionsSchema = compiled(fileProtocol, "#/$defs/questions")
	answerSchema    = compiled(fileProtocol, "#/$defs/answer_body")
	envelopeSchema  = compiled(fileProtocol, "#/$defs/answer_envelope")
	webhookSchema   = compiled(fileProtocol, "#/$defs/webhook_event")
)

func (*Question) definition() definition {
	return definition{"question-protocol-1.1/question", questionSchema}
}
func (*Questions) definition() definition {
	return definition{"question-protocol-1.1/questions", questionsSchema}
}
func (*AnswerBody) definition() definition {
	return definition{"question-protocol-1.1/answer", answerSchema}
}
func (*AnswerEnvelope) definition() definition {
	return definition{"question-protocol-1.1/answer-envelope", envelopeSchema}
}
func (*WebhookEvent) definition() definition {
	return definition{"question-protocol-1.1/webhook-event", webhookSchema}
}

func (*Question) check() []Fault       { return nil }
func (*Questions) check() []Fault      { return nil }
func (*AnswerEnvelope) check() []Fault { return nil }
func (*WebhookEvent) check() []Fault   { return nil }

// check refuses U+0000 in what a person typed, as in every event that we build: the answer is told in its room.
func (b *AnswerBody) check() (faults []Fault) {
	typed := func(text *string, location string) {
		if text != nil && strings.ContainsRune(*text, 0) {
			faults = append(faults, ruleFault(RuleNUL, location, "holds the character U+0000"))
		}
	}
	typed(b.Text, "/text")
	for i, item := range b.Items {
		typed(item.Text, fmt.Sprintf("/items/%d/text", i))
	}
	typed(b.Comment, "/comment")
	typed(b.Input, "/input")
	return faults
}
