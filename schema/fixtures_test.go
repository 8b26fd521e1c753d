package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"superpipeline.dev/question-bridge/fixtures"
	"superpipeline.dev/question-bridge/schema"
)

// example is one case of any of the files in fixtures/matrix-events. Content keeps its bytes.
type example struct {
	Case      string
	Content   json.RawMessage
	RefusedBy schema.Rule `json:"refused_by"`
	Why       string
	Expect    struct {
		Location string `json:"instance_location"`
		Keyword  string
	}
	Sends         map[string]json.RawMessage
	Drops         []string
	Body          string
	FormattedBody string `json:"formatted_body"`
}

type examples struct{ Valid, Refused []example }

func readFixture[T any](tb testing.TB, name string) T {
	tb.Helper()
	raw, err := fixtures.FS.ReadFile("matrix-events/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func readExamples(tb testing.TB) examples {
	return readFixture[map[string]examples](tb, "examples.json")[schema.EventType]
}

func readBuilt(tb testing.TB) examples {
	return readFixture[map[string]examples](tb, "built.json")[schema.EventType+"/built"]
}

func readBodies(tb testing.TB) []example { return readFixture[[]example](tb, "bodies.json") }

// find gives the valid example with a name.
func (x examples) find(t *testing.T, name string) example {
	t.Helper()
	i := slices.IndexFunc(x.Valid, func(c example) bool { return c.Case == name })
	if i < 0 {
		t.Fatalf("no example %q", name)
	}
	return x.Valid[i]
}

func decodeEvent(raw []byte) (*schema.Elicitation, error) {
	return schema.Decode[schema.Elicitation](raw)
}

// decodeDraft reads an event that may lack its body.
func decodeDraft(tb testing.TB, raw []byte) *schema.Elicitation {
	tb.Helper()
	d, err := schema.Decode[schema.Draft](raw)
	if err != nil {
		tb.Fatal(err)
	}
	return &d.Elicitation
}

// faultsOf gives the faults of a refusal; any other error fails the test.
func faultsOf(tb testing.TB, err error) []schema.Fault {
	tb.Helper()
	var r *schema.Refusal
	if !errors.As(err, &r) || len(r.Faults) == 0 {
		tb.Fatalf("error is %v (%T), not a Refusal with a fault", err, err)
	}
	return r.Faults
}

// checkRefused wants one fault that has rule, location and keyword together, and no earlier rule to have refused.
func checkRefused(tb testing.TB, err error, rule schema.Rule, location, keyword string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("accepted; want %s %q %s", rule, location, keyword)
		return
	}
	faults := faultsOf(tb, err)
	found := slices.ContainsFunc(faults, func(f schema.Fault) bool {
		return f.Rule == rule && f.Location == location && f.Keyword == keyword
	})
	if !found || faults[0].Rule != rule {
		tb.Errorf("got %s\nwant %s %q %s", list(faults), rule, location, keyword)
	}
}

func list(faults []schema.Fault) string {
	out := ""
	for _, f := range faults {
		out += fmt.Sprintf("\n  %s %q %s: %s", f.Rule, f.Location, f.Keyword, f.Reason)
	}
	return out
}
