package dialect

import (
	"fmt"
	"regexp"
	"strconv"

	"superpipeline.dev/question-bridge/bridge"
)

// warnings tells the asker what people could misread. The question is asked all the same; an ambiguous reply is refused.
func warnings(q bridge.Question) []string {
	var out []string
	for i, item := range q.Items {
		at := ""
		if len(q.Items) > 1 {
			at = fmt.Sprintf("item %d: ", i+1)
		}
		for _, w := range append(collisions(item.Options), lookalikes(item)...) {
			out = append(out, at+w)
		}
	}
	return out
}

// collisions names every two options that one reply would name both, by label, id or number.
func collisions(options []bridge.Option) []string {
	type pair struct{ a, b int }
	seen := map[pair]bool{}
	var out []string
	for i, o := range options {
		for _, text := range []string{o.Label, string(o.ID), strconv.Itoa(i + 1)} {
			for _, p := range namedBy(options, text) {
				two := pair{min(i, p), max(i, p)}
				if p != i && !seen[two] {
					seen[two] = true
					out = append(out, fmt.Sprintf("options %d and %d read alike: a reply that names both by label, value or number is refused as ambiguous", two.a+1, two.b+1))
				}
			}
		}
	}
	return out
}

func namedBy(options []bridge.Option, text string) []int {
	switch m := bridge.Match(options, text).(type) {
	case bridge.OneMatch:
		return []int{m.Index}
	case bridge.Ambiguous:
		return m.Indexes
	default:
		return nil
	}
}

var (
	optionLine = regexp.MustCompile(`^[0-9]{1,2} ?[.):]`)
	lineBreak  = regexp.MustCompile(`\r\n|[\n\r\v\f\x{85}\x{2028}\x{2029}]`)
)

// lookalikes finds lines of the question's text that a reader could take for one of its options.
func lookalikes(item bridge.Item) []string {
	if len(item.Options) == 0 {
		return nil
	}
	var out []string
	for i, line := range lineBreak.Split(item.Prompt, -1) {
		if optionLine.MatchString(bridge.Fold(line)) {
			out = append(out, fmt.Sprintf("line %d of the question's text looks like an option", i+1))
		}
	}
	return out
}
