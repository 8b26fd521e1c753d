package bridge_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// FuzzMatch holds the reply reader against the plainest way to write its rule: every text that names an option is written
// down, and the reply must be one of them.
func FuzzMatch(f *testing.F) {
	for _, text := range []string{"2", "2.", "2)", "2: skip them", "SKIP  them.", "2 run the tests", "２", "2nd", "1 2", "12", "..", "1.2", "2️⃣"} {
		f.Add("Run the tests", "Skip them", "run", "2.", text)
		f.Add("1", "2", "2", "1", text)
		f.Add("3.", "a: b", "x", "ẞ", text)
	}
	f.Fuzz(func(t *testing.T, label1, label2, id1, id2, text string) {
		options := []bridge.Option{{ID: bridge.OptionID(id1), Label: label1}, {ID: bridge.OptionID(id2), Label: label2}}
		got, want := namedBy(bridge.Match(options, text)), plainly(options, text)
		if !slices.Equal(got, want) {
			t.Errorf("%q names %v of %q/%q and %q/%q, want %v", text, got, label1, id1, label2, id2, want)
		}
		for i, o := range options {
			if bridge.Fold(o.Label) != "" && len(o.Label) < 1000 && !slices.Contains(namedBy(bridge.Match(options, o.Label)), i) {
				t.Errorf("its own label %q does not name it", o.Label)
			}
			if !slices.Contains(namedBy(bridge.Match(options, strconv.Itoa(i+1))), i) {
				t.Errorf("its own number does not name option %d", i+1)
			}
		}
	})
}

func namedBy(m bridge.Matched) []int {
	switch m := m.(type) {
	case bridge.OneMatch:
		return []int{m.Index}
	case bridge.Ambiguous:
		return m.Indexes
	}
	return nil
}

// plainly is which options a text names, for options that take nothing typed.
func plainly(options []bridge.Option, text string) (named []int) {
	whole := bridge.Fold(text)
	if whole == "" || len(text) > 16000 {
		return nil
	}
	texts := []string{whole}
	if cut, ok := strings.CutSuffix(whole, "."); ok && !slices.ContainsFunc(options, func(o bridge.Option) bool {
		return strings.HasSuffix(bridge.Fold(o.Label), ".")
	}) {
		texts = []string{strings.TrimSuffix(cut, " ")}
	}
	for i, o := range options {
		label, id := bridge.Fold(o.Label), bridge.Fold(string(o.ID))
		writings := []string{label, id}
		for j := range options {
			number := strconv.Itoa(j + 1)
			for k, other := range options {
				if j != i && k != i || bridge.Fold(other.Label) == "" {
					continue // the number or the label is this option's
				}
				for _, between := range []string{" ", ".", ")", ":", ". ", ") ", ": "} {
					writings = append(writings, number+between+bridge.Fold(other.Label))
				}
			}
			if j == i {
				writings = append(writings, number, number+".", number+")", number+":")
			}
		}
		for _, text := range texts {
			if text != "" && slices.Contains(writings, text) {
				named = append(named, i)
				break
			}
		}
	}
	return named
}

// FuzzFold: folding once is folding for good, and leaves no white space at the ends.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Ｓｋｉｐ", "ſ", "İ", "ẞ", "2️⃣", "2️⃣️⃣", "٢", "a\u0301", "\u00a02\u3000", "\u200f2", "ΐ", "ﬀ", "ͅα", "²", "Ꭺ", "ꭺ", "e\u200d\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd") // as JSON is read
		once := bridge.Fold(s)
		if twice := bridge.Fold(once); twice != once {
			t.Errorf("%q becomes %+q, then %+q", s, once, twice)
		}
		if strings.TrimSpace(once) != once {
			t.Errorf("%q becomes %q", s, once)
		}
	})
}
