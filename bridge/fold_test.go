package bridge

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Plain ASCII takes a shorter way through Fold, to the same end.
func TestFoldOfASCII(t *testing.T) {
	for range 2000 {
		text := make([]byte, rand.N(12))
		for i := range text {
			text[i] = byte(rand.N(0x80))
		}
		s := string(text) + "."
		if got, want := Fold(s), strings.TrimSuffix(Fold(s+"é"), "é"); got != want {
			t.Errorf("%q folds to %q, and to %q before an é", s, got, want)
		}
	}
}
