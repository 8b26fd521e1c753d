package bridge

import (
	"fmt"
	"testing"
)

func options(labels ...string) []Option {
	var out []Option
	for i, l := range labels {
		out = append(out, Option{ID: OptionID(fmt.Sprintf("opt_%c", 'a'+i)), Label: l, Meaning: Choose})
	}
	return out
}

// tests is the question of the field cases: three options, of which the last takes a text.
func tests() []Option {
	return []Option{
		{ID: "run_them", Label: "Run the tests", Meaning: Choose},
		{ID: "skip", Label: "Skip them", Meaning: Choose},
		{ID: "other", Label: "Something else", Meaning: Choose, Input: &Input{Kind: "text", Required: true, MaxLength: 500}},
	}
}

func describe(m Matched) string {
	switch m := m.(type) {
	case OneMatch:
		if m.Rest != nil {
			return fmt.Sprintf("%d: %s", m.Index+1, *m.Rest)
		}
		return fmt.Sprint(m.Index + 1)
	case Ambiguous:
		return "ambiguous"
	case OutOfRange:
		return "out of range"
	default:
		return "no"
	}
}

func checkMatches(t *testing.T, opts []Option, want map[string]string) {
	t.Helper()
	for text, w := range want {
		if got := describe(Match(opts, text)); got != w {
			t.Errorf("%q is %s, want %s", text, got, w)
		}
	}
}

func TestMatch(t *testing.T) {
	checkMatches(t, tests(), map[string]string{
		"2": "2", "2.": "2", "2)": "2", "2:": "2", " 2 ": "2", "skip": "2", "SKIP THEM": "2", "Skip them.": "2",
		"2. Skip them": "2", "2) skip them": "2", "2 Skip them.": "2", "run_them": "1", "2: Skip them": "2",
		"2. Run the tests": "ambiguous", "4": "out of range", "0": "out of range", "22.": "out of range", "99999999999999999999": "out of range",
		"": "no", " ": "no", ".": "no", "02": "out of range", "2nd": "no", "-2": "no", "2 3": "no", "1, 2": "no", "* 2": "no",
		"the second": "no", "2 because": "no", "2: because": "no", "skip it": "no",
		"3": "3", "3: use a mirror": "3: use a mirror", "3) use a mirror": "3: use a mirror", "3. use a mirror": "3: use a mirror",
		"3\nuse a mirror": "3: use a mirror", "Something else: a: b": "3: a: b", "3 use a mirror": "no", "3 : use a mirror": "no",
		"other: 2": "3: 2", "something else\n\n1. Run the tests": "3: 1. Run the tests",
	})
}

// Field case A22, inbound: invisible and full-width characters around the digit.
func TestA22Inbound(t *testing.T) {
	checkMatches(t, tests(), map[string]string{
		"\u200f2\u200f": "2", "2\u200b": "2", "\u20682\u2069": "2", "\ufeff2": "2", "\u00a02\u3000": "2", "２": "2", "２．": "2", "٢": "2",
		"²": "no", "Skip\u200b them": "2", "SKIP THEM": "2", "Skip\u00a0them": "2", "2️⃣": "2", "2⃣": "2", "𝟚": "2",
	})
}

// Field case A6: the same keycap is several different strings, and other keys are none of them.
func TestA6Keys(t *testing.T) {
	checkMatches(t, tests(), map[string]string{
		"2️⃣": "2", "2⃣": "2", "2": "2", "Skip them": "2", "#️⃣": "no", "0️⃣": "out of range", "4️⃣": "out of range", "22": "out of range",
		"🔟": "no", "mxc://ex.org/abc": "no", "👍": "no", "👍🏽": "no",
	})
}

// Field case B6: "yes" or a number inside another sentence.
func TestB6(t *testing.T) {
	checkMatches(t, options("Approve", "Deny"), map[string]string{
		"no, don't approve": "no", "disallow": "no", "not ok": "no", "Approve? never": "no", "I would approve if tests passed": "no",
		"2 of the tests failed, why?": "no", "ok": "no", "yes": "no", "Approve\nor not": "no", "approve it": "no", `"Approve"`: "no",
		"Approve.": "1", "**Approve**": "no", "approve": "1",
	})
}

// Field case B14: labels that are numbers, or equal after folding.
func TestB14(t *testing.T) {
	checkMatches(t, options("2", "1"), map[string]string{"2": "ambiguous", "1": "ambiguous", "opt_a": "1"})
	checkMatches(t, options("10", "20"), map[string]string{"1": "1", "10": "1", "2": "2", "20": "2", "3": "out of range"})
	checkMatches(t, options("Deploy", "deploy "), map[string]string{"deploy": "ambiguous", "Deploy": "ambiguous", "2": "2"})
	checkMatches(t, options("C", "C#", "C++"), map[string]string{"C#": "2", "c": "1", "c++": "3"})
	checkMatches(t, options("caf\u00e9", "cafe\u0301"), map[string]string{"café": "ambiguous", "1": "1"})
	checkMatches(t, options("Straße", "STRASSE"), map[string]string{"strasse": "ambiguous", "2": "2"})
	checkMatches(t, options("Yes", "yes"), map[string]string{"YES": "ambiguous", "1": "1"})
	checkMatches(t, options("Stop.", "Go"), map[string]string{"Stop.": "1", "Stop": "no", "Go.": "no", "Go": "2"})
}

// Field case B15: options called like a command.
func TestB15(t *testing.T) {
	checkMatches(t, options("Run", "Skip"), map[string]string{"skip": "2", "/skip": "no", "cancel": "no"})
	checkMatches(t, options("Run", "Pass"), map[string]string{"pass": "2"})
	named := tests()
	named[1].ID = "skip_them"
	checkMatches(t, named, map[string]string{"skip": "no"})
}

// What looks the same is the same, however it was typed: with invisible characters in it, or in another case.
func TestFoldIsForGood(t *testing.T) {
	for _, same := range [][]string{{"é", "e\u0301", "e\u200d\u0301", "E\ufe0f\u0301"}, {"Ꭺ", "ꭺ"}, {"2", "2️⃣", "2️⃣️⃣"}, {"Straße", "STRASSE"}} {
		for _, s := range same {
			if got := Fold(s); got != Fold(same[0]) || got != Fold(got) {
				t.Errorf("%+q is folded to %+q, %q to %+q", s, got, same[0], Fold(same[0]))
			}
		}
	}
}
