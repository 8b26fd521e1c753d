package queue

import (
	"math"
	"slices"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func TestGate(t *testing.T) {
	for _, one := range []struct {
		signal     Signal
		seen, turn Turn
		want       bool
	}{
		{SignalDisjunction, 10, 10, true}, {SignalGateRefusal, 10, 15, true}, {SignalEvidenceGap, 10, 15, true}, {SignalDisjunction, 10, 16, false},
		{SignalDisjunction, 10, 9, false}, // used in the future
		{"judge_abstention", 10, 10, false}, {"", 10, 10, false},
	} {
		if got := (Candidate{Signal: one.signal, LastSeenTurn: one.seen}).Gate(one.turn); got != one.want {
			t.Errorf("%q, seen on turn %d, on turn %d: got %t", one.signal, one.seen, one.turn, got)
		}
	}
}

func candidateIn(status Status) Candidate {
	c := Candidate{Status: status, Signal: SignalDisjunction, ExpiresTurn: ExpiryTurns, LastSeenTurn: 18}
	delivered, until, resolved := Turn(3), Turn(20), Turn(9)
	switch status {
	case Delivered:
		c.DeliveredTurn = &delivered
	case Cooled:
		c.CooldownUntil, c.ResolvedTurn = &until, &resolved
	case Answered, Expired:
		c.ResolvedTurn = &resolved
	}
	return c
}

// What is true of each status, on the turns around its limit.
func TestStatuses(t *testing.T) {
	for _, one := range []struct {
		name  string
		true  func(Candidate, Turn) bool
		turns map[Status][]Turn // the first and the last turn on which it is true, of the turns 0 to 600
	}{
		{"deliverable", Candidate.Deliverable, map[Status][]Turn{Pending: {18, 20}, Cooled: {20, 20}}},
		{"lapsed", Candidate.Lapsed, map[Status][]Turn{Pending: {21, 600}, Cooled: {21, 600}}},
		{"ignored", Candidate.Ignored, map[Status][]Turn{Delivered: {13, 600}}},
		{"kept", Candidate.Kept, map[Status][]Turn{Pending: {0, 518}, Delivered: {0, 518}, Answered: {0, 509}, Cooled: {0, 509}, Expired: {0, 509}}},
		{"open", func(c Candidate, _ Turn) bool { return c.Open() }, map[Status][]Turn{Pending: {0, 600}, Delivered: {0, 600}, Cooled: {0, 600}}},
	} {
		for _, status := range []Status{Pending, Delivered, Answered, Cooled, Expired} {
			c := candidateIn(status)
			for turn := range Turn(601) {
				span, ok := one.turns[status]
				if want := ok && turn >= span[0] && turn <= span[1]; one.true(c, turn) != want {
					t.Errorf("%s is %s on turn %d: %t", status, one.name, turn, !want)
				}
			}
		}
	}
}

func TestEqual(t *testing.T) {
	c := Candidate{Agent: "a", Kind: Disjunction, Text: "Is it?", Options: labels("Yes", "no"), Targets: []Target{{Key: "a"}}}
	same := Candidate{Agent: "b", Kind: Disjunction, Text: "is  it", Options: labels("yes!", "No"), Targets: []Target{{Key: "b"}}}
	if !c.Equal(same) || !same.Equal(c) {
		t.Error("case, punctuation, agent and keys count")
	}
	for name, change := range map[string]func(*Candidate){
		"kind": func(c *Candidate) { c.Kind = Referent }, "text": func(c *Candidate) { c.Text = "is he" },
		"order": func(c *Candidate) { c.Options = labels("no", "yes") }, "options": func(c *Candidate) { c.Options = labels("yes") },
	} {
		other := same
		if change(&other); c.Equal(other) {
			t.Errorf("another %s does not count", name)
		}
	}
}

func TestCueTokens(t *testing.T) {
	for _, one := range []struct {
		texts, want []string
	}{
		{[]string{"Does Dana prefer MORNING or afternoon meetings?", "morning", "10am"}, []string{"10am", "afternoon", "dana", "meetings", "morning", "prefer"}},
		{[]string{"an ox of it", "the and WHICH"}, []string{}},
		{[]string{"db-migration_2 x86"}, []string{"migration", "x86"}},
		{nil, []string{}},
	} {
		got := CueTokens(one.texts...)
		if !slices.Equal(got, one.want) || got == nil {
			t.Errorf("%q: got %q", one.texts, got)
		}
	}
}

// Cues without a token are not the same as none: those match everything.
func TestRelevant(t *testing.T) {
	c := Candidate{CueTokens: CueTokens("Morning meetings")}
	for _, one := range []struct {
		cues []string
		want bool
	}{
		{nil, true}, {CueTokens(""), false}, {CueTokens("a morning with Dana"), true}, {CueTokens("mornings"), false}, {[]string{"zzz", "meetings"}, true},
	} {
		if got := c.Relevant(one.cues); got != one.want {
			t.Errorf("%q: got %t", one.cues, got)
		}
	}
	if (Candidate{}).Relevant([]string{"x"}) || !(Candidate{}).Relevant(nil) {
		t.Error("a candidate without tokens is relevant when nobody asks, and only then")
	}
}

func TestTurnLimits(t *testing.T) {
	for turn, want := range map[Turn]bridge.Code{-1: CodeInvalidTurn, 0: "", MaxTurn: "", MaxTurn + 1: CodeInvalidTurn, math.MaxInt64: CodeInvalidTurn} {
		if got := bridge.CodeOf(turn.Check()); got != want {
			t.Errorf("turn %d: got %q", turn, got)
		}
	}
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
