package httpapi

import (
	"encoding/json"
	"testing"
)

// The ranges and defaults that the description has are those that the server keeps to.
func TestBoundsAreDescribed(t *testing.T) {
	type parameter struct {
		Name   string
		Schema struct{ Minimum, Maximum, Default, MaxLength int }
	}
	var document struct {
		Paths map[string]struct {
			Get struct{ Parameters []parameter }
		}
		Components struct{ Parameters map[string]parameter }
	}
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	shared := document.Components.Parameters
	for want, p := range map[bounds]parameter{
		listLimit:   shared["limit"],
		holdSeconds: document.Paths["/api/agent/questions/{id}/wait"].Get.Parameters[0],
	} {
		if s := p.Schema; (bounds{s.Default, s.Minimum, s.Maximum}) != want {
			t.Errorf("%s is described as %+v, want %+v", p.Name, s, want)
		}
	}
	if got := shared["Idempotency-Key"].Schema.MaxLength; got != maxKey {
		t.Errorf("a key is described to have %d characters, want %d", got, maxKey)
	}
}
