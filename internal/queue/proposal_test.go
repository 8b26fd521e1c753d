package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func good() Proposal {
	return Proposal{
		Agent: "a1", Turn: 12, Text: "Does Dana prefer morning or afternoon meetings?", Kind: Disjunction, Signal: SignalDisjunction,
		Source: "reconciliation", Disjunction: "d1", Targets: []Target{{Key: "a"}, {"b", true}},
		Options: []Option{
			{Label: "morning", Acted: []string{"a"}, Contradicted: []string{"b"}}, {Label: "afternoon", Acted: []string{"b"}, Contradicted: []string{"a"}},
		},
	}
}

func numbers(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("k", i))
	}
	return out
}

// Each rule of a proposal, broken alone: the error says which field broke it.
func TestProposalRules(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	most := good()
	most.Text, most.Source, most.Disjunction = strings.Repeat("ü", MaxText), strings.Repeat("ü", MaxKey), strings.Repeat("ü", MaxKey)
	most.Targets = nil
	for _, key := range numbers(MaxKeys) {
		most.Targets = append(most.Targets, Target{Key: key})
	}
	most.Options = nil
	for i := range MaxOptions {
		most.Options = append(most.Options, Option{Label: strings.Repeat("ü", MaxLabel-2) + fmt.Sprintf("%02d", i), Acted: numbers(MaxKeys)})
	}
	least := Proposal{Text: "?!x", Kind: Referent, Signal: SignalEvidenceGap, Options: labels("x")}
	alike := good()
	alike.Options = labels("C", "C++", "C#", "1.5", "15")
	for name, p := range map[string]Proposal{"the most": most, "the least": least, "labels that differ by punctuation": alike} {
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, one := range []struct {
		field  string
		change func(*Proposal)
	}{
		{"/turn", func(p *Proposal) { p.Turn = -1 }},
		{"/turn", func(p *Proposal) { p.Turn = MaxTurn + 1 }},
		{"/question_text", func(p *Proposal) { p.Text = "" }},
		{"/question_text", func(p *Proposal) { p.Text = " \n " }},
		{"/question_text", func(p *Proposal) { p.Text = "  ?! " }},
		{"/question_text", func(p *Proposal) { p.Text = strings.Repeat("ü", MaxText+1) }},
		{"/question_text", func(p *Proposal) { p.Text = "a\x00b" }},
		{"/question_text", func(p *Proposal) { p.Text = "a\xff" }},
		{"/kind", func(p *Proposal) { p.Kind = "nope" }},
		{"/kind", func(p *Proposal) { p.Kind = "" }},
		{"/kind", func(p *Proposal) { p.Kind = "Disjunction" }},
		{"/ambiguity_signal", func(p *Proposal) { p.Signal = "judge_abstention" }},
		{"/ambiguity_signal", func(p *Proposal) { p.Signal = "" }},
		{"/source_module", func(p *Proposal) { p.Source = strings.Repeat("ü", MaxKey+1) }},
		{"/source_module", func(p *Proposal) { p.Source = "\x00" }},
		{"/disjunction_id", func(p *Proposal) { p.Disjunction = strings.Repeat("ü", MaxKey+1) }},
		{"/target_keys/1", func(p *Proposal) { p.Targets[1].Key = "" }},
		{"/target_keys/1", func(p *Proposal) { p.Targets[1].Key = "a" }},
		{"/target_keys/0", func(p *Proposal) { p.Targets[0].Key = strings.Repeat("ü", MaxKey+1) }},
		{"/target_keys", func(p *Proposal) { p.Targets = make([]Target, MaxKeys+1) }},
		{"/options", func(p *Proposal) { p.Options = nil }},
		{"/options", func(p *Proposal) { p.Options = labels(numbers(MaxOptions + 1)...) }},
		{"/options/0/label", func(p *Proposal) { p.Options[0].Label = "" }},
		{"/options/0/label", func(p *Proposal) { p.Options[0].Label = "?" }},
		{"/options/0/label", func(p *Proposal) { p.Options[0].Label = strings.Repeat("ü", MaxLabel+1) }},
		{"/options/1/label", func(p *Proposal) { p.Options[1].Label = " MORNING" }},
		{"/options/1/label", func(p *Proposal) { p.Options[1].Label = "Not sure." }},
		{"/options/1/label", func(p *Proposal) { p.Options[1].Label = "SKIP" }},
		{"/options/0/acted/1", func(p *Proposal) { p.Options[0].Acted = []string{"x", "x"} }},
		{"/options/0/acted", func(p *Proposal) { p.Options[0].Acted = numbers(MaxKeys + 1) }},
		{"/options/1/contradicted/0", func(p *Proposal) { p.Options[1].Contradicted = []string{""} }},
		{"/options/1/contradicted/1", func(p *Proposal) { p.Options[1].Contradicted = []string{"x", "b"} }}, // acted too
	} {
		p := good()
		one.change(&p)
		var e *bridge.Error
		if !errors.As(p.Check(), &e) || e.Code != CodeInvalidCandidate || e.Field != one.field || e.Reason == "" {
			t.Errorf("%s: got %+v", one.field, e)
		}
	}
}

func TestProposalAsCandidate(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	c, other := good().candidate(now), good().candidate(now)
	if c.ID == other.ID || !strings.HasPrefix(string(c.ID), "c_") {
		t.Errorf("ids %q and %q", c.ID, other.ID)
	}
	if c.Status != Pending || c.CreatedTurn != 12 || c.LastSeenTurn != 12 || c.ExpiresTurn != 32 || c.AskCount != 0 || c.CreatedAt != now {
		t.Errorf("got %+v", c)
	}
	if want := []string{"afternoon", "dana", "meetings", "morning", "prefer"}; !slices.Equal(c.CueTokens, want) {
		t.Errorf("cue tokens %q", c.CueTokens)
	}
}

func targets(keys ...string) []Target {
	var out []Target
	for _, key := range keys {
		out = append(out, Target{Key: key})
	}
	return out
}

// What a proposal about "A or C?" repeats of what stands.
func TestRepeats(t *testing.T) {
	p := Proposal{Turn: 509, Text: "A or C?", Kind: Disjunction, Targets: targets("a", "c"), Disjunction: "d2"}
	shares := Candidate{Text: "A or B?", Kind: Disjunction, Targets: targets("a", "b"), Disjunction: "d1"}
	equal := Candidate{Text: "other words", Kind: Disjunction, Targets: targets("c", "a")}
	more := Candidate{Text: "other words", Kind: Disjunction, Targets: targets("a", "b", "c")}
	sameText := Candidate{Text: " a OR c", Kind: Referent}
	sameID := Candidate{Text: "other words", Kind: Disjunction, Targets: targets("x"), Disjunction: "d2"}
	for _, one := range []struct {
		name           string
		c              Candidate
		open, answered bool
	}{
		{"a key in common", shares, true, false}, // the known limitation, mended
		{"a key in common, another kind", with(shares, func(c *Candidate) { c.Kind = Confirmation }), false, false},
		{"all keys", equal, true, true},
		{"all keys, another kind", with(equal, func(c *Candidate) { c.Kind = Confirmation }), false, false},
		{"all keys and more", more, true, false},
		{"fewer keys", Candidate{Text: "other words", Kind: Disjunction, Targets: targets("a")}, true, false},
		{"the same text", sameText, true, true},
		{"the same disjunction", sameID, false, true},
		{"the same disjunction, another kind", with(sameID, func(c *Candidate) { c.Kind = Confirmation }), false, false},
		{"nothing", Candidate{Text: "other words", Kind: Disjunction}, false, false},
	} {
		for _, status := range []Status{Pending, Delivered, Answered, Cooled, Expired} {
			c, want := with(one.c, func(c *Candidate) { c.Status = status }), one.open
			resolved := Turn(9) // as long ago as is kept
			switch status {
			case Answered:
				c.ResolvedTurn, want = &resolved, one.answered
			case Expired:
				c.ResolvedTurn, want = &resolved, false
			}
			if got := p.Repeats(c); got != want {
				t.Errorf("%s, %s: got %t", one.name, status, got)
			}
			if resolved--; c.ResolvedTurn != nil && p.Repeats(c) {
				t.Errorf("%s, %s, longer ago than is kept", one.name, status)
			}
		}
	}
	none := Proposal{Text: "x", Kind: Disjunction}
	if none.Repeats(Candidate{Text: "y", Kind: Disjunction, Status: Answered, ResolvedTurn: new(Turn)}) {
		t.Error("two without keys are about the same")
	}
}

func with(c Candidate, change func(*Candidate)) Candidate {
	change(&c)
	return c
}
