package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
)

// Proposal is what somebody would like to have asked.
type Proposal struct {
	Agent       bridge.AgentID
	Turn        Turn
	Text        string // 1 to [MaxText] characters
	Kind        Kind
	Signal      Signal
	Source      string   // at most [MaxKey] characters; "" for none
	Targets     []Target // at most [MaxKeys], each key once
	Options     []Option // 1 to [MaxOptions], with labels that [Recognize] can tell apart
	Disjunction string   // at most [MaxKey] characters; "" for none
}

// CodeInvalidCandidate is a proposal that breaks a rule: a fault of its producer, which another try does not mend.
const CodeInvalidCandidate bridge.Code = "invalid_candidate"

// Check gives the first rule that the proposal breaks, as a *bridge.Error with [CodeInvalidCandidate] and the field as a
// JSON pointer into the wire form.
func (p Proposal) Check() error {
	k := &proposalCheck{}
	k.rule(p.Turn.Check() == nil, "/turn", turnRule)
	k.text("/question_text", p.Text, MaxText)
	k.rule(p.Kind.known(), "/kind", "must be disjunction, confirmation or referent")
	k.rule(p.Signal.known(), "/ambiguity_signal", "must be disjunction, gate_refusal or evidence_gap")
	k.length("/source_module", p.Source, MaxKey)
	k.length("/disjunction_id", p.Disjunction, MaxKey)
	k.keys("/target_keys", keysOf(p.Targets))
	k.rule(len(p.Options) >= 1 && len(p.Options) <= MaxOptions, "/options", fmt.Sprintf("must be 1 to %d options", MaxOptions))
	k.options(p.Options)
	return k.fault
}

func keysOf(targets []Target) []string {
	keys := make([]string, len(targets))
	for i, t := range targets {
		keys[i] = t.Key
	}
	return keys
}

type proposalCheck struct{ fault error }

func (k *proposalCheck) rule(kept bool, field, reason string) {
	if !kept && k.fault == nil {
		k.fault = &bridge.Error{Code: CodeInvalidCandidate, Field: field, Reason: reason}
	}
}

// text is something that people read.
func (k *proposalCheck) text(field, text string, most int) {
	k.rule(bridge.Plain(text) != "", field, "must hold more than white space and punctuation")
	k.length(field, text, most)
}

func (k *proposalCheck) length(field, text string, most int) {
	k.rule(utf8.RuneCountInString(text) <= most, field, fmt.Sprintf("must be at most %d characters", most))
	k.rule(utf8.ValidString(text) && !strings.ContainsRune(text, 0), field, "must be valid UTF-8 without NUL")
}

func (k *proposalCheck) keys(field string, keys []string) {
	k.rule(len(keys) <= MaxKeys, field, fmt.Sprintf("must be at most %d keys", MaxKeys))
	for i, key := range keys {
		at := fmt.Sprintf("%s/%d", field, i)
		k.rule(key != "", at, "must not be empty")
		k.length(at, key, MaxKey)
		k.rule(!slices.Contains(keys[:i], key), at, "must differ from the keys before it")
	}
}

func (k *proposalCheck) options(options []Option) {
	seen := map[string]bool{}
	for i, o := range options {
		at := fmt.Sprintf("/options/%d", i)
		label := bridge.Fold(o.Label)
		k.text(at+"/label", o.Label, MaxLabel)
		k.rule(!seen[label], at+"/label", "must differ from the labels before it, case aside")
		k.rule(!bridge.Deflects(label), at+"/label", "must not be a phrase that declines to answer")
		seen[label] = true
		k.keys(at+"/acted", o.Acted)
		k.keys(at+"/contradicted", o.Contradicted)
		for j, key := range o.Contradicted {
			k.rule(!slices.Contains(o.Acted, key), fmt.Sprintf("%s/contradicted/%d", at, j), "must not be a key that the option lists as acted")
		}
	}
}

// candidate is the proposal as a new candidate.
func (p Proposal) candidate(now time.Time) Candidate {
	texts := []string{p.Text}
	for _, o := range p.Options {
		texts = append(texts, o.Label)
	}
	return Candidate{
		ID: NewCandidateID(), Agent: p.Agent, Text: p.Text, Kind: p.Kind, Signal: p.Signal, Source: p.Source, Targets: p.Targets,
		Options: p.Options, Disjunction: p.Disjunction, CueTokens: CueTokens(texts...), Status: Pending,
		CreatedTurn: p.Turn, ExpiresTurn: p.Turn + ExpiryTurns, LastSeenTurn: p.Turn, CreatedAt: now,
	}
}

// Repeats says whether the proposal asks for what a candidate of the same agent asks already: the same text; or the same
// kind and, while the candidate is open, a target key in common. One that was answered counts as long as it is kept, and
// only if it was about the very same keys or the same disjunction. (Question Queue, "Expiry and dedup", with the fix that
// its known limitation names.)
func (p Proposal) Repeats(c Candidate) bool {
	if !c.Open() && (c.Status != Answered || !c.Kept(p.Turn)) {
		return false
	}
	if bridge.Plain(p.Text) == bridge.Plain(c.Text) {
		return true
	}
	if p.Kind != c.Kind {
		return false
	}
	theirs, shared := keysOf(c.Targets), 0
	for _, t := range p.Targets {
		if slices.Contains(theirs, t.Key) {
			shared++
		}
	}
	if c.Open() {
		return shared > 0
	}
	same := shared > 0 && shared == len(p.Targets) && shared == len(theirs)
	return same || p.Disjunction != "" && p.Disjunction == c.Disjunction
}
