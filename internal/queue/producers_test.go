package queue

import (
	"reflect"
	"strings"
	"testing"
)

var producer = Producer{Agent: "a1", Turn: 12}

func one(t *testing.T, all []Proposal) Proposal {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d proposals", len(all))
	}
	if err := all[0].Check(); err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// A = acted:[a], contradicted:[b]; B is the mirror.
func TestFromDisjunctions(t *testing.T) {
	p := one(t, producer.FromDisjunctions([]Disjoined{{"d1", Fact{"a", "Dana likes mornings"}, Fact{"b", "Dana likes afternoons"}}}))
	same(t, "options", p.Options, []Option{
		{Label: "Dana likes mornings", Acted: []string{"a"}, Contradicted: []string{"b"}},
		{Label: "Dana likes afternoons", Acted: []string{"b"}, Contradicted: []string{"a"}},
	})
	p.Options = nil
	same(t, "proposal", p, Proposal{
		Agent: "a1", Turn: 12, Kind: Disjunction, Signal: SignalDisjunction, Source: "reconciliation", Disjunction: "d1", Targets: targets("a", "b"),
		Text: "Two things that I know do not fit together: “Dana likes mornings” and “Dana likes afternoons”. Which is right?",
	})
	same(t, "dormant", producer.FromDisjunctions([]Disjoined{{}, {"d", Fact{Key: "a"}, Fact{}}, {"d", Fact{Key: "a"}, Fact{Key: "a"}}}), []Proposal(nil))
	if got := producer.FromDisjunctions([]Disjoined{{"d1", Fact{Key: "a"}, Fact{Key: "b"}}, {}, {"d2", Fact{Key: "a"}, Fact{Key: "c"}}}); len(got) != 2 {
		t.Errorf("%d of two pairs", len(got))
	}
}

// Statements that cannot be chosen by name are numbered, and the question still says them.
func TestFromDisjunctionsLabels(t *testing.T) {
	long := strings.Repeat("x", MaxLabel)
	for _, c := range []struct{ a, b, labelA, labelB string }{
		{"", "", "Option 1", "Option 2"},
		{"It is", "it IS", "Option 1: It is", "Option 2: it IS"},
		{"Next", "previous", "Option 1: Next", "Option 2: previous"},
		{long + "x", "y", "Option 1", "Option 2: y"},
		{long, "y", long, "y"},
	} {
		p := one(t, producer.FromDisjunctions([]Disjoined{{"d1", Fact{"key:a", c.a}, Fact{"key:b", c.b}}}))
		same(t, "labels", []string{p.Options[0].Label, p.Options[1].Label}, []string{c.labelA, c.labelB})
		said := []string{c.a, c.b}
		if c.a == "" {
			said = []string{"key:a", "key:b"}
		}
		for _, s := range said {
			if !strings.Contains(p.Text, "“"+s+"”") {
				t.Errorf("%q does not say %q", p.Text, s)
			}
		}
	}
}

// "yes" = acted:[k]; "no" = contradicted:[k], where k is the top refused key.
func TestFromGate(t *testing.T) {
	refused := GateReport{Query: "deployment", Gated: true, Mode: "refuse", RefusedKeys: []string{"k", "l"}}
	same(t, "proposal", one(t, producer.FromGate(&refused)), Proposal{
		Agent: "a1", Turn: 12, Kind: Confirmation, Signal: SignalGateRefusal, Source: "confidence_gate", Targets: targets("k"),
		Text:    "I am not sure of what I know about “deployment” (k). Is it still right?",
		Options: []Option{{Label: "yes", Acted: []string{"k"}}, {Label: "no", Contradicted: []string{"k"}}},
	})
	for name, change := range map[string]func(*GateReport){
		"flag mode": func(r *GateReport) { r.Mode = "flag" }, "no mode": func(r *GateReport) { r.Mode = "" }, "not gated": func(r *GateReport) { r.Gated = false },
		"nothing refused": func(r *GateReport) { r.RefusedKeys = nil }, "no key": func(r *GateReport) { r.RefusedKeys = []string{""} },
	} {
		r := refused
		change(&r)
		same(t, name, producer.FromGate(&r), []Proposal(nil))
	}
	same(t, "no report", producer.FromGate(nil), []Proposal(nil))

	// Two refusals under one query are two candidates.
	other := refused
	other.RefusedKeys = []string{"m"}
	p, q := one(t, producer.FromGate(&refused)), one(t, producer.FromGate(&other))
	if q.Repeats(p.candidate(start)) {
		t.Errorf("%q is folded into %q", q.Text, p.Text)
	}

	for query, want := range map[string]string{
		" ":                       "I am not sure of what I know (k). Is it still right?",
		strings.Repeat("ü", 3000): "I am not sure of what I know about “" + strings.Repeat("ü", 199) + "…” (k). Is it still right?",
	} {
		r := refused
		r.Query = query
		same(t, "text", one(t, producer.FromGate(&r)).Text, want)
	}
}

// One option per candidate referent, with empty lists.
func TestFromResolution(t *testing.T) {
	gap := Reference{Status: "evidence_gap", Words: "her", Start: 4, End: 7, Question: "Whom do you mean by her?", Candidates: []string{"Dana", "Eve", "dana", " ?"}}
	same(t, "proposal", one(t, producer.FromResolution(Resolution{"rec:1", []Reference{gap}})), Proposal{
		Agent: "a1", Turn: 12, Kind: Referent, Signal: SignalEvidenceGap, Source: "resolution", Targets: targets("rec:1#ref:4:7"),
		Text: "Whom do you mean by her?", Options: []Option{{Label: "Dana"}, {Label: "Eve"}},
	})
	plain := gap
	plain.Question, plain.Start = " ", 9
	all := producer.FromResolution(Resolution{"rec:1", []Reference{gap, plain}})
	if len(all) != 2 || all[1].Text != "Who or what is “her”?" || all[1].Repeats(all[0].candidate(start)) {
		t.Errorf("got %+v", all)
	}
	for name, change := range map[string]func(*Reference){
		"resolved": func(r *Reference) { r.Status = "resolved" }, "no candidates": func(r *Reference) { r.Candidates = nil },
		"candidates that say nothing": func(r *Reference) { r.Candidates = []string{"", "?"} },
	} {
		r := gap
		change(&r)
		same(t, name, producer.FromResolution(Resolution{"rec:1", []Reference{r}}), []Proposal(nil))
	}
	c := one(t, producer.FromResolution(Resolution{"rec:1", []Reference{gap}})).candidate(start)
	same(t, "effects", c.Effects(0), []Effect(nil))
}

// What producers word themselves says nothing of what the question is about.
func TestProducersLeaveNoCues(t *testing.T) {
	all := append(producer.FromDisjunctions([]Disjoined{{"", Fact{Key: "a"}, Fact{Key: "b"}}}),
		producer.FromGate(&GateReport{Gated: true, Mode: GateRefuse, RefusedKeys: []string{"k"}})...)
	all = append(all, producer.FromResolution(Resolution{"r", []Reference{{Status: EvidenceGap, Words: "it", Candidates: []string{"x"}}}})...)
	for _, p := range all {
		if c := p.candidate(start); len(c.CueTokens) > 0 {
			t.Errorf("%q has the cues %q", p.Text, c.CueTokens)
		}
	}
}
