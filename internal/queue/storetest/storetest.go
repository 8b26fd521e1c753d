// Package storetest holds what every [queue.Store] must do, as one suite of tests: each promise of the interface is a
// subtest.
package storetest

import (
	"fmt"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

// Run runs the suite. open gives an empty store for each subtest, and cleans up after it by t.Cleanup; the suite may
// leave anything in it.
func Run(t *testing.T, open func(t *testing.T) queue.Store) {
	for _, group := range []struct {
		name  string
		cases []promise
	}{
		{"Candidates", candidates}, {"Finding", finding}, {"Waiting", waiting}, {"Moves", moves}, {"Budgets", budgets}, {"Ledger", ledger},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.check(&kit{Test: demand.Test{T: t}, Store: open(t)}) })
			}
		})
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
	queue.Store
	made int
}

// start is when every test begins.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const agent bridge.AgentID = "agent"

// candidate makes the next one: proposed on turn 0, a millisecond after the one before.
func (k *kit) candidate(changes ...func(*queue.Candidate)) queue.Candidate {
	k.made++
	c := queue.Candidate{
		ID: queue.CandidateID(fmt.Sprintf("c_%04d", k.made)), Agent: agent, Text: fmt.Sprintf("Which of the %d?", k.made),
		Kind: queue.Disjunction, Signal: queue.SignalDisjunction, Targets: []queue.Target{{Key: fmt.Sprintf("key %d", k.made)}},
		Options: []queue.Option{{Label: "this"}, {Label: "that"}}, CueTokens: []string{}, Status: queue.Pending,
		ExpiresTurn: queue.ExpiryTurns, CreatedAt: start.Add(time.Duration(k.made) * time.Millisecond),
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// add stores the next one.
func (k *kit) add(changes ...func(*queue.Candidate)) queue.Candidate {
	k.Helper()
	c := k.candidate(changes...)
	k.OK(k.AddCandidate(k.Context(), c))
	return c
}

// stored reads one.
func (k *kit) stored(c queue.Candidate) queue.Candidate {
	k.Helper()
	return demand.Got(k.Candidate(k.Context(), c.Agent, c.ID))(k)
}

// move stores one as the change leaves it, and must not be refused.
func (k *kit) move(from queue.Candidate, change func(*queue.Candidate)) queue.Candidate {
	k.Helper()
	to := from
	change(&to)
	k.Is("moved", demand.Got(k.MoveCandidate(k.Context(), from, to))(k), true)
	return to
}

func of(agent bridge.AgentID) func(*queue.Candidate) {
	return func(c *queue.Candidate) { c.Agent = agent }
}

func deliveredOn(turn queue.Turn) func(*queue.Candidate) {
	return func(c *queue.Candidate) {
		c.Status, c.DeliveredTurn, c.AskCount, c.CooldownUntil, c.ResolvedTurn = queue.Delivered, &turn, c.AskCount+1, nil, nil
	}
}

func cooledOn(turn queue.Turn) func(*queue.Candidate) {
	return func(c *queue.Candidate) {
		until := turn + queue.CooldownTurns
		c.Status, c.CooldownUntil, c.ResolvedTurn = queue.Cooled, &until, &turn
	}
}

func answeredOn(turn queue.Turn) func(*queue.Candidate) {
	return func(c *queue.Candidate) {
		c.Status, c.AnswerOption, c.ResolvedTurn = queue.Answered, new(int), &turn
	}
}

func expiredOn(turn queue.Turn) func(*queue.Candidate) {
	return func(c *queue.Candidate) { c.Status, c.CooldownUntil, c.ResolvedTurn = queue.Expired, nil, &turn }
}

func ids(all []queue.Candidate) []queue.CandidateID {
	out := []queue.CandidateID{}
	for _, c := range all {
		out = append(out, c.ID)
	}
	return out
}

// are compares candidates by their ids.
func (k *kit) are(what string, got []queue.Candidate, want ...queue.Candidate) {
	k.Helper()
	k.Is(what, ids(got), ids(want))
}
