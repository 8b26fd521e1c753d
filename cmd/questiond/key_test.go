package main

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	path := folder(t, leastConfig)
	lines := func() []string {
		t.Helper()
		got := call(t, "key", "list", "-c", path)
		got.want(t, exitOK, "PUBLIC KEY", "")
		return strings.Split(strings.TrimSpace(got.out), "\n")[1:]
	}
	if got := lines(); len(got) != 0 {
		t.Fatalf("there are keys before the server first ran: %q", got)
	}
	first, second := call(t, "key", "rotate", "-c", path), call(t, "key", "rotate", "-c", path)
	first.want(t, exitOK, "key_", "it need not be restarted")
	second.want(t, exitOK, "key_", "10s more")
	got := lines()
	old, signs := strings.Fields(first.out), strings.Fields(second.out)
	if len(got) != 2 || len(old) != 2 || len(signs) != 2 {
		t.Fatalf("got %q after %q and %q", got, first.out, second.out)
	}
	states := map[string]string{}
	for _, line := range got {
		states[strings.Join(strings.Fields(line)[:2], " ")] = strings.Fields(line)[2]
	}
	if states[strings.Join(old, " ")] != "replaced" || states[strings.Join(signs, " ")] != "signs" {
		t.Errorf("got %q", got)
	}
	call(t, "key", "remove", signs[0], "-c", path).want(t, exitFailed, "", "there is no replaced key")
	call(t, "key", "remove", old[0], "-c", path).want(t, exitOK, "Removed "+old[0], "")
	call(t, "key", "remove", old[0], "-c", path).want(t, exitFailed, "", "there is no replaced key")
	if got := lines(); len(got) != 1 || !strings.HasPrefix(got[0], signs[0]) {
		t.Errorf("got %q", got)
	}
	call(t, "key").want(t, exitUsage, "", "a command is needed: list, rotate or remove\n")
	call(t, "key", "remove", "-c", path).want(t, exitUsage, "", "one ID is needed\n")
}
