package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// BenchmarkDecodeAgainstTheValidatorAlone decodes the corpus's valid events in slices that take turns with jsonschema
// v6 alone (its own UnmarshalJSON and Validate of the same schema), so both see the same machine. It reports the median
// of the slices' ratios: time of ours over time of theirs.
func BenchmarkDecodeAgainstTheValidatorAlone(b *testing.B) {
	events := validEvents(b)
	s := elicitationSchema()
	ours := func(raw []byte) {
		if _, err := Decode[Elicitation](raw); err != nil {
			b.Fatal(err)
		}
	}
	theirs := func(raw []byte) {
		tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Validate(tree); err != nil {
			b.Fatal(err)
		}
	}
	var ratios, ourNS, theirNS []float64
	for b.Loop() {
		a, z := slice(events, ours), slice(events, theirs)
		ratios = append(ratios, a/z)
		ourNS, theirNS = append(ourNS, a), append(theirNS, z)
	}
	b.ReportMetric(0, "ns/op") // a slice is no operation
	b.ReportMetric(median(ourNS), "ns/event")
	b.ReportMetric(median(theirNS), "ns/event-v6")
	b.ReportMetric(median(ratios), "ratio")
}

// BenchmarkBodies renders both bodies of the corpus's valid events.
func BenchmarkBodies(b *testing.B) {
	var events []*Elicitation
	for _, raw := range validEvents(b) {
		e, err := Decode[Elicitation](raw)
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, e)
	}
	i := 0
	for b.Loop() {
		e := events[i%len(events)]
		i++
		_, _ = e.TextBody(), e.HTMLBody()
	}
}

// slice gives nanoseconds per event over enough rounds to be worth timing.
func slice(events [][]byte, f func([]byte)) float64 {
	const rounds = 50
	start := time.Now()
	for range rounds {
		for _, raw := range events {
			f(raw)
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(rounds*len(events))
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// validEvents reads the corpus's 8 valid events, compact, as they travel.
func validEvents(b *testing.B) [][]byte {
	b.Helper()
	raw, err := os.ReadFile("../fixtures/matrix-events/examples.json")
	if err != nil {
		b.Fatal(err)
	}
	var corpus map[string]struct {
		Valid []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		b.Fatal(err)
	}
	var out [][]byte
	for _, c := range corpus[EventType].Valid[:8] {
		var buf bytes.Buffer
		if err := json.Compact(&buf, c.Content); err != nil {
			b.Fatal(err)
		}
		out = append(out, buf.Bytes())
	}
	return out
}
