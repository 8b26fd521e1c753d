package httpapi

import (
	"strconv"
	"testing"
	"time"
)

// Whoever has not done anything for long is forgotten, and nobody else is.
func TestLimiterForgets(t *testing.T) {
	l, now := newLimiter(), time.Now()
	b := func(i int) budget { return budget{Pace{PerMinute: 60, Burst: 2}, strconv.Itoa(i), "tests"} }
	held := 0
	for i := range 100 * roomy { // one a millisecond, each whole again after a second
		if l.take(now, []budget{b(i)}) != nil {
			t.Fatal("a new budget is spent")
		}
		now = now.Add(time.Millisecond)
		held = max(held, len(l.left))
	}
	if held > 3*roomy {
		t.Errorf("%d budgets were kept", held)
	}
	l.take(now, []budget{b(-1)})
	l.take(now, []budget{b(-1)})
	for i := range 3 * roomy {
		l.take(now, []budget{b(-2 - i)})
	}
	if l.take(now, []budget{b(-1)}) == nil {
		t.Error("a budget that was spent is whole")
	}
}
