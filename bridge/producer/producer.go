// Package producer makes proposals for the Question Queue of what a host holds already. Each function is a producer by
// itself, and is dormant when there is nothing to ask. They store nothing and call nobody: each proposal is the host's to
// hand in, again on every turn on which the ambiguity is met again. (Question Queue, "Producers".)
package producer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// Fact is something that a host knows.
type Fact struct {
	Key       string
	Statement string // as people would say it; "" where the host cannot tell
}

// Disjoined is a live annotation that of two facts only one is right.
type Disjoined struct {
	ID   string // of the disjunction; "" for none
	A, B Fact
}

// FromDisjunctions asks of each pair which fact is right: choosing one bears it out and contradicts the other. A pair that
// lacks a key, or has the same twice, is left out. The host reports a pair that is no disjunction any more as gone, or by
// its callback.
func FromDisjunctions(turn int, live []Disjoined) []schema.Proposal {
	var out []schema.Proposal
	for _, d := range live {
		a, b := d.A.Key, d.B.Key
		if a == "" || b == "" || a == b {
			continue
		}
		labels := usableLabels([]string{d.A.Statement, d.B.Statement})
		out = append(out, schema.Proposal{
			Turn: turn, Kind: string(queue.Disjunction), AmbiguitySignal: string(queue.SignalDisjunction), SourceModule: "reconciliation",
			DisjunctionID: d.ID, QuestionText: texts.WhichIsRight(d.A.shown(), d.B.shown()), TargetKeys: schema.Keys(a, b),
			Options: []schema.ProposalOption{
				{Label: labels[0], Acted: []string{a}, Contradicted: []string{b}},
				{Label: labels[1], Acted: []string{b}, Contradicted: []string{a}},
			},
		})
	}
	return out
}

func (f Fact) shown() string {
	if strings.TrimSpace(f.Statement) == "" {
		return f.Key
	}
	return f.Statement
}

// GateReport is what a host's confidence gate did with a query.
type GateReport struct {
	Query       string // what was wanted; "" where the host cannot tell
	Gated       bool
	Mode        string   // only [GateRefuse] withholds anything
	RefusedKeys []string // the top one first
}

// GateRefuse is the mode of a gate that withholds what it is not confident of.
const GateRefuse = "refuse"

// maxQuery is how many characters of a query are shown in a question.
const maxQuery = 200

// FromGate asks whether the top refused key is right. It is dormant without a report, as a host has none whose gate has no
// threshold; and in any other mode than [GateRefuse], where nothing was withheld. The question names the key beside the
// query, so that two refusals under one query are two candidates.
func FromGate(turn int, r *GateReport) []schema.Proposal {
	if r == nil || !r.Gated || r.Mode != GateRefuse {
		return nil
	}
	top := slices.IndexFunc(r.RefusedKeys, func(key string) bool { return key != "" })
	if top < 0 {
		return nil
	}
	key, query := r.RefusedKeys[top], strings.TrimSpace(r.Query)
	if utf8.RuneCountInString(query) > maxQuery {
		query = string([]rune(query)[:maxQuery-1]) + "…"
	}
	return []schema.Proposal{{
		Turn: turn, Kind: string(queue.Confirmation), AmbiguitySignal: string(queue.SignalGateRefusal), SourceModule: "confidence_gate",
		QuestionText: texts.StillRight(key, query), TargetKeys: schema.Keys(key),
		Options: []schema.ProposalOption{{Label: texts.Yes, Acted: []string{key}}, {Label: texts.No, Contradicted: []string{key}}},
	}}
}

// Resolution is what became of the references in something that was said.
type Resolution struct {
	Key        string // of the record
	References []Reference
}

// Reference is a word or two that refer to something.
type Reference struct {
	Status     string // only [EvidenceGap] leaves anything to ask
	Words      string
	Start, End int      // where they stand in what was said
	Question   string   // that would clear it up; "" for "who or what is that?"
	Candidates []string // what they may refer to
}

// EvidenceGap is the status of a reference that nothing known resolves.
const EvidenceGap = "evidence_gap"

// FromResolution asks what each reference with an evidence gap refers to; one without candidates is left out. The answers
// are recorded only. Each reference has a target key of its own, so that two of them are two candidates.
func FromResolution(turn int, r Resolution) []schema.Proposal {
	var out []schema.Proposal
	for _, ref := range r.References {
		candidates := distinct(ref.Candidates)
		if ref.Status != EvidenceGap || len(candidates) == 0 {
			continue
		}
		text := ref.Question
		if strings.TrimSpace(text) == "" {
			text = texts.WhoOrWhat(ref.Words)
		}
		var options []schema.ProposalOption
		for _, label := range usableLabels(candidates) {
			options = append(options, schema.ProposalOption{Label: label})
		}
		out = append(out, schema.Proposal{
			Turn: turn, Kind: string(queue.Referent), AmbiguitySignal: string(queue.SignalEvidenceGap), SourceModule: "resolution",
			QuestionText: text, Options: options, TargetKeys: schema.Keys(fmt.Sprintf("%s#ref:%d:%d", r.Key, ref.Start, ref.End)),
		})
	}
	return out
}

// distinct leaves out labels that say nothing, or what one before them says.
func distinct(labels []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, label := range labels {
		if folded := bridge.Fold(label); !seen[folded] && bridge.Plain(label) != "" {
			seen[folded] = true
			out = append(out, label)
		}
	}
	return out
}

// usableLabels are the labels as they are, if every one of them can be chosen by its name. Otherwise all are numbered.
func usableLabels(labels []string) []string {
	if len(distinct(labels)) == len(labels) && !slices.ContainsFunc(labels, unusable) {
		return labels
	}
	numbered := make([]string, len(labels))
	for i, label := range labels {
		numbered[i] = texts.OptionNumber(i+1, strings.TrimSpace(label))
		if utf8.RuneCountInString(numbered[i]) > queue.MaxLabel {
			numbered[i] = texts.OptionNumber(i+1, "")
		}
	}
	return numbered
}

func unusable(label string) bool {
	return bridge.Deflects(label) || utf8.RuneCountInString(label) > queue.MaxLabel
}
