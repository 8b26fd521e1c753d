package bridge_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// docs/delivery.md has every reason with its sentence, and no other.
func TestDeliveryReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/delivery.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(line, "| `") {
			rows++
			reason := strings.Trim(cells[0], "| `")
			if detail := (bridge.Delivery{Reason: reason}).Detail(); detail == "" || cells[2] != detail {
				t.Errorf("%s says\n %s\nnot\n %s", reason, cells[2], detail)
			}
		}
	}
	if rows != len(bridge.DeliveryReasons()) {
		t.Errorf("%d rows for the reasons %q", rows, bridge.DeliveryReasons())
	}
}

// TestAReasonIsNotedWhileItIsTrue: a question that waits says why, and what happened to it meanwhile is not covered up.
func TestAReasonIsNotedWhileItIsTrue(t *testing.T) {
	b := newBench(t)
	away := errors.New("dial tcp: connection refused")
	b.room.fails = &bridge.ErrDelayed{Reason: bridge.ReasonUnreachable, Err: &bridge.ErrRetry{After: time.Second, Err: away}}
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d != (bridge.Delivery{State: bridge.Queued, Reason: bridge.ReasonUnreachable}) {
		t.Errorf("delivery %+v", d)
	}
	b.room.fails = fmt.Errorf("render: %w", away)
	other := b.ask(b.question())
	if d := b.get(other.ID).Delivery; d != (bridge.Delivery{State: bridge.Queued}) {
		t.Errorf("of an error without a reason: delivery %+v", d)
	}
	lost := b.question()
	b.room.fails = &bridge.ErrHeld{Reason: bridge.ReasonNobody, Again: time.Hour}
	b.room.during = func() {
		if err := b.Unanswerable(b.ctx, lost.Conversation, bridge.ReasonEncrypted); err != nil {
			t.Error(err)
		}
	}
	b.ask(lost)
	if d := b.get(lost.ID).Delivery; d != (bridge.Delivery{State: bridge.Unanswerable, Reason: bridge.ReasonEncrypted}) {
		t.Errorf("lost while it was being posted: delivery %+v", d)
	}
}
