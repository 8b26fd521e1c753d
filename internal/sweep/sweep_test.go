package sweep_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sweep"
)

// overdue is a list of deadlines that Expire takes off as they come due.
type overdue struct {
	mu      sync.Mutex
	at      []time.Time
	expired chan int
	limits  []int
}

func (o *overdue) Expire(_ context.Context, limit int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limits = append(o.limits, limit)
	n, now := 0, time.Now()
	var left []time.Time
	for _, at := range o.at {
		if n < limit && !at.After(now) {
			n++
		} else {
			left = append(left, at)
		}
	}
	o.at = left
	if n > 0 {
		o.expired <- n
	}
	return n, nil
}

func (o *overdue) NextDeadline(context.Context) (time.Time, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.at) == 0 {
		return time.Time{}, false, nil
	}
	next := o.at[0]
	for _, at := range o.at {
		if at.Before(next) {
			next = at
		}
	}
	return next, true, nil
}

func run(t *testing.T, s *sweep.Sweeper) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func expect(t *testing.T, o *overdue, want int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for got := 0; got < want; {
		select {
		case n := <-o.expired:
			got += n
		case <-deadline:
			t.Fatalf("expired %d, want %d", got, want)
		}
	}
}

// TestSweepBeginsWithWhatIsOverdue shows that questions that expired while nobody was looking expire in batches at once.
func TestSweepBeginsWithWhatIsOverdue(t *testing.T) {
	past := time.Now().Add(-time.Hour)
	o := &overdue{expired: make(chan int, 10), at: []time.Time{past, past, past, past, past}}
	run(t, &sweep.Sweeper{Expirer: o, Deadlines: o, Clock: bridge.SystemClock{}, Batch: 2})
	expect(t, o, 5)
}

// TestSweepWakesForTheNextDeadline shows that an expiry waits for no period, and that an earlier deadline that comes in
// later is not missed.
func TestSweepWakesForTheNextDeadline(t *testing.T) {
	o := &overdue{expired: make(chan int, 10), at: []time.Time{time.Now().Add(time.Hour)}}
	s := &sweep.Sweeper{Expirer: o, Deadlines: o, Clock: bridge.SystemClock{}, Batch: 10}
	run(t, s)
	soon := time.Now().Add(50 * time.Millisecond)
	o.mu.Lock()
	o.at = append(o.at, soon)
	o.mu.Unlock()
	s.Deadline(soon)
	expect(t, o, 1)
}

func TestChoresAreDone(t *testing.T) {
	o := &overdue{}
	done := make(chan string, 2)
	chore := func(name string) sweep.Chore {
		return sweep.Chore{Name: name, Every: time.Hour, Do: func(context.Context, time.Time) error { done <- name; return nil }}
	}
	run(t, &sweep.Sweeper{Expirer: o, Deadlines: o, Clock: bridge.SystemClock{}, Batch: 1, Chores: []sweep.Chore{chore("a"), chore("b")}})
	for range 2 {
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("a chore was not done")
		}
	}
}
