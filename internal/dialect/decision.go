package dialect

import (
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/schema"
)

// ToDecision shows a decision that stands, without who made it and the gate that it was made for: these are for the caller
// to add, for whom may know of them.
func ToDecision(d decision.Decision) schema.Decision {
	out := schema.Decision{
		ID: string(d.ID), Agent: string(d.Agent), Requester: d.Requester, Purpose: d.Purpose, Decision: collector.ChoiceDeclined,
		DecidedAt: timestamp(d.Made.At), Uses: d.Made.Used.Times, LastUsedAt: instant(d.Made.Used.Last),
	}
	if d.Made.Approved {
		out.Decision = collector.ChoiceApproved
	}
	return out
}
