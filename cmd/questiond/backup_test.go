package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A backup that is made while the bridge runs is restored as docs/operations.md says, and the question in it can still be
// answered in its room.
func TestBackupIsServed(t *testing.T) {
	s := newSite(t, "")
	first := s.serve()
	q, event := s.ask("Deploy?")
	copied := s.file("copy.db")
	call(t, "backup", copied, "-c", s.config).want(t, exitOK, "Wrote "+copied+": 0.", "")
	call(t, "backup", copied, "-c", s.config).want(t, exitFailed, "", copied+" exists, and is not replaced\n")
	later, _ := s.ask("And now?")
	first.signal(syscall.SIGKILL)
	first.exit()

	database := s.file("question-bridge.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(database + suffix); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	s.ok(os.Rename(copied, database))
	second := s.serve()
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	outcome, err := s.client().Await(s.ctx, q.ID)
	s.ok(err)
	if !outcome.Chose("no") {
		t.Errorf("the outcome is %v", outcome.State)
	}
	if _, err := s.client().Fetch(s.ctx, later.ID); err == nil {
		t.Error("what was asked after the backup is there")
	}
	second.stop()
}

func TestBackupCommandLine(t *testing.T) {
	config, _ := serving(t)
	call(t, "backup").want(t, exitUsage, "", "one FILE is needed, which is not there yet\n")
	got := call(t, "backup", config+".copy", "-c", config)
	got.want(t, exitFailed, "", "no such file or directory\n")
	if strings.Contains(got.err, "copy") {
		t.Errorf("it blames the copy: %s", got.err)
	}
}
