package main

import (
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// The switch is a row that a bridge beside reads on its next call.
func TestQueueSwitch(t *testing.T) {
	path := folder(t, leastConfig)
	call(t, "queue", "status", "-c", path).want(t, exitOK, "The question queue is on.\n", "")
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(filepath.Dir(path), "question-bridge.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, c := range []struct {
		name string
		off  bool
	}{{"off", true}, {"off", true}, {"on", false}} {
		call(t, "queue", c.name, "-c", path).want(t, exitOK, "The question queue is "+c.name+".\n", "")
		if off, err := store.QueueOff(t.Context()); err != nil || off != c.off {
			t.Errorf("%s: off is %t, %v", c.name, off, err)
		}
		call(t, "queue", "status", "-c", path).want(t, exitOK, "The question queue is "+c.name+".\n", "")
	}
	call(t, "queue").want(t, exitUsage, "", "off, on or status")
}
