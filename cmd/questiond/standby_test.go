package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A second process does not serve the database, and says who does. One that is told to wait takes over as soon as the
// first is killed, and people's answers go on to count.
func TestStandbyTakesOver(t *testing.T) {
	s := newSite(t, "")
	first := s.serve()
	q, event := s.ask("Deploy?")
	call(t, "health", "-c", s.config).want(t, exitOK, "The bridge can work.\n", "")

	refused := s.start("serve")
	if code := refused.exit(); code != exitFailed {
		t.Errorf("the second one ended with %d", code)
	}
	holder := "process " + strconv.Itoa(first.cmd.Process.Pid) + " on "
	refused.waitFor("the database is served by another process already: " + holder)

	standby, other := s.start("serve", "--wait"), s.start("serve", "--wait")
	for _, p := range []*process{standby, other} {
		p.waitFor("Standing by")
		p.waitFor(holder)
	}
	other.stop() // one that waits ends well
	if text := string(standby.said()); strings.Contains(text, `"Serving"`) {
		t.Errorf("both serve: %s", text)
	}
	_, err := s.client().Fetch(s.ctx, q.ID)
	s.ok(err)

	first.signal(syscall.SIGKILL)
	standby.waitFor(`"Serving"`)
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	outcome, err := s.client().Await(s.ctx, q.ID)
	s.ok(err)
	if !outcome.Chose("no") {
		t.Errorf("the outcome is %v", outcome.State)
	}
	standby.stop()
}
