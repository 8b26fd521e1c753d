package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"superpipeline.dev/question-bridge/internal/measure"
)

// BenchmarkDecodeAgainstTheValidatorAlone decodes the corpus's valid events in slices that take turns with jsonschema
// v6 alone (its own UnmarshalJSON and Validate of the same schema).
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
	measure.Compare(b.Loop, func() float64 { return slice(events, ours) }, func() float64 { return slice(events, theirs) }).
		Report(b, "decode and validate one question.v2 event; limit: the validator alone", measure.Goal{}, measure.Micros)
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

// slice gives seconds per event over enough rounds to be worth timing.
func slice(events [][]byte, f func([]byte)) float64 {
	const rounds = 10
	return measure.Seconds(func() {
		for range rounds {
			for _, raw := range events {
				f(raw)
			}
		}
	}) / float64(rounds*len(events))
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
