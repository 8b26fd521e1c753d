package schema_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

var ajvBite = flag.Bool("ajv.bite", false, "change every rule of the schema on ajv's side, not only a few")

// TestAJVComparisonBites gives ajv schemas in which one rule is changed, each rule in turn, and demands that the
// comparison notices. All of them take minutes, so only `make soak` asks for that, by -ajv.bite; else it is a few.
func TestAJVComparisonBites(t *testing.T) {
	raw, err := schema.JSON("question.v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var verdicts []ourVerdict
	documents := slices.Collect(newMutator(t).documents(*ajvDocuments))
	for _, m := range documents {
		our, err := ours(m.doc)
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, our)
	}
	file := filepath.Join(t.TempDir(), "changed.json")
	changes := slices.DeleteFunc(changesOf(doc, ""), func(c change) bool { return c.what == sameAnyway })
	if !*ajvBite {
		few := changes[:0]
		for i := 0; i < len(changes); i += 40 {
			few = append(few, changes[i])
		}
		changes = few
	}
	for _, c := range changes {
		c.do()
		changed, err := json.Marshal(doc)
		c.undo()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		noticed := false
		askAJV(t, file, slices.Values(documents), func(m mutant, ajv ajvVerdict) bool {
			for _, d := range compare(m.doc, verdicts[m.n-1], ajv) {
				if _, ok := explained(d); !ok {
					noticed = true
				}
			}
			return !noticed
		})
		if !noticed {
			t.Errorf("nobody notices: %s", c.what)
		}
	}
	t.Logf("%d changes of the schema", len(changes))
}

// sameAnyway is a change that nobody could notice: an option without a meaning is refused for that, and so by the same
// keyword at the same place as for its missing requires.
const sameAnyway = "/allOf/1/then/properties/options/items/if/required is [] instead of [meaning]"

// change is one rule of a schema made different.
type change struct {
	what     string
	do, undo func()
}

// changesOf lists the changes worth making to a schema and to those inside it.
func changesOf(s map[string]any, at string) []change {
	var all []change
	put := func(keyword string, value any) {
		old := s[keyword]
		all = append(all, change{
			what: fmt.Sprintf("%s/%s is %v instead of %v", at, keyword, value, old),
			do: func() {
				if s[keyword] = value; value == nil {
					delete(s, keyword)
				}
			},
			undo: func() { s[keyword] = old },
		})
	}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		here := at + "/" + keyword
		switch value := s[keyword].(type) {
		case float64:
			put(keyword, value+1)
			if value > 0 {
				put(keyword, value-1)
			}
		case string:
			if keyword == "type" || keyword == "pattern" || keyword == "format" || keyword == "const" {
				put(keyword, nil)
			}
		case []any:
			switch keyword {
			case "type":
				put(keyword, nil)
			case "required", "enum", "x-uniqueBy":
				if keyword == "enum" {
					put(keyword, append(slices.Clone(value), "x"))
				}
				for i := range value {
					if rest := slices.Delete(slices.Clone(value), i, i+1); len(rest) > 0 || keyword != "enum" {
						put(keyword, rest)
					}
				}
			case "allOf", "oneOf":
				for i, sub := range value {
					all = append(all, changesOf(sub.(map[string]any), fmt.Sprintf("%s/%d", here, i))...)
				}
			}
		case map[string]any:
			switch keyword {
			case "properties":
				for _, name := range slices.Sorted(maps.Keys(value)) {
					all = append(all, changesOf(value[name].(map[string]any), here+"/"+name)...)
				}
				continue
			case "then", "else":
				put(keyword, map[string]any{})
			case "not":
				put(keyword, nil)
			}
			all = append(all, changesOf(value, here)...)
		}
	}
	return all
}
