package producer

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

const turn = 12

// one gives the only proposal, which the schema and the queue must take.
func one(t *testing.T, all []schema.Proposal) schema.Proposal {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d proposals", len(all))
	}
	if err := proposal(all[0]).Check(); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(all[0])
	if err == nil {
		_, err = schema.Decode[schema.Proposal](raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func proposal(p schema.Proposal) queue.Proposal { return dialect.FromProposal("a1", &p) }

// waiting is the candidate that a proposal becomes, as far as another one is compared with it.
func waiting(p schema.Proposal) queue.Candidate {
	q := proposal(p)
	return queue.Candidate{Text: q.Text, Kind: q.Kind, Signal: q.Signal, Targets: q.Targets, Options: q.Options, Status: queue.Pending}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// A = acted:[a], contradicted:[b]; B is the mirror.
func TestFromDisjunctions(t *testing.T) {
	p := one(t, FromDisjunctions(turn, []Disjoined{{"d1", Fact{"a", "Dana likes mornings"}, Fact{"b", "Dana likes afternoons"}}}))
	same(t, "options", p.Options, []schema.ProposalOption{
		{Label: "Dana likes mornings", Acted: []string{"a"}, Contradicted: []string{"b"}},
		{Label: "Dana likes afternoons", Acted: []string{"b"}, Contradicted: []string{"a"}},
	})
	p.Options = nil
	same(t, "proposal", p, schema.Proposal{
		Turn: 12, Kind: "disjunction", AmbiguitySignal: "disjunction", SourceModule: "reconciliation", DisjunctionID: "d1", TargetKeys: schema.Keys("a", "b"),
		QuestionText: "Two things that I know do not fit together: “Dana likes mornings” and “Dana likes afternoons”. Which is right?",
	})
	same(t, "dormant", FromDisjunctions(turn, []Disjoined{{}, {"d", Fact{Key: "a"}, Fact{}}, {"d", Fact{Key: "a"}, Fact{Key: "a"}}}), []schema.Proposal(nil))
	if got := FromDisjunctions(turn, []Disjoined{{"d1", Fact{Key: "a"}, Fact{Key: "b"}}, {}, {"d2", Fact{Key: "a"}, Fact{Key: "c"}}}); len(got) != 2 {
		t.Errorf("%d of two pairs", len(got))
	}
}

// Statements that cannot be chosen by name are numbered, and the question still says them.
func TestFromDisjunctionsLabels(t *testing.T) {
	long := strings.Repeat("x", queue.MaxLabel)
	for _, c := range []struct{ a, b, labelA, labelB string }{
		{"", "", "Option 1", "Option 2"},
		{"It is", "it IS", "Option 1: It is", "Option 2: it IS"},
		{"Next", "previous", "Option 1: Next", "Option 2: previous"},
		{long + "x", "y", "Option 1", "Option 2: y"},
		{long, "y", long, "y"},
	} {
		p := one(t, FromDisjunctions(turn, []Disjoined{{"d1", Fact{"key:a", c.a}, Fact{"key:b", c.b}}}))
		same(t, "labels", []string{p.Options[0].Label, p.Options[1].Label}, []string{c.labelA, c.labelB})
		said := []string{c.a, c.b}
		if c.a == "" {
			said = []string{"key:a", "key:b"}
		}
		for _, s := range said {
			if !strings.Contains(p.QuestionText, "“"+s+"”") {
				t.Errorf("%q does not say %q", p.QuestionText, s)
			}
		}
	}
}

// "yes" = acted:[k]; "no" = contradicted:[k], where k is the top refused key.
func TestFromGate(t *testing.T) {
	refused := GateReport{Query: "deployment", Gated: true, Mode: "refuse", RefusedKeys: []string{"k", "l"}}
	same(t, "proposal", one(t, FromGate(turn, &refused)), schema.Proposal{
		Turn: 12, Kind: "confirmation", AmbiguitySignal: "gate_refusal", SourceModule: "confidence_gate", TargetKeys: schema.Keys("k"),
		QuestionText: "I am not sure of what I know about “deployment” (k). Is it still right?",
		Options:      []schema.ProposalOption{{Label: "yes", Acted: []string{"k"}}, {Label: "no", Contradicted: []string{"k"}}},
	})
	for name, change := range map[string]func(*GateReport){
		"flag mode": func(r *GateReport) { r.Mode = "flag" }, "no mode": func(r *GateReport) { r.Mode = "" }, "not gated": func(r *GateReport) { r.Gated = false },
		"nothing refused": func(r *GateReport) { r.RefusedKeys = nil }, "no key": func(r *GateReport) { r.RefusedKeys = []string{""} },
	} {
		r := refused
		change(&r)
		same(t, name, FromGate(turn, &r), []schema.Proposal(nil))
	}
	same(t, "no report", FromGate(turn, nil), []schema.Proposal(nil))

	// Two refusals under one query are two candidates.
	other := refused
	other.RefusedKeys = []string{"m"}
	p, q := one(t, FromGate(turn, &refused)), one(t, FromGate(turn, &other))
	if proposal(q).Repeats(waiting(p)) {
		t.Errorf("%q is folded into %q", q.QuestionText, p.QuestionText)
	}

	for query, want := range map[string]string{
		" ":                       "I am not sure of what I know (k). Is it still right?",
		strings.Repeat("ü", 3000): "I am not sure of what I know about “" + strings.Repeat("ü", 199) + "…” (k). Is it still right?",
	} {
		r := refused
		r.Query = query
		same(t, "text", one(t, FromGate(turn, &r)).QuestionText, want)
	}
}

// One option per candidate referent, with empty lists.
func TestFromResolution(t *testing.T) {
	gap := Reference{Status: "evidence_gap", Words: "her", Start: 4, End: 7, Question: "Whom do you mean by her?", Candidates: []string{"Dana", "Eve", "dana", " ?"}}
	same(t, "proposal", one(t, FromResolution(turn, Resolution{"rec:1", []Reference{gap}})), schema.Proposal{
		Turn: 12, Kind: "referent", AmbiguitySignal: "evidence_gap", SourceModule: "resolution", TargetKeys: schema.Keys("rec:1#ref:4:7"),
		QuestionText: "Whom do you mean by her?", Options: []schema.ProposalOption{{Label: "Dana"}, {Label: "Eve"}},
	})
	plain := gap
	plain.Question, plain.Start = " ", 9
	all := FromResolution(turn, Resolution{"rec:1", []Reference{gap, plain}})
	if len(all) != 2 || all[1].QuestionText != "Who or what is “her”?" || proposal(all[1]).Repeats(waiting(all[0])) {
		t.Errorf("got %+v", all)
	}
	for name, change := range map[string]func(*Reference){
		"resolved": func(r *Reference) { r.Status = "resolved" }, "no candidates": func(r *Reference) { r.Candidates = nil },
		"candidates that say nothing": func(r *Reference) { r.Candidates = []string{"", "?"} },
	} {
		r := gap
		change(&r)
		same(t, name, FromResolution(turn, Resolution{"rec:1", []Reference{r}}), []schema.Proposal(nil))
	}
	c := waiting(one(t, FromResolution(turn, Resolution{"rec:1", []Reference{gap}})))
	same(t, "effects", c.Effects(0), []queue.Effect(nil))
}

// What producers word themselves says nothing of what the question is about.
func TestProducersLeaveNoCues(t *testing.T) {
	all := append(FromDisjunctions(turn, []Disjoined{{"", Fact{Key: "a"}, Fact{Key: "b"}}}),
		FromGate(turn, &GateReport{Gated: true, Mode: GateRefuse, RefusedKeys: []string{"k"}})...)
	all = append(all, FromResolution(turn, Resolution{"r", []Reference{{Status: EvidenceGap, Words: "it", Candidates: []string{"x"}}}})...)
	for _, p := range all {
		said := []string{p.QuestionText}
		for _, o := range p.Options {
			said = append(said, o.Label)
		}
		if cues := queue.CueTokens(said...); len(cues) > 0 {
			t.Errorf("%q has the cues %q", p.QuestionText, cues)
		}
	}
}
