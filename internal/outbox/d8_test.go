package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// receiver is somebody who must be told how questions ended, and what reached them.
type receiver struct {
	mu      sync.Mutex
	got     map[string]int       // by delivery id
	notTill map[string]time.Time // what it asked us to wait for
	early   int
	takes   func(ctx context.Context, key string) error // with mu held
}

func (r *receiver) Run(ctx context.Context, f bridge.Effect) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.notTill[f.Key]) {
		r.early++
	}
	return r.takes(ctx, f.Key)
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

var errRolledBack = errors.New("rolled back")

// settledInto answers questions in one transaction each, which owes an effect under a key; every tenth is rolled back.
func settledInto(t *testing.T, s *sqlstore.Store, w *outbox.Worker, n int, kind bridge.EffectKind) (owed map[string]bool) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	owed = map[string]bool{}
	for i := range n {
		q := bridge.Question{
			ID: bridge.NewQuestionID(), Asker: "ci", AskedBy: "ci", Conversation: "!r", Dialect: bridge.Core, Scope: bridge.Room, State: bridge.Pending,
			Items:     []bridge.Item{{Prompt: "Go?", Options: []bridge.Option{{ID: "yes", Label: "Yes", Meaning: bridge.Choose}}}},
			CreatedAt: now, ExpiresAt: now.Add(time.Hour), ForgetAfter: now.Add(24 * time.Hour), Delivery: bridge.Delivery{State: bridge.Queued},
		}
		q.ElicitationID = string(q.ID)
		must(t, s.CreateQuestion(t.Context(), q))
		key := fmt.Sprintf("%s/hook", q.ID)
		begin := time.Now()
		err := s.Atomically(t.Context(), func(ctx context.Context) error {
			_, _, err := s.Settle(ctx, bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: -1, At: now,
				Answer: &bridge.Answer{By: bridge.Responder{ID: "@dana:ex.org"}, At: now}})
			if err != nil {
				return err
			}
			if err := s.AddEffects(ctx, bridge.Effect{Kind: kind, Lane: "hook", Question: q.ID, Key: key, Due: now}); err != nil || i%10 != 9 {
				return err
			}
			return errRolledBack
		})
		if i%10 != 9 {
			must(t, err)
			owed[key] = true
			w.Wake()
		} else if !errors.Is(err, errRolledBack) {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("an answer waited %v for those who are to be told of it", took)
		}
	}
	return owed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func d8Store(t *testing.T) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// running is a worker until stop.
func running(s *sqlstore.Store, kinds map[bridge.EffectKind]outbox.Kind) (w *outbox.Worker, stop func()) {
	w = &outbox.Worker{Store: s, Clock: bridge.SystemClock{}, Kinds: kinds, Parallel: 4, Lease: time.Minute}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = w.Run(ctx); close(ended) }()
	return w, func() { cancel(); <-ended }
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// D8: many answers while the receiver is down, asks us to wait, or takes what we never hear of before we die: each
// answer reaches it at least once under one id, none before its time, and none that was rolled back.
func TestD8(t *testing.T) {
	s := d8Store(t)
	r := &receiver{got: map[string]int{}, notTill: map[string]time.Time{}}
	hook := outbox.Kind{Handler: r, Backoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}
	kinds := map[bridge.EffectKind]outbox.Kind{kindTest: hook}
	down, tries := true, 0
	r.takes = func(_ context.Context, key string) error {
		tries++
		if down {
			return errors.New("no connection")
		}
		if r.got[key] == 0 && tries%5 == 0 && r.notTill[key].IsZero() {
			r.notTill[key] = time.Now().Add(30 * time.Millisecond)
			return &bridge.ErrRetry{After: 31 * time.Millisecond, Err: errors.New("503")} // a clock of milliseconds
		}
		r.got[key]++
		return nil
	}
	w, stop := running(s, kinds)
	owed := settledInto(t, s, w, 500, kindTest)
	r.mu.Lock()
	down = false
	r.mu.Unlock()
	until(t, "a third is told", func() bool { return r.count() >= len(owed)/3 })
	stop()

	dying := make(chan struct{}, 4) // it takes what it gets, and we die before we have written that down
	r.mu.Lock()
	takes := r.takes
	r.takes = func(ctx context.Context, key string) error {
		r.got[key]++
		r.mu.Unlock()
		dying <- struct{}{}
		<-ctx.Done()
		r.mu.Lock()
		return ctx.Err()
	}
	r.mu.Unlock()
	_, stop = running(s, kinds)
	for range cap(dying) {
		<-dying
	}
	stop()
	r.mu.Lock()
	r.takes = takes
	before := 0
	for _, n := range r.got {
		before += n
	}
	r.mu.Unlock()

	must(t, s.ReleaseEffects(t.Context(), time.Now()))
	_, stop = running(s, kinds)
	until(t, "nothing is owed", func() bool { _, left, err := s.NextEffect(t.Context()); return err == nil && !left })
	stop()
	all := 0
	for key, n := range r.got {
		all += n
		if !owed[key] {
			t.Errorf("told of %s, which nobody owes", key)
		}
	}
	if len(r.got) != len(owed) || all != len(owed)+4 || r.early != 0 {
		t.Errorf("%d of %d are told, %d times, %d of them early; want 4 twice", len(r.got), len(owed), all, r.early)
	}
	if before >= all {
		t.Error("nothing was left for the next process")
	}
}

// D8: what hangs or fails for good delays nothing else, and is given up in the end, for everybody to see.
func TestD8Dead(t *testing.T) {
	s := d8Store(t)
	hanging := make(chan struct{})
	hangs := outbox.HandlerFunc(func(ctx context.Context, _ bridge.Effect) error {
		close(hanging)
		<-ctx.Done()
		return ctx.Err()
	})
	refused := outbox.HandlerFunc(func(context.Context, bridge.Effect) error { return errors.New("410") })
	alive := &receiver{got: map[string]int{}}
	alive.takes = func(_ context.Context, key string) error { alive.got[key]++; return nil }
	kinds := map[bridge.EffectKind]outbox.Kind{
		"hangs":   {Handler: hangs, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
		"refused": {Handler: refused, Attempts: 3, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
		kindTest:  {Handler: alive, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
	}
	w, stop := running(s, kinds)
	defer stop()
	settledInto(t, s, w, 1, "hangs")
	<-hanging
	settledInto(t, s, w, 20, "refused")
	owed := settledInto(t, s, w, 100, kindTest)
	until(t, "the others are told", func() bool { return alive.count() == len(owed) })
	until(t, "it is given up", func() bool {
		failed, err := s.FailedEffects(t.Context(), 100)
		return err == nil && len(failed) == 18
	})
}
