package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	ajvDocuments = flag.Int("ajv.n", 12000, "how many documents to compare with ajv on")
	ajvSeed      = flag.Uint64("ajv.seed", 20261101, "the seed of the mutations that are compared with ajv on")
)

// TestAgreesWithAJV gives mutated question.v2 events to Decode and to ajv, and fails on every disagreement that is not
// in the list of differences.
func TestAgreesWithAJV(t *testing.T) {
	total, failures, tally := 0, 0, map[string]int{}
	askAJV(t, ourSchema, newMutator(t).documents(*ajvDocuments), func(m mutant, ajv ajvVerdict) bool {
		total++
		our, err := ours(m.doc)
		if err != nil {
			t.Errorf("%s: %v\n  %q", m, err, m.doc)
			return true
		}
		tally[verdictName(our)]++
		names := map[string]bool{}
		for _, d := range compare(m.doc, our, ajv) {
			if name, ok := explained(d); ok {
				names[name] = true
				continue
			}
			if failures++; failures <= 5 {
				t.Errorf("%s of seed %d: %s", m, *ajvSeed, d)
			}
		}
		for name := range names {
			tally["difference: "+name]++
		}
		return true
	})
	if failures > 5 {
		t.Errorf("and %d more disagreements", failures-5)
	}
	if total != *ajvDocuments {
		t.Errorf("compared %d documents, want %d", total, *ajvDocuments)
	}
	for _, name := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%7d  %s", tally[name], name)
	}
	for _, verdict := range []string{"accepted", "refused by json", "refused by schema", "refused by unique"} {
		if tally[verdict] < total/500 {
			t.Errorf("only %d of %d documents were %s: the mutations no longer reach it", tally[verdict], total, verdict)
		}
	}
}

func verdictName(v ourVerdict) string {
	if v.refusal == nil {
		return "accepted"
	}
	return "refused by " + string(v.rule())
}

// TestAJVDifferencesShow proves that each entry of the list of differences is still a difference.
func TestAJVDifferencesShow(t *testing.T) {
	documents := func(yield func(mutant) bool) {
		for i, d := range differences {
			if !yield(mutant{[]byte(d.example), i, []string{d.name}}) {
				return
			}
		}
	}
	askAJV(t, ourSchema, documents, func(m mutant, ajv ajvVerdict) bool {
		our, err := ours(m.doc)
		if err != nil {
			t.Fatal(err)
		}
		found := compare(m.doc, our, ajv)
		if !slices.ContainsFunc(found, differences[m.n].explains) {
			t.Errorf("%q no longer shows on its example; disagreements there: %v", differences[m.n].name, found)
		}
		for _, d := range found {
			if _, ok := explained(d); !ok {
				t.Errorf("the example of %q disagrees in another way too: %s", differences[m.n].name, d)
			}
		}
		return true
	})
}

// TestAJVDifferencesAreWritten keeps docs/validation.md and the list of differences the same.
func TestAJVDifferencesAreWritten(t *testing.T) {
	page, err := os.ReadFile("../docs/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Where we and ajv differ\n")
	if !found {
		t.Fatal(`docs/validation.md has no section "Where we and ajv differ"`)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var written []string
	for line := range strings.Lines(section) {
		if cell, ok := strings.CutPrefix(line, "| **"); ok {
			name, _, _ := strings.Cut(cell, "**")
			written = append(written, name)
		}
	}
	var listed []string
	for _, d := range differences {
		listed = append(listed, d.name)
	}
	if !slices.Equal(written, listed) {
		t.Errorf("docs/validation.md lists %q,\nthe test lists %q", written, listed)
	}
}

// TestAJVIsPinned keeps exact versions, and no download addresses, in what npm reads.
func TestAJVIsPinned(t *testing.T) {
	raw, err := os.ReadFile("ajv/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"ajv": "8.20.0", "ajv-formats": "3.0.1"}
	if !maps.Equal(manifest.Dependencies, want) {
		t.Errorf("ajv/package.json depends on %v, want exactly %v", manifest.Dependencies, want)
	}
	lock, err := os.ReadFile("ajv/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) {
		t.Error("ajv/package-lock.json holds download addresses: keep ajv/.npmrc beside it and run `npm install` again")
	}
}
