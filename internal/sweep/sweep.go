// Package sweep does what time alone makes due: it expires questions and forgets what is past its retention.
package sweep

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// Expirer settles what is overdue; the engine does.
type Expirer interface {
	Expire(ctx context.Context, limit int) (int, error)
}

// Deadlines knows when the next question expires.
type Deadlines interface {
	NextDeadline(ctx context.Context) (at time.Time, ok bool, err error)
}

// Chore is something done every so often, such as forgetting.
type Chore struct {
	Name  string
	Every time.Duration
	Do    func(ctx context.Context, now time.Time) error
}

// Sweeper runs until its context ends.
type Sweeper struct {
	Expirer   Expirer
	Deadlines Deadlines
	Clock     bridge.Clock
	Batch     int // how many questions one transaction expires
	Chores    []Chore

	once sync.Once
	wake chan struct{}
	mu   sync.Mutex
	next time.Time
}

const longest = time.Minute // a deadline may be set by another process, or the clock may jump

func (s *Sweeper) init() { s.once.Do(func() { s.wake = make(chan struct{}, 1) }) }

// Deadline tells the sweeper of a new deadline; it wakes only if that comes before the one it waits for.
func (s *Sweeper) Deadline(at time.Time) {
	s.init()
	s.mu.Lock()
	earlier := s.next.IsZero() || at.Before(s.next)
	s.mu.Unlock()
	if !earlier {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run sweeps until ctx ends. It begins with what expired while nobody was looking.
func (s *Sweeper) Run(ctx context.Context) error {
	s.init()
	due := make([]time.Time, len(s.Chores))
	for ctx.Err() == nil {
		s.expire(ctx)
		now := s.Clock.Now()
		wake := now.Add(longest)
		for i, c := range s.Chores {
			if !now.Before(due[i]) {
				if err := c.Do(ctx, now); err != nil && ctx.Err() == nil {
					zerolog.Ctx(ctx).Err(err).Str("chore", c.Name).Msg("A chore failed")
				}
				due[i] = now.Add(c.Every)
			}
			if due[i].Before(wake) {
				wake = due[i]
			}
		}
		s.sleep(ctx, wake)
	}
	return nil
}

func (s *Sweeper) expire(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.Expirer.Expire(ctx, s.Batch)
		if err != nil {
			if ctx.Err() == nil {
				zerolog.Ctx(ctx).Err(err).Msg("Questions could not be expired")
			}
			return
		}
		if n < s.Batch {
			return
		}
	}
}

func (s *Sweeper) sleep(ctx context.Context, wake time.Time) {
	if at, ok, err := s.Deadlines.NextDeadline(ctx); err == nil && ok && at.Before(wake) {
		wake = at
	}
	s.mu.Lock()
	s.next = wake
	s.mu.Unlock()
	timer := time.NewTimer(max(wake.Sub(s.Clock.Now()), time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.wake:
	}
}
