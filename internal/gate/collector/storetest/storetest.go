// Package storetest holds what every [collector.Store] must do, as one suite of tests: each promise of the interface is a
// subtest.
package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// Run runs the suite. open gives an empty store for each subtest, and cleans up after it by t.Cleanup; the suite may
// leave anything in it.
func Run(t *testing.T, open func(t *testing.T) collector.Store) {
	for _, p := range append(finding, moving...) {
		t.Run(p.name, func(t *testing.T) { p.check(&kit{Test: demand.Test{T: t}, Store: open(t)}) })
	}
}

// promise is one sentence that a store keeps.
type promise struct {
	name  string
	check func(k *kit)
}

// kit is what a subtest works with.
type kit struct {
	demand.Test
	collector.Store
	made int
}

// start is when every test begins.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	agent bridge.AgentID        = "agent"
	room  bridge.ConversationID = "!room:example.org"
)

// gate makes the next one, to be asked elsewhere: opened a millisecond after the one before, with an hour for its approval.
func (k *kit) gate(changes ...func(*collector.Gate)) collector.Gate {
	k.made++
	at := start.Add(time.Duration(k.made) * time.Millisecond)
	g := collector.Gate{
		ID: collector.GateID(fmt.Sprintf("g_%04d", k.made)), Agent: agent, Conversation: room, Requester: "Requester", Purpose: "purpose",
		Principal: collector.Principal{Kind: "user", ID: fmt.Sprintf("usr_%d", k.made), Scope: "pairwise"}, Route: collector.ByReturn,
		Mode: collector.AskOnce, Revision: 3, State: collector.Open, CreatedAt: at, ForgetAfter: at.Add(collector.Retention),
		Protected: &collector.Protected{
			Type: "feedback", Respondent: collector.Agent, Prompt: "Protected?", Instructions: "quietly", Timing: "after_outcome_known",
			Format: collector.Format{MaxLength: 700}, TTL: time.Hour,
		},
	}
	g.Approval = collector.Asked{Query: collector.Query{
		ID: gate.QueryID(fmt.Sprintf("query-%d", k.made)), Type: collector.Approval, Principal: g.Principal, Respondent: collector.Human,
		Prompt: "May they?", Instructions: "exactly", Timing: collector.Immediate,
		Format: collector.Format{Choices: []string{collector.ChoiceApproved, collector.ChoiceDeclined}}, ExpiresAt: at.Add(time.Hour),
	}}
	for _, change := range changes {
		change(&g)
	}
	return g
}

// add stores the next one.
func (k *kit) add(changes ...func(*collector.Gate)) collector.Gate {
	k.Helper()
	g := k.gate(changes...)
	k.Is("added", demand.Got(k.AddGate(k.Context(), g))(k), true)
	return g
}

// asked has a question in a room ask for the approval.
func asked(g *collector.Gate) {
	g.Route, g.Question = collector.InRoom, bridge.QuestionID("q of "+string(g.ID))
}

// requested names the request that opened a gate.
func requested(key string) func(*collector.Gate) {
	return func(g *collector.Gate) { g.Request = collector.Request{Key: key, Hash: [32]byte{7, 1}} }
}

// response answers a query a second after its gate was opened.
func response(g collector.Gate, to collector.Asked, choice string) collector.Accepted {
	at := g.CreatedAt.Add(time.Second)
	return collector.Accepted{ReceivedAt: at, Response: collector.Response{
		ID: gate.ResponseID("response to " + string(to.ID)), Query: to.ID, Respondent: collector.Human, Provenance: collector.Mediated,
		Answer: collector.Answer{Choice: &choice}, RespondedAt: at.Add(-time.Millisecond),
	}}
}

// approved is a gate as it stands once its approval is answered.
func approved(g collector.Gate) collector.Gate {
	a := response(g, g.Approval, collector.ChoiceApproved)
	p := g.Protected
	g.State, g.Protected, g.Approval.Accepted = collector.Approved, nil, &a
	g.Continuation = &collector.Asked{Query: collector.Query{
		ID: g.Approval.ID + "-next", ContinuationOf: g.Approval.ID, Type: p.Type, Principal: g.Principal, Respondent: p.Respondent,
		Prompt: p.Prompt, Instructions: p.Instructions, Timing: p.Timing, Format: p.Format, ExpiresAt: a.ReceivedAt.Add(p.TTL),
	}}
	return g
}

// approve stores an approval, and must not be refused.
func (k *kit) approve(g collector.Gate) collector.Gate {
	k.Helper()
	to := approved(g)
	k.Is("accepted", demand.Got(k.Accept(k.Context(), *to.Approval.Accepted))(k), true)
	k.move(g, to)
	return to
}

// move stores where a gate goes, and must not be refused.
func (k *kit) move(from, to collector.Gate) {
	k.Helper()
	k.Is("moved", demand.Got(k.MoveGate(k.Context(), from, to))(k), true)
}

// stored reads one.
func (k *kit) stored(g collector.Gate) collector.Gate {
	k.Helper()
	return demand.Got(k.Gate(k.Context(), g.Agent, g.ID))(k)
}

func ids(all []collector.Gate) []collector.GateID {
	out := []collector.GateID{}
	for _, g := range all {
		out = append(out, g.ID)
	}
	return out
}

func (k *kit) unknown(err error) {
	k.Helper()
	var known *bridge.Error
	if !errors.As(err, &known) || known.Code != collector.CodeGateUnknown {
		k.Fatalf("got %v", err)
	}
}
