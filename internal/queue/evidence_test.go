package queue

import (
	"math"
	"slices"
	"testing"
)

// Each observation: n = min(n+1, 20), c = c + (s−c)/(n+1).
func TestEvidence(t *testing.T) {
	near := func(what string, got Evidence, confidence float64, count int) {
		t.Helper()
		if math.Abs(got.Confidence-confidence) > 1e-12 || got.Count != count {
			t.Errorf("%s: got %v, %d; want %v, %d", what, got.Confidence, got.Count, confidence, count)
		}
	}
	e := Evidence{Key: "key"}
	near("one", e.Observed(0.9), 0.5+0.4/2, 1)
	near("two", e.Observed(0.9).Observed(0.9), 0.7+0.2/3, 2)
	near("an answer is three", e.Answered(0.9), 0.5+0.4*(1-1.0/4), 3) // (0.5+0.9+0.9+0.9)/4
	near("a contradiction", e.Answered(0.1), 0.5-0.4*(1-1.0/4), 3)
	near("one of each", e.Answered(0.9).Answered(0.1), (0.5+3*0.9+3*0.1)/7, 6)

	full := Evidence{Confidence: 0.9, Count: 20}
	near("beyond the cap", full.Observed(0.1), 0.9-0.8/21, 20)
	near("before the cap", Evidence{Confidence: 0.9, Count: 19}.Observed(0.1), 0.9-0.8/21, 20)
	for range 1000 {
		full = full.Observed(0.1)
	}
	near("many", full, 0.1, 20)
	near("not above 1", Evidence{Confidence: 1, Count: 1}.Observed(9), 1, 2)
	near("not below 0", Evidence{Confidence: 0, Count: 1}.Observed(-9), 0, 2)
	near("0 is known to be 0", Evidence{Confidence: 0, Count: 3}.Observed(0.9), 0.9/5, 4)
	if e.Answered(0.9).Key != "key" {
		t.Error("the key is lost")
	}
}

// Answers to confirmations count for every key; others only for keys that ask for it.
func TestEffects(t *testing.T) {
	options := []Option{{Acted: []string{"a"}, Contradicted: []string{"b", "c"}}, {Contradicted: []string{"a"}}, {}}
	for _, one := range []struct {
		kind    Kind
		targets []Target
		option  int
		want    []Effect
	}{
		{Confirmation, nil, 0, []Effect{{"a", 0.9}, {"b", 0.1}, {"c", 0.1}}},
		{Confirmation, []Target{{Key: "a"}}, 1, []Effect{{"a", 0.1}}},
		{Confirmation, nil, 2, nil},
		{Disjunction, []Target{{Key: "a"}, {Key: "b"}}, 0, nil},
		{Referent, []Target{{Key: "a"}}, 0, nil},
		{Disjunction, []Target{{Key: "a"}, {"b", true}}, 0, []Effect{{"b", 0.1}}},
		{Referent, []Target{{"a", true}, {"z", true}}, 0, []Effect{{"a", 0.9}}},
	} {
		c := Candidate{Kind: one.kind, Targets: one.targets, Options: options}
		if got := c.Effects(one.option); !slices.Equal(got, one.want) {
			t.Errorf("%s, option %d: got %v, want %v", one.kind, one.option, got, one.want)
		}
	}
}
