package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/schema"
)

// FromGateOpening is what an agent opens a gated exchange with, as the collector takes it.
func FromGateOpening(o *schema.GateOpening, c AskContext) collector.Opening {
	q := o.Query
	return collector.Opening{
		Agent: c.Asker, Conversation: c.Conversation, Requester: o.Requester, Purpose: o.Purpose, Principal: fromPrincipal(o.Subject),
		Prompt: o.Approval.Prompt, Instructions: o.Approval.Instructions, TTL: fromTTL(o.Approval.TTL),
		Protected: collector.Protected{
			Type: q.Type, Respondent: collector.Respondent(q.RequestedRespondent), Prompt: q.Prompt, Instructions: q.Instructions,
			Timing: q.Timing, Format: fromFormat(q.Response), TTL: fromTTL(q.TTL),
		},
		Route: collector.Route(o.Ask), Mode: cmp.Or(collector.Mode(o.Decisions), collector.Off), CorrelationID: o.CorrelationID,
		Question: func(approval collector.Query) (bridge.Question, error) {
			q, err := FromQuery(&schema.QueryAsk{AskTerms: o.AskTerms, Query: ToQuery(collector.Ready{Query: approval})}, c)
			return q, inOpening(err)
		},
	}
}

// inOpening points into an opening what points into an ask of its approval.
func inOpening(err error) error {
	var refused *schema.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	return relocate(refused, func(location string) string {
		if location == "/prompt" || strings.HasPrefix(location, "/query/") {
			return "/approval/prompt"
		}
		return location
	})
}

func fromPrincipal(p schema.Principal) collector.Principal {
	return collector.Principal{Kind: p.Kind, ID: p.ID, Scope: p.IDScope}
}

func fromTTL(s *schema.Seconds) time.Duration {
	if s == nil {
		return collector.DefaultTTL
	}
	return time.Duration(*s) * time.Second
}

func fromFormat(f schema.ResponseFormat) collector.Format {
	if f.Format == schema.FormatText {
		return collector.Format{MaxLength: f.MaxLength}
	}
	return collector.Format{Choices: f.Choices}
}

// FromResponse is a host's response, as the collector takes it.
func FromResponse(r *schema.Response) (collector.Response, error) {
	at, err := r.RespondedAt.Time()
	if err != nil {
		return collector.Response{}, fmt.Errorf("read when a response was given: %w", err)
	}
	return collector.Response{
		ID: gate.ResponseID(r.ResponseID), Query: gate.QueryID(r.QueryID), Respondent: collector.Respondent(r.Respondent.Kind),
		Provenance: collector.Provenance(r.Provenance), Answer: collector.Answer(r.Answer), RespondedAt: at.UTC().Truncate(time.Millisecond),
	}, nil
}

// ToQuery is a query as it is sent. One without an endpoint or a capability is sent without.
func ToQuery(q collector.Ready) schema.Query {
	out := schema.Query{
		ProtocolVersion: schema.ProtocolVersion, QueryID: string(q.ID), ContinuationOf: string(q.ContinuationOf), Type: q.Type,
		Subject: toPrincipal(q.Principal), RequestedRespondent: string(q.Respondent), Prompt: q.Prompt, Instructions: q.Instructions,
		Timing: q.Timing, Response: schema.ResponseFormat{Format: schema.FormatText, MaxLength: q.Format.MaxLength},
		Delivery:  schema.QueryDelivery{Binding: "https", Endpoint: q.Endpoint, Capability: q.Capability},
		ExpiresAt: timestamp(q.ExpiresAt),
	}
	if len(q.Format.Choices) > 0 {
		out.Response = schema.ResponseFormat{Format: schema.FormatChoice, Choices: q.Format.Choices}
	}
	return out
}

func toPrincipal(p collector.Principal) schema.Principal {
	return schema.Principal{Kind: p.Kind, ID: p.ID, IDScope: p.Scope}
}

// ToReceipt is what a response is answered. The same receipt is the same bytes.
func ToReceipt(r collector.Receipt) schema.Receipt {
	out := schema.Receipt{
		ProtocolVersion: schema.ProtocolVersion, QueryID: string(r.Query), ResponseID: string(r.Response), Status: string(r.Status),
		ReceivedAt: timestamp(r.ReceivedAt), Reason: r.Reason,
	}
	if r.Next != nil {
		out.NextQuery = new(ToQuery(*r.Next))
	}
	return out
}

// ToGate shows a gate to whoever opened it, without anything that has a capability. Of the protected query there is
// nothing in it.
func ToGate(g collector.Gate) schema.Gate {
	out := schema.Gate{
		GateID: string(g.ID), State: string(g.State), Reason: orNil(string(g.Reason)), Ask: string(g.Route), Requester: g.Requester,
		Purpose: g.Purpose, Subject: toPrincipal(g.Principal), Decisions: string(g.Mode), Query: ToQuery(collector.Ready{Query: g.Approval.Query}),
		QuestionID: orNil(string(g.Question)), CorrelationID: g.CorrelationID, CreatedAt: timestamp(g.CreatedAt),
	}
	if a := g.Approval.Accepted; a != nil {
		out.Provenance, out.Respondent = orNil(string(a.Provenance)), &schema.Respondent{Kind: string(a.Respondent)}
		out.DecidedAt = new(timestamp(a.ReceivedAt))
	}
	if g.Continuation != nil && g.Continuation.Accepted != nil {
		a := g.Continuation.Accepted
		out.Answer = &schema.GateAnswer{
			ResponseAnswer: schema.ResponseAnswer(a.Answer), Respondent: schema.Respondent{Kind: string(a.Respondent)},
			Provenance: string(a.Provenance), AnsweredAt: timestamp(a.ReceivedAt),
		}
	}
	return out
}

// ToGates shows gates in a list; never nil.
func ToGates(all []collector.Gate) []schema.Gate {
	out := make([]schema.Gate, len(all))
	for i, g := range all {
		out[i] = ToGate(g)
	}
	return out
}
