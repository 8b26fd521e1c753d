// Package dialect is the only converter between the wire formats of package schema and the domain of package bridge: core
// questions and question.v2 events in, questions, events, answers and webhook envelopes out. It does no I/O.
package dialect

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// AskContext is what the bridge knows about an ask and the asker does not say.
type AskContext struct {
	Asker        bridge.AgentID
	AskedBy      string // how the asker is named to people; the agent's id if empty
	Conversation bridge.ConversationID
	Now          time.Time // kept to the millisecond
}

// FromAsk makes the pending question, with a new id, that an ask asks. Every event that the question will be posted as
// was built once to see that it can be; the room may allow less (see [bridge.Channel]). The error is a [*schema.Refusal]
// that points into the ask body.
func FromAsk(ask schema.Ask, c AskContext) (bridge.Question, error) {
	q := newQuestion(c)
	q.ExpiresAt = q.CreatedAt.Add(ask.Lifetime())
	if err := setTerms(&q, ask.Terms()); err != nil {
		return bridge.Question{}, err
	}
	var err error
	switch ask := ask.(type) {
	case *schema.CoreAsk:
		err = setCore(&q, ask)
	case *schema.ElicitationAsk:
		err = setAsked(&q, ask.Elicitation)
	default:
		err = fmt.Errorf("an ask of unknown type %T", ask)
	}
	if err != nil {
		return bridge.Question{}, err
	}
	q.Warnings = append(q.Warnings, warnings(q)...)
	q.Digest, err = digest(q)
	return q, err
}

func newQuestion(c AskContext) bridge.Question {
	at := c.Now.UTC().Truncate(time.Millisecond)
	q := bridge.Question{
		ID: bridge.NewQuestionID(), Asker: c.Asker, AskedBy: c.AskedBy, Conversation: c.Conversation,
		CreatedAt: at, ForgetAfter: at.Add(bridge.Retention),
		State: bridge.Pending, Delivery: bridge.Delivery{State: bridge.Queued},
	}
	if q.AskedBy == "" {
		q.AskedBy = string(c.Asker)
	}
	return q
}

// setTerms takes over what stands beside the question. U+0000 is refused because PostgreSQL cannot keep it; within data
// it stays an escape.
func setTerms(q *bridge.Question, t schema.AskTerms) error {
	var nul faults
	nul.noNUL("/target_user_id", t.TargetUserID)
	if t.CorrelationID != nil {
		nul.noNUL("/correlation_id", *t.CorrelationID)
	}
	if t.ReplyTo != nil {
		nul.noNUL("/reply_to", *t.ReplyTo)
	}
	if err := nul.refuse(); err != nil {
		return err
	}
	q.Scope, q.Target = bridge.ResponderScope(t.Scope()), bridge.UserID(t.TargetUserID)
	q.CorrelationID, q.ReplyTo = t.CorrelationID, t.ReplyTo
	if t.Data != nil {
		data, err := schema.CompactJSON(t.Data)
		if err != nil {
			return fmt.Errorf("encode data: %w", err)
		}
		q.Data = data
	}
	return nil
}

// setAsked takes over a question.v2 content that came as an ask. What is kept is the content that will be sent: with our
// body, and without what is ours to set.
func setAsked(q *bridge.Question, e *schema.Elicitation) error {
	content, dropped, err := contentOf(e)
	if err != nil {
		return err
	}
	if q.Scope == bridge.Direct {
		content["responder_scope"] = string(bridge.Direct)
	}
	raw, err := schema.CanonicalJSON(content)
	if err != nil {
		return err
	}
	given := e.Body
	if e, err = schema.Decode[schema.Elicitation](raw); err != nil {
		return err
	}
	built, err := e.Build(schema.BuildOptions{})
	if err != nil {
		return err
	}
	dropOurs(built)
	if q.Content, err = schema.CanonicalJSON(built); err != nil {
		return err
	}
	if given != built["body"] {
		q.Warnings = append(q.Warnings, "the body given was replaced: it is not the one that belongs to this question")
	}
	if dropped {
		q.Warnings = append(q.Warnings, `format, formatted_body and properties that start with "m." were dropped: they are the bridge's to set`)
	}
	return setElicitation(q, e)
}

// contentOf copies an elicitation's content without what is the sender's homeserver's or ours to set; dropped says that
// there was something of that.
func contentOf(e *schema.Elicitation) (content map[string]any, dropped bool, err error) {
	if content, err = e.Content(); err != nil {
		return nil, false, err
	}
	return content, dropOurs(content), nil
}

func dropOurs(content map[string]any) (dropped bool) {
	for name := range content {
		if name == "format" || name == "formatted_body" || strings.HasPrefix(name, "m.") {
			delete(content, name)
			dropped = true
		}
	}
	return dropped
}

// maxCorrelationID is in code points (The Question Protocol 1.1, section 3).
const maxCorrelationID = 255

// correlationOf gives a v2 question its elicitation id to be known by, unless the asker gave something else (DESIGN
// section 8) or the protocol's field cannot hold it.
func correlationOf(given *string, elicitation string) *string {
	if given != nil || utf8.RuneCountInString(elicitation) > maxCorrelationID {
		return given
	}
	return &elicitation
}
