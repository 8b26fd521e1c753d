package dialect

import (
	"fmt"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// Elicitation gives the question.v2 content that one item of a question is posted as, with its body rendered; its Build
// method makes the event of it. Item n, from 0, of a set is its step n+1. A question.v2 question gives what its sender
// wrote. It fails for an item that the question does not have.
func Elicitation(q bridge.Question, item int) (*schema.Elicitation, error) {
	if item < 0 || item >= len(q.Items) {
		return nil, fmt.Errorf("question %s has no item %d", q.ID, item)
	}
	if q.Dialect == bridge.V2 {
		e, err := schema.Decode[schema.Elicitation](q.Content)
		if err != nil {
			return nil, fmt.Errorf("read the content of question %s: %w", q.ID, err)
		}
		e.ByReply = q.ByReply && q.Carried == nil
		return e, nil
	}
	it := q.Items[item]
	e := &schema.Elicitation{
		MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1,
		ElicitationID: stepID(q.ID, item), CardID: string(q.ID), CardTitle: cardTitle(q, item),
		AskedBy: q.AskedBy, Question: it.Prompt, Options: []schema.Option{},
		ResponderScope: string(q.Scope), Multiple: it.Multiple, MaySkip: q.Rationed,
	}
	for _, o := range it.Options {
		e.Options = append(e.Options, schema.Option{
			ID: string(o.ID), Label: o.Label, Meaning: schema.Meaning(o.Meaning), Style: o.Style, Input: inputTo(o.Input),
		})
	}
	if len(it.Options) == 0 && it.Text != nil {
		e.FreeText = &schema.FreeText{MaxLength: it.Text.MaxLength}
	}
	e.Body = e.TextBody()
	return e, nil
}

// stepID is the elicitation id of a core question's step: its own id for the first, then "<id>/2" and so on.
func stepID(id bridge.QuestionID, item int) string {
	if item == 0 {
		return string(id)
	}
	return fmt.Sprintf("%s/%d", id, item+1)
}

// cardTitle is the context. A step of a set says in it which one it is, since the event has no other place that every
// client shows.
func cardTitle(q bridge.Question, item int) string {
	title := q.Title
	if !isSet(q) {
		if title == "" {
			return schema.DefaultCardTitle
		}
		return title
	}
	step := q.Items[item].Header
	if len(q.Items) > 1 {
		step = fmt.Sprintf("%s (%d of %d)", step, item+1, len(q.Items))
	}
	if title == "" {
		title = q.Prompt
	}
	if title == "" {
		return step
	}
	return title + ": " + step
}

// AdoptContext is what is known of an event that a carrier posted itself.
type AdoptContext struct {
	Agent           bridge.AgentID // whom the question belongs to
	Carrier         bridge.UserID  // who posted it
	Message         bridge.MessageID
	Conversation    bridge.ConversationID
	Now             time.Time // when it was asked: its lifetime counts from here
	FreeTextReplies bool
}

// FromElicitation makes the pending question that a carrier's event asks. The event is taken as it is: it need not be one
// that we would build, and anybody eligible in the room may answer. The error is a [*schema.Refusal] that points into
// the event's content.
func FromElicitation(e *schema.Elicitation, c AdoptContext) (bridge.Question, error) {
	q := newQuestion(AskContext{Asker: c.Agent, Conversation: c.Conversation, Now: c.Now})
	q.ExpiresAt = q.CreatedAt.Add(schema.ElicitationDefaultLifetime)
	q.Scope = bridge.Room
	q.Carried = &bridge.Carried{By: c.Carrier, Message: c.Message, FreeTextReplies: c.FreeTextReplies}
	q.Delivery = bridge.Delivery{State: bridge.Posted, Message: c.Message}
	content, _, err := contentOf(e)
	if err != nil {
		return bridge.Question{}, err
	}
	if q.Content, err = schema.CompactJSON(content); err != nil {
		return bridge.Question{}, err
	}
	if err := setElicitation(&q, e); err != nil {
		return bridge.Question{}, err
	}
	q.Warnings = append(q.Warnings, warnings(q)...)
	q.Digest, err = digest(q)
	return q, err
}

// setElicitation takes over what a question.v2 content says.
func setElicitation(q *bridge.Question, e *schema.Elicitation) error {
	q.Dialect, q.ElicitationID, q.Title = bridge.V2, e.ElicitationID, e.CardTitle
	q.ApprovalRequestID, q.RunID = e.ApprovalRequestID, e.RunID
	if e.AskedBy != "" {
		q.AskedBy = e.AskedBy
	}
	q.CorrelationID = correlationOf(q.CorrelationID, e.ElicitationID)
	item := bridge.Item{Prompt: e.Question, Multiple: e.Multiple}
	if e.FreeText != nil {
		item.Text = &bridge.TextInput{MaxLength: e.FreeText.MaxLength}
	}
	approves := false
	for _, o := range e.Options {
		item.Options = append(item.Options, bridge.Option{
			ID: bridge.OptionID(o.ID), Label: o.Name(), Meaning: bridge.Meaning(o.Meaning), Style: styleOf(o, !approves),
			NeedsComment: o.NeedsComment, Input: inputFrom(o.Input), Grant: bridge.Grant(o.Scope), Requires: o.Requires,
		})
		approves = approves || o.Meaning == schema.Approve
	}
	q.Items = []bridge.Item{item}
	if s := e.Subject; s != nil {
		q.Subject = &bridge.Subject{SubjectRef: subjectRef(s.ID, s.Digest, s.Schema, s.Revision), Complete: !e.Incomplete(), Printable: s.Printable()}
	}
	return setTimes(q, e)
}

// setTimes reads the instants of an event. Text that only looks like a time is refused, except a reminder that is only
// carried: nobody is reminded then.
func setTimes(q *bridge.Question, e *schema.Elicitation) error {
	var wrong faults
	read := func(rule schema.Rule, location string, at *schema.Timestamp) *time.Time {
		if at == nil {
			return nil
		}
		t, err := at.Time()
		if err != nil {
			wrong = append(wrong, schema.Fault{Rule: rule, Location: location, Keyword: string(rule), Reason: "is not a time that exists"})
			return nil
		}
		t = t.UTC().Truncate(time.Millisecond)
		return &t
	}
	if e.Deadline != nil {
		q.RemindAt = read(schema.RuleDeadline, "/deadline/remind_at", e.Deadline.RemindAt)
		q.EscalateAt = read(schema.RuleDeadline, "/deadline/escalate_at", e.Deadline.EscalateAt)
	}
	if q.Carried != nil {
		for _, f := range wrong {
			q.Warnings = append(q.Warnings, f.Location+" "+f.Reason+" and was ignored")
		}
		wrong = nil
	}
	if q.Subject != nil {
		q.Subject.LapsesAt = read(schema.RuleSubject, "/subject/expires_at", e.Subject.ExpiresAt)
	}
	return wrong.refuse()
}

// styleOf is the style that the sender gave, else one by meaning: the first approving option is primary.
func styleOf(o schema.Option, first bool) string {
	switch s := schema.Style(o.Style); {
	case s == schema.StylePrimary || s == schema.StyleDanger || s == schema.StyleDefault:
		return o.Style
	case o.Meaning == schema.Approve && first:
		return string(schema.StylePrimary)
	case o.Meaning == schema.Reject:
		return string(schema.StyleDanger)
	default:
		return string(schema.StyleDefault)
	}
}

func inputFrom(in *schema.Input) *bridge.Input {
	if in == nil {
		return nil
	}
	return &bridge.Input{Kind: in.Kind, Label: in.Label, Required: in.Required, MaxLength: in.MaxLength}
}

func inputTo(in *bridge.Input) *schema.Input {
	if in == nil {
		return nil
	}
	return &schema.Input{Kind: in.Kind, Label: in.Label, Required: in.Required, MaxLength: in.MaxLength}
}

func subjectRef(id, digest, subjectSchema string, revision int) bridge.SubjectRef {
	return bridge.SubjectRef{ID: id, Digest: digest, Schema: subjectSchema, Revision: int64(revision)}
}
