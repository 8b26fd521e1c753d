package schema

import (
	"strconv"
	"strings"
)

// queueDefinition is that of a document of the Question Queue, by its name in the schema.
func queueDefinition(name string) definition {
	return definition{"question-queue/" + strings.ReplaceAll(name, "_", "-"), compiled(fileQueue, "#/$defs/"+name)}
}

var (
	definitionProposal        = queueDefinition("proposal")
	definitionProposed        = queueDefinition("proposed")
	definitionNextBody        = queueDefinition("next")
	definitionNextCandidate   = queueDefinition("next_candidate")
	definitionReplyBody       = queueDefinition("reply")
	definitionReplyResult     = queueDefinition("reply_result")
	definitionKeysBody        = queueDefinition("keys_at_turn")
	definitionTurnBody        = queueDefinition("at_turn")
	definitionCandidate       = queueDefinition("candidate")
	definitionCandidates      = queueDefinition("candidates")
	definitionEvidence        = queueDefinition("evidence")
	definitionCallback        = queueDefinition("callback")
	definitionStalenessCheck  = queueDefinition("staleness_check")
	definitionStaleCandidates = queueDefinition("stale_candidates")
)

func (*Proposal) definition() definition        { return definitionProposal }
func (*Proposed) definition() definition        { return definitionProposed }
func (*NextBody) definition() definition        { return definitionNextBody }
func (*NextCandidate) definition() definition   { return definitionNextCandidate }
func (*ReplyBody) definition() definition       { return definitionReplyBody }
func (*ReplyResult) definition() definition     { return definitionReplyResult }
func (*KeysBody) definition() definition        { return definitionKeysBody }
func (*TurnBody) definition() definition        { return definitionTurnBody }
func (*Candidate) definition() definition       { return definitionCandidate }
func (*Candidates) definition() definition      { return definitionCandidates }
func (*Evidence) definition() definition        { return definitionEvidence }
func (*Callback) definition() definition        { return definitionCallback }
func (*StalenessCheck) definition() definition  { return definitionStalenessCheck }
func (*StaleCandidates) definition() definition { return definitionStaleCandidates }

func (*Proposal) check() []Fault        { return nil }
func (*Proposed) check() []Fault        { return nil }
func (*NextBody) check() []Fault        { return nil }
func (*NextCandidate) check() []Fault   { return nil }
func (*ReplyBody) check() []Fault       { return nil }
func (*ReplyResult) check() []Fault     { return nil }
func (*TurnBody) check() []Fault        { return nil }
func (*Candidate) check() []Fault       { return nil }
func (*Candidates) check() []Fault      { return nil }
func (*Evidence) check() []Fault        { return nil }
func (*Callback) check() []Fault        { return nil }
func (*StalenessCheck) check() []Fault  { return nil }
func (*StaleCandidates) check() []Fault { return nil }

// check refuses what no database can look for.
func (b *KeysBody) check() (faults []Fault) {
	for i, key := range b.Keys {
		if strings.ContainsRune(key, 0) {
			faults = append(faults, ruleFault(RuleNUL, pointer("keys", strconv.Itoa(i)), "holds the character U+0000"))
		}
	}
	return faults
}
