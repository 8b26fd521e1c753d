package bridge

import (
	"context"
	"regexp"
	"time"
)

// Auditor keeps the audit log: who asked, answered and was refused (The Question Protocol 1.1, section 10).
type Auditor interface {
	// Record keeps one record. It is called after the commit of what it tells of, by many at the same time. It returns
	// soon, and a failure is its own to report: nobody's answer waits for it or fails by it.
	Record(ctx context.Context, r AuditRecord)
}

// AuditRecord is one thing that happened. It holds ids, codes and machine values, and no text that anybody wrote: no
// prompt, no label, no typed answer, no comment, no name.
type AuditRecord struct {
	At           time.Time
	Action       AuditAction
	Question     QuestionID
	Conversation ConversationID
	Agent        AgentID // whose question it is, or who tried
	User         UserID  // who answered, or tried; of a carried question, its carrier
	Via          Via
	Code         Code // why it was refused, or how it ended
	Chosen       []AuditChoice
	Meaning      Meaning
	Event        InteractionID // what the user did in a conversation
	Origin
}

// AuditChoice is one option of an answer, by its place and, where that is no text for people, its value.
type AuditChoice struct {
	Item   int      `json:"item"`             // which item of the question, from 1
	Option int      `json:"option,omitempty"` // which option of the item, from 1; 0 for a typed answer
	Value  OptionID `json:"value,omitempty"`
	Typed  bool     `json:"typed,omitempty"`
}

// Origin is the request that something came by: "" where it came by none.
type Origin struct {
	Request string // its id, as the log has it
	Token   string // the id of its token
}

type originKey struct{}

// In gives a context whose records have this origin.
func (o Origin) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is the origin that a context has.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// AuditAction is what happened.
type AuditAction string

// The actions of the audit log. Those of the first group are recorded by the engine, which every surface ends in; a
// refusal by whoever refused.
const (
	AuditAsked      AuditAction = "asked"
	AuditAdopted    AuditAction = "adopted" // a question that its carrier posted
	AuditAnswered   AuditAction = "answered"
	AuditLate       AuditAction = "answer_late" // somebody came after the question, or its step, was over
	AuditCancelled  AuditAction = "cancelled"
	AuditSuperseded AuditAction = "superseded" // cancelled by a newer revision of its subject
	AuditExpired    AuditAction = "expired"

	AuditGrantRevoked    AuditAction = "grant_revoked"    // somebody took back what an answer granted
	AuditDecisionRevoked AuditAction = "decision_revoked" // what somebody decided is not remembered any more

	AuditAskRefused    AuditAction = "ask_refused"
	AuditReadRefused   AuditAction = "read_refused"
	AuditCancelRefused AuditAction = "cancel_refused"
	AuditAnswerRefused AuditAction = "answer_refused"
	AuditQueueRefused  AuditAction = "queue_refused"  // a call of the question queue
	AuditGateRefused   AuditAction = "gate_refused"   // a call about gated exchanges
	AuditRevokeRefused AuditAction = "revoke_refused" // of a grant
	AuditSignInRefused AuditAction = "sign_in_refused"

	AuditSignedIn     AuditAction = "signed_in"
	AuditTokenAdded   AuditAction = "token_added"
	AuditTokenRevoked AuditAction = "token_revoked"
)

// ViaCarrier is how a carried question is asked: its carrier posts it. ViaCommand is what is done by a command of the
// server.
const (
	ViaCarrier Via = "carrier"
	ViaCommand Via = "command"
)

// Unaudited is an [Auditor] that keeps nothing.
type Unaudited struct{}

// Record implements [Auditor].
func (Unaudited) Record(context.Context, AuditRecord) {}

// record completes a record and gives it to the auditor.
func (e *Engine) record(ctx context.Context, r AuditRecord) {
	r.At, r.Origin = e.Clock.Now(), OriginOf(ctx)
	e.Auditor.Record(ctx, r)
}

// recordOf begins a record about a question.
func recordOf(q Question, action AuditAction) AuditRecord {
	return AuditRecord{Action: action, Question: q.ID, Conversation: q.Conversation, Agent: q.Asker}
}

// recordAsked tells that a question was asked over HTTP, or adopted.
func (e *Engine) recordAsked(ctx context.Context, q Question) {
	r := recordOf(q, AuditAsked)
	r.Via = ViaAPI
	if q.Carried != nil {
		r.Action, r.Via, r.User, r.Event = AuditAdopted, ViaCarrier, q.Carried.By, InteractionID(q.Carried.Message)
	}
	e.record(ctx, r)
}

// recordSettled tells how a question ended.
func (e *Engine) recordSettled(ctx context.Context, q Question) {
	r := recordOf(q, AuditCancelled)
	switch a := q.Answer; {
	case a != nil:
		r.Action, r.User, r.Via, r.Event = AuditAnswered, a.By.ID, a.Via, a.Event
		r.Chosen, r.Meaning = q.auditChoices(a.Choice), a.Meaning
	case q.CancelledBy == Superseded:
		r.Action = AuditSuperseded
	case q.Reason == ReasonEdited && q.Carried != nil:
		r.User, r.Via, r.Code = q.Carried.By, ViaCarrier, ReasonEdited
	default:
		r.User, r.Code = q.DismissedBy, Code(q.CancelledBy)
	}
	e.record(ctx, r)
}

// recordAttempt tells of what somebody did in a conversation that was no answer, or came too late.
func (e *Engine) recordAttempt(ctx context.Context, r *reception, c Courtesy) {
	action := AuditAnswerRefused
	if c.Kind == Stale {
		action = AuditLate
	}
	a := recordOf(r.q, action)
	a.User, a.Via, a.Event, a.Code = r.in.Sender, viaOf(r.in.Act), r.in.ID, Code(c.Code)
	e.record(ctx, a)
}

// recordLost tells of an attempt that somebody was faster than: it left the question as it now stands.
func (e *Engine) recordLost(ctx context.Context, r *reception, q Question, won bool) {
	if !won {
		e.recordAttempt(ctx, r, Courtesy{Kind: Stale, Code: string(q.State)})
	}
}

// recordLate tells of an answer outside the conversation that came too late.
func (e *Engine) recordLate(ctx context.Context, q Question, who UserID, via Via) {
	r := recordOf(q, AuditLate)
	r.User, r.Via, r.Code = who, via, Code(q.State)
	e.record(ctx, r)
}

func viaOf(act Act) Via {
	switch act.(type) {
	case Reacted:
		return ViaReaction
	case Submitted:
		return ViaStructured
	}
	return ViaReply
}

// auditChoices says which options were chosen.
func (q Question) auditChoices(c Choice) (chosen []AuditChoice) {
	for i, choice := range c.Items {
		if choice.Text != nil {
			chosen = append(chosen, AuditChoice{Item: i + 1, Typed: true})
		}
		for n, o := range q.Items[i].Options {
			for _, id := range choice.Selected {
				if id == o.ID {
					chosen = append(chosen, AuditChoice{Item: i + 1, Option: n + 1, Value: o.machineValue()})
				}
			}
		}
	}
	return chosen
}

var machineWord = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// machineValue is an option's value where it is a word for machines; "" where it is, or may be, what people read.
func (o Option) machineValue() OptionID {
	if string(o.ID) == o.Label || !machineWord.MatchString(string(o.ID)) {
		return ""
	}
	return o.ID
}
