package bridge

import "testing"

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"Does Dana prefer  morning,\tor afternoon?": "does dana prefer morning or afternoon", "?!": "", "Größe": "grösse", "it’s it's": "its its",
		"a.b-c": "abc", "v1.5, 2": "v1.5 2", "1,000.5": "1,000.5", "x-1": "x1", "- 1": "1", "-1": "-1", "$5": "5", "5%": "5", "10:30": "10:30", "ｉｓ IT": "is it",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The phrases of the document's public implementation are all there are; the queue's tests name them.
func TestDeflectionsAreTwenty(t *testing.T) {
	if len(deflections) != 20 {
		t.Errorf("there are %d", len(deflections))
	}
}
