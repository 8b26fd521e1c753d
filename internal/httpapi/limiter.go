package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiter keeps how much of each budget is left. One that is whole again is forgotten, since it is like one that was
// never used: what is kept is bounded by what was done in the time that a budget takes to become whole.
type limiter struct {
	mu      sync.Mutex
	left    map[budget]*bucket
	crowded int // so many budgets are a reason to look for whole ones
}

// roomy is how many budgets are kept before any is looked at.
const roomy = 1024

func newLimiter() *limiter {
	return &limiter{left: map[budget]*bucket{}, crowded: roomy}
}

// bucket is what is left of one budget.
type bucket struct {
	*rate.Limiter
	refused bool // since something was last taken
}

// excess is a budget that has nothing left, and for how long.
type excess struct {
	budget budget
	wait   time.Duration
	again  bool // it had nothing left when something was last to be taken either
}

// take takes one from each of the budgets, or from none of them, and then says which of them has nothing left for the
// longest. A budget without a pace has always something left.
func (l *limiter) take(now time.Time, budgets []budget) *excess {
	l.mu.Lock()
	defer l.mu.Unlock()
	var most *excess
	for _, b := range budgets {
		if b.pace.PerMinute == 0 {
			continue
		}
		left := l.of(b, now)
		if missing := 1 - left.TokensAt(now); missing > 0 {
			wait := time.Duration(missing / float64(left.Limit()) * float64(time.Second))
			if most == nil || wait > most.wait {
				most = &excess{b, wait, left.refused}
			}
		}
	}
	if most != nil {
		l.of(most.budget, now).refused = true
		return most
	}
	for _, b := range budgets {
		if b.pace.PerMinute != 0 {
			left := l.of(b, now)
			left.AllowN(now, 1)
			left.refused = false
		}
	}
	return nil
}

func (l *limiter) of(b budget, now time.Time) *bucket {
	if left, ok := l.left[b]; ok {
		return left
	}
	if len(l.left) >= l.crowded {
		l.forget(now)
	}
	left := &bucket{Limiter: rate.NewLimiter(rate.Limit(float64(b.pace.PerMinute)/60), b.pace.Burst)}
	l.left[b] = left
	return left
}

// forget forgets the budgets that are whole, and waits until there are twice as many as now before it looks again: so it
// costs each new budget the same, however many there are.
func (l *limiter) forget(now time.Time) {
	for b, left := range l.left {
		if left.TokensAt(now) >= float64(left.Burst()) {
			delete(l.left, b)
		}
	}
	l.crowded = max(roomy, 2*len(l.left))
}
