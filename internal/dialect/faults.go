package dialect

import (
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/schema"
)

// faults collects what is wrong with an ask beyond what its own decoding found.
type faults []schema.Fault

func (f *faults) noNUL(location, text string) {
	if strings.ContainsRune(text, 0) {
		*f = append(*f, schema.Fault{
			Rule: schema.RuleNUL, Location: location, Keyword: string(schema.RuleNUL), Reason: "holds the character U+0000",
		})
	}
}

func (f faults) refuse() error {
	if len(f) == 0 {
		return nil
	}
	return &schema.Refusal{Faults: f}
}

// relocate makes a refusal of a built event point into the ask it was built from.
func relocate(r *schema.Refusal, in func(location string) string) *schema.Refusal {
	out := &schema.Refusal{More: r.More}
	for _, f := range r.Faults {
		f.Location = in(f.Location)
		same := func(g schema.Fault) bool { return g.Rule == f.Rule && g.Location == f.Location && g.Reason == f.Reason }
		if !slices.ContainsFunc(out.Faults, same) {
			out.Faults = append(out.Faults, f)
		}
	}
	return out
}
