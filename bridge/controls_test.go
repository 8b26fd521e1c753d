package bridge_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// TestAnAnswerFasterThanTheControls shows that a question can be answered as soon as its message stands in the room,
// while the reactions are still going up.
func TestAnAnswerFasterThanTheControls(t *testing.T) {
	b := newBench(t)
	q, _, err := b.Ask(b.ctx, b.question())
	if err != nil {
		t.Fatal(err)
	}
	b.room.duringControls = func() {
		b.room.duringControls = nil
		if err := b.Receive(b.ctx, b.event("@dana:ex.org", bridge.Said{Text: "2", Thread: b.root(q.ID)})); err != nil {
			t.Error(err)
		}
	}
	b.work()
	if got := b.get(q.ID); got.State != bridge.Answered || got.Delivery.State != bridge.Posted {
		t.Errorf("stands at %s, %+v", got.State, got.Delivery)
	}
}

// TestControlsAreTriedAgain shows that a failure of the controls neither posts the question again nor loses them.
func TestControlsAreTriedAgain(t *testing.T) {
	b := newBench(t)
	b.room.controlsFail = errors.New("the homeserver is down")
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d.State != bridge.Posted {
		t.Fatalf("delivery %+v", d)
	}
	b.room.controlsFail = nil
	b.clock.Move(time.Minute)
	b.work()
	if n := len(b.room.said()); n != 1 || !slices.Equal(b.room.controls, []string{string(b.root(q.ID)) + " " + string(q.ID) + "/render/0"}) {
		t.Errorf("%d posts, controls %q", n, b.room.controls)
	}
}
