package shortid

import (
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	seen, used := map[string]bool{}, map[rune]bool{}
	for range 2000 {
		id := New('d')
		if got, ok := Parse('d', strings.ToUpper(id)); !ok || got != id {
			t.Fatalf("%q is read as %q, %v", id, got, ok)
		}
		seen[id] = true
		for _, c := range id[1:] {
			used[c] = true
		}
	}
	if len(seen) < 1990 || len(used) != len(letters) {
		t.Errorf("%d different ids of %d letters", len(seen), len(used))
	}
}

func TestParse(t *testing.T) {
	for typed, want := range map[string]bool{
		"d7k2m9": true, "D7K2M9": true, "g7k2m9": false, "d7k2m": false, "d7k2m99": false, "d7k2m0": false, "d7k2mo": false, "d7k2m1": false,
		"d7k2ml": false, "d7k2mi": false, "": false, "d": false, "d7k 2m": false, "ḋ7k2m": false,
	} {
		if got, ok := Parse('d', typed); ok != want || !ok && got != "" && len(got) < 6 {
			t.Errorf("%q is read as %q, %v", typed, got, ok)
		}
	}
}
