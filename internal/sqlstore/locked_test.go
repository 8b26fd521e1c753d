package sqlstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// An event without its key holds nobody up, and has its old place and its content again when the key comes.
func TestLockedEvents(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room), incoming("$2", room), incoming("$3", room)}))(t)
		before := must(s.NextEvents(t.Context(), start, 1))(t)[0]
		noError(t, s.LockEvent(t.Context(), "$1", "session"))
		noError(t, s.LockEvent(t.Context(), "$1", "session")) // after a crash
		equal(t, "locked", must(s.IsLocked(t.Context(), "$1"))(t), true)
		equal(t, "the next", next(t, s, start), "$2")
		equal(t, "the same event again", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room)}))(t), 0)
		noError(t, s.LockEvent(t.Context(), "$2", "other"))

		equal(t, "another session", must(s.UnlockEvents(t.Context(), room, "none", start))(t), 0)
		equal(t, "another room", must(s.UnlockEvents(t.Context(), "!elsewhere", "session", start))(t), 0)
		noError(t, s.Close())
		s = d.open(t)
		equal(t, "its key", must(s.UnlockEvents(t.Context(), room, "session", start.Add(time.Hour)))(t), 1)
		equal(t, "locked", must(s.IsLocked(t.Context(), "$1"))(t), false)
		equal(t, "not due yet", next(t, s, start), "")
		again := must(s.NextEvents(t.Context(), start.Add(time.Hour), 1))(t)[0]
		equal(t, "unlocked", string(again.Raw), string(before.Raw))
		equal(t, "its place", again.Seq, before.Seq)

		equal(t, "all", must(s.UnlockAllEvents(t.Context(), start))(t), 1)
		noError(t, s.FinishInteraction(t.Context(), "$1"))
		equal(t, "the next", next(t, s, start), "$2")

		noError(t, s.LockEvent(t.Context(), "$2", "other"))
		equal(t, "too early", must(s.PurgeLocked(t.Context(), start, 10))(t), 0)
		equal(t, "forgotten", must(s.PurgeLocked(t.Context(), start.Add(time.Second), 10))(t), 1)
		equal(t, "nothing left", must(s.UnlockAllEvents(t.Context(), start))(t), 0)
		equal(t, "the inbox", json.Valid(must(s.NextEvents(t.Context(), start, 1))(t)[0].Raw), true)
	})
}
