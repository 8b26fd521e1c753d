package config

import (
	"slices"
	"testing"
)

// Wherever the configuration names somebody is found.
func TestNaming(t *testing.T) {
	c, faults := parse(wholeExample(t))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := c.Naming("@bob:example.org"); !slices.Equal(got, []string{"workspace_admins.rooms.OPS[0]", "workspace_admins.boards.brd_1[0]"}) {
		t.Errorf("bob is named by %q", got)
	}
	if got := c.Naming("@reminder:example.org"); !slices.Equal(got, []string{"bots[0]"}) {
		t.Errorf("the reminder is named by %q", got)
	}
	if got := c.Naming("@nobody:example.org"); got != nil {
		t.Errorf("nobody is named by %q", got)
	}
}
