package dialect

import (
	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// FromProposal is an agent's proposal as the queue takes it, which checks it.
func FromProposal(agent bridge.AgentID, p *schema.Proposal) queue.Proposal {
	out := queue.Proposal{
		Agent: agent, Turn: queue.Turn(p.Turn), Text: p.QuestionText, Kind: queue.Kind(p.Kind), Signal: queue.Signal(p.AmbiguitySignal),
		Source: p.SourceModule, Disjunction: p.DisjunctionID,
	}
	for _, t := range p.TargetKeys {
		out.Targets = append(out.Targets, queue.Target(t))
	}
	for _, o := range p.Options {
		out.Options = append(out.Options, queue.Option(o))
	}
	return out
}

// FromCues are the tokens of what a turn is about; nil for nil, which turns the question of relevance off.
func FromCues(c *schema.Cues) []string {
	if c == nil {
		return nil
	}
	return queue.CueTokens(*c...)
}

// ToCandidate shows a candidate to its agent.
func ToCandidate(c queue.Candidate) schema.Candidate {
	out := schema.Candidate{
		CandidateID: string(c.ID), AgentID: string(c.Agent), QuestionText: c.Text, Kind: string(c.Kind), AmbiguitySignal: string(c.Signal),
		SourceModule: orNil(c.Source), TargetKeys: make([]schema.Target, len(c.Targets)), Options: make([]schema.ProposalOption, len(c.Options)),
		DisjunctionID: orNil(c.Disjunction), CueTokens: append([]string{}, c.CueTokens...), Status: string(c.Status), AskCount: c.AskCount,
		CreatedTurn: int(c.CreatedTurn), ExpiresTurn: int(c.ExpiresTurn), LastSeenTurn: int(c.LastSeenTurn), DeliveredTurn: turn(c.DeliveredTurn),
		CooldownUntil: turn(c.CooldownUntil), ResolvedTurn: turn(c.ResolvedTurn), AnswerOption: c.AnswerOption, CreatedAt: timestamp(c.CreatedAt),
		QuestionID: orNil(string(c.Question)), LeaderID: orNil(string(c.Leader)),
	}
	for i, t := range c.Targets {
		out.TargetKeys[i] = schema.Target(t)
	}
	for i, o := range c.Options {
		out.Options[i] = schema.ProposalOption(o)
	}
	return out
}

// ToCandidates shows candidates to their agent; never nil.
func ToCandidates(all []queue.Candidate) []schema.Candidate {
	out := make([]schema.Candidate, len(all))
	for i, c := range all {
		out[i] = ToCandidate(c)
	}
	return out
}

// ToCandidateOrNone shows what may be none.
func ToCandidateOrNone(c *queue.Candidate) *schema.Candidate {
	if c == nil {
		return nil
	}
	return new(ToCandidate(*c))
}

// ToReplyResult shows what became of a reply.
func ToReplyResult(r queue.Result) schema.ReplyResult {
	return schema.ReplyResult{Applied: r.Applied, Reason: string(r.Reason), OptionIndex: r.Option}
}

// ToCandidateAnswered is what webhooks are told of an answered candidate, within their frame.
func ToCandidateAnswered(c queue.Candidate, known []queue.Evidence) map[string]any {
	evidence := make([]schema.Evidence, len(known))
	for i, e := range known {
		evidence[i] = ToEvidence(e)
	}
	return map[string]any{
		"candidate_id": string(c.ID), "agent_id": string(c.Agent), "kind": string(c.Kind), "answer_option": c.AnswerOption,
		"question_id": orNil(string(c.Question)), "evidence": evidence,
	}
}

// ToEvidence shows what answers said about a fact.
func ToEvidence(e queue.Evidence) schema.Evidence { return schema.Evidence(e) }

func turn(t *queue.Turn) *int {
	if t == nil {
		return nil
	}
	return new(int(*t))
}
