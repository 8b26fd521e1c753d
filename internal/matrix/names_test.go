package matrix

import (
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// A display name stands alone only where it can be taken for nobody else.
func TestShortName(t *testing.T) {
	v := view{members: map[bridge.UserID]member{
		"@alice:ex.org": {"join", "Alice"}, "@bob:ex.org": {"join", "Bob"}, "@b2:ex.org": {"leave", "BOB"}, "@dana:ex.org": {"join", ""},
	}}
	for _, c := range []struct{ id, name, want string }{
		{"@alice:ex.org", "Alice", "Alice"},
		{"@alice:ex.org", "Alice O'Neil-Smith", "Alice O'Neil-Smith"},
		{"@alice:ex.org", "田中", "田中"},
		{"@alice:ex.org", "", "@alice:ex.org"},
		{"@mallory:ex.org", "Alice", "Alice (@mallory:ex.org)"},
		{"@mallory:ex.org", "a.lice", "a.lice (@mallory:ex.org)"},
		{"@mallory:ex.org", "AIice", "AIice (@mallory:ex.org)"},
		{"@mallory:ex.org", "Аlice", "Аlice (@mallory:ex.org)"}, // a Cyrillic letter
		{"@mallory:ex.org", "Dana", "Dana (@mallory:ex.org)"},   // who has no other name than her id
		{"@bob:ex.org", "Bob", "Bob (@bob:ex.org)"},             // somebody who left was called so
		{"@alice:ex.org", "Alice\u202e", `Alice\u{202E} (@alice:ex.org)`},
		{"@alice:ex.org", "Alice, by Bob", "Alice, by Bob (@alice:ex.org)"},
		{"@alice:ex.org", "@root:ex.org", "@root:ex.org (@alice:ex.org)"},
		{"@alice:ex.org", "1", "1 (@alice:ex.org)"},
		{"@alice:ex.org", strings.Repeat("a", 61), strings.Repeat("a", 61) + " (@alice:ex.org)"},
	} {
		if got := v.shortName(bridge.Responder{ID: bridge.UserID(c.id), DisplayName: c.name}); got != c.want {
			t.Errorf("%s, called %q, is named %q, want %q", c.id, c.name, got, c.want)
		}
	}
}
