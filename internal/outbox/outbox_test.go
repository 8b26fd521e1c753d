package outbox_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/outbox"
)

// shelf is an outbox in memory: enough of the contract to see what the worker asks of it.
type shelf struct {
	mu      sync.Mutex
	effects map[int64]*shelved
	changed chan string
	why     string
}

type shelved struct {
	bridge.Effect
	leased bool
}

func newShelf(effects ...bridge.Effect) *shelf {
	s := &shelf{effects: map[int64]*shelved{}, changed: make(chan string, 100)}
	for i, f := range effects {
		f.ID = int64(i + 1)
		s.effects[f.ID] = &shelved{Effect: f}
	}
	return s
}

func (s *shelf) ClaimEffects(_ context.Context, now time.Time, _ time.Duration, limit int) ([]bridge.Effect, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []bridge.Effect
	for id := int64(1); id <= int64(len(s.effects)+10) && len(out) < limit; id++ {
		if f := s.effects[id]; f != nil && !f.leased && !f.Due.After(now) {
			f.leased = true
			f.Attempts++
			out = append(out, f.Effect)
		}
	}
	return out, nil
}

func (s *shelf) FinishEffect(_ context.Context, id int64) error {
	return s.change(id, "finished", nil)
}

func (s *shelf) PostponeEffect(_ context.Context, id int64, due time.Time, _ string) error {
	return s.change(id, "postponed", func(f *shelved) { f.leased, f.Due = false, due })
}

func (s *shelf) RetryEffect(_ context.Context, id int64, due time.Time, _ string) error {
	return s.change(id, "retried", func(f *shelved) { f.leased, f.Due, f.Failures = false, due, f.Failures+1 })
}

func (s *shelf) FailEffect(_ context.Context, id int64, why string) error {
	s.why = why // read only after the change below
	return s.change(id, "failed", nil)
}

func (s *shelf) change(id int64, what string, f func(*shelved)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil {
		delete(s.effects, id)
	} else {
		f(s.effects[id])
	}
	s.changed <- what
	return nil
}

func (s *shelf) NextEffect(context.Context) (time.Time, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	found := false
	for _, f := range s.effects {
		if !f.leased && (!found || f.Due.Before(next)) {
			next, found = f.Due, true
		}
	}
	return next, found, nil
}

const kindTest bridge.EffectKind = "test"

func work(t *testing.T, s *shelf, k outbox.Kind) {
	t.Helper()
	w := &outbox.Worker{Store: s, Clock: bridge.SystemClock{}, Kinds: map[bridge.EffectKind]outbox.Kind{kindTest: k}, Parallel: 4, Lease: time.Minute}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func expect(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	for i, w := range want {
		select {
		case got := <-s.changed:
			if got != w {
				t.Fatalf("change %d is %q, want %q", i, got, w)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("change %d, %q, did not come", i, w)
		}
	}
}

func effect() bridge.Effect { return bridge.Effect{Kind: kindTest, Question: "q", Due: time.Now()} }

func TestAnEffectIsTriedUntilItSucceeds(t *testing.T) {
	s := newShelf(effect())
	attempts := make(chan int, 10)
	work(t, s, outbox.Kind{Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Handler: outbox.HandlerFunc(
		func(_ context.Context, f bridge.Effect) error {
			attempts <- f.Attempts
			if f.Attempts < 3 {
				return errors.New("not yet")
			}
			return nil
		})})
	expect(t, s, "retried", "retried", "finished")
	for want := 1; want <= 3; want++ {
		if got := <-attempts; got != want {
			t.Errorf("attempt %d, want %d", got, want)
		}
	}
}

func TestAnEffectIsGivenUpVisibly(t *testing.T) {
	s := newShelf(effect())
	work(t, s, outbox.Kind{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Handler: outbox.HandlerFunc(
		func(context.Context, bridge.Effect) error { return errors.New("never") })})
	expect(t, s, "retried", "failed")
}

// TestWhatIsImpossibleIsGivenUp shows that a handler may give an effect up before its attempts are used up.
func TestWhatIsImpossibleIsGivenUp(t *testing.T) {
	s := newShelf(effect())
	work(t, s, outbox.Kind{Handler: outbox.HandlerFunc(
		func(context.Context, bridge.Effect) error { return &bridge.ErrImpossible{Reason: "gone"} })})
	expect(t, s, "failed")
	if s.why != "gone" {
		t.Errorf("given up, because %s", s.why)
	}
}

func TestAPanicIsOneFailure(t *testing.T) {
	s := newShelf(effect(), effect())
	work(t, s, outbox.Kind{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Handler: outbox.HandlerFunc(
		func(_ context.Context, f bridge.Effect) error {
			if f.ID == 1 {
				panic("secret words")
			}
			return nil
		})})
	got := map[string]int{}
	for range 3 {
		got[<-s.changed]++
	}
	if got["finished"] != 1 || got["retried"] != 1 || got["failed"] != 1 {
		t.Errorf("changes %v", got)
	}
	if strings.Contains(s.why, "secret") { // what it said may hold what a person wrote
		t.Errorf("given up, because %s", s.why)
	}
}

func TestACourtesyIsTriedOnce(t *testing.T) {
	s := newShelf(effect())
	work(t, s, outbox.Kind{Attempts: 1, Handler: outbox.HandlerFunc(func(context.Context, bridge.Effect) error { return errors.New("lost") })})
	expect(t, s, "finished")
}

// TestAHeldCourtesyIsNotTried shows that what is to be tried once and could not even be tried waits.
func TestAHeldCourtesyIsNotTried(t *testing.T) {
	s := newShelf(effect())
	work(t, s, outbox.Kind{Attempts: 1, Handler: outbox.HandlerFunc(func(_ context.Context, f bridge.Effect) error {
		if f.Attempts < 3 {
			return &bridge.ErrHeld{Reason: "not now", Again: time.Millisecond}
		}
		return nil
	})})
	expect(t, s, "postponed", "postponed", "finished")
}

// TestHeldIsNoFailure shows that waiting for a room or for a rate limit never uses the attempts up, nor lengthens the
// back-off.
func TestHeldIsNoFailure(t *testing.T) {
	for name, wait := range map[string]error{
		"held":  &bridge.ErrHeld{Reason: "nobody is here", Again: time.Millisecond},
		"retry": &bridge.ErrRetry{After: time.Millisecond, Err: errors.New("429")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(effect())
			work(t, s, outbox.Kind{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Hour, Handler: outbox.HandlerFunc(
				func(_ context.Context, f bridge.Effect) error {
					switch {
					case f.Attempts < 30: // a back-off that counted these would be an hour
						return wait
					case f.Attempts == 30:
						return errors.New("the first failure")
					}
					return nil
				})})
			for range 29 {
				expect(t, s, "postponed")
			}
			expect(t, s, "retried", "finished")
		})
	}
}

func TestAnUnknownKindFails(t *testing.T) {
	f := effect()
	f.Kind = "of another version"
	s := newShelf(f)
	work(t, s, outbox.Kind{})
	expect(t, s, "failed")
}

func TestBackoffGrowsAndIsSpread(t *testing.T) {
	k := outbox.Kind{Backoff: time.Second, MaxBackoff: 10 * time.Second}
	for attempts, base := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 100 {
			wait := outbox.Backoff(k, attempts)
			if wait < base*3/4 || wait > base*5/4 {
				t.Errorf("attempt %d waits %v, base %v", attempts, wait, base)
			}
			seen[wait] = true
		}
		if len(seen) < 50 {
			t.Errorf("attempt %d: retries come in lockstep", attempts)
		}
	}
}

// Asked to end, a worker begins nothing more; what it has in hand is finished and written down, or cut off and still owed.
func TestEndingWithEffectsInHand(t *testing.T) {
	for name, tt := range map[string]struct {
		grace time.Duration
		ends  func(ctx context.Context, release <-chan struct{}) error
		want  []string
	}{
		"it finishes":          {time.Hour, func(_ context.Context, release <-chan struct{}) error { <-release; return nil }, []string{"finished"}},
		"it fails":             {time.Hour, func(_ context.Context, release <-chan struct{}) error { <-release; return errors.New("no") }, []string{"retried"}},
		"it hangs":             {time.Millisecond, func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return ctx.Err() }, nil},
		"it finishes, cut off": {time.Millisecond, func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return nil }, []string{"finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(effect(), effect())
			began, release := make(chan struct{}, 2), make(chan struct{})
			k := outbox.Kind{Backoff: time.Hour, MaxBackoff: time.Hour, Handler: outbox.HandlerFunc(func(ctx context.Context, _ bridge.Effect) error {
				began <- struct{}{}
				return tt.ends(ctx, release)
			})}
			w := &outbox.Worker{Store: s, Clock: bridge.SystemClock{}, Kinds: map[bridge.EffectKind]outbox.Kind{kindTest: k}, Parallel: 1, Lease: time.Minute, Grace: tt.grace}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			<-began
			stop()
			close(release)
			if err := <-done; err != nil {
				t.Error(err)
			}
			expect(t, s, tt.want...)
			if len(began) > 0 || len(s.changed) > 0 || len(s.effects) == 0 {
				t.Error("it began another one")
			}
		})
	}
}
