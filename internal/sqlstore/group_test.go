package sqlstore_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

var errStop = errors.New("stop")

// Writes that share a transaction stand and fall by themselves: whoever fails, panics, leaves or loses its context in the
// middle of it takes nothing of the others along.
func TestCompanionsFailAlone(t *testing.T) {
	s := newSQLite(t).open(t)
	short, cancel := context.WithCancel(t.Context())
	asks := func(n int, then func() error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			if err := s.CreateQuestion(ctx, question(n)); err != nil {
				return err
			}
			return then()
		}
	}
	fine := func() error { return nil }
	var got [6]error
	for i := range got {
		got[i] = errors.New("it did not return")
	}
	thens := []func() error{
		fine,
		func() error { return errStop },
		func() error { panic(errStop) },
		func() error { runtime.Goexit(); return nil },
		func() error { cancel(); return nil },
		fine,
	}
	var writing sync.WaitGroup
	write := func() {
		for i, then := range thens {
			writing.Go(func() {
				defer func() {
					if i == 2 && recover() != any(errStop) {
						t.Error("the panic does not come through")
					}
				}()
				ctx := t.Context()
				if i == 4 {
					ctx = short
				}
				got[i] = s.Atomically(ctx, asks(i, then))
			})
		}
	}
	noError(t, s.Lead(t.Context(), len(got), write, fine))
	writing.Wait()
	for i, want := range map[int]error{0: nil, 1: errStop, 4: context.Canceled, 5: nil} {
		if !errors.Is(got[i], want) {
			t.Errorf("write %d gave %v, want %v", i, got[i], want)
		}
	}
	for i := range got {
		_, err := s.Question(t.Context(), question(i).ID)
		if stored, want := err == nil, i == 0 || i == 5; stored != want {
			t.Errorf("question %d is stored: %t", i, stored)
		}
	}
}

// Nobody hears of a success before the commit, and nobody of one that never came, not even who was refused for what
// another one of the same transaction had written.
func TestCompanionsWaitForTheCommit(t *testing.T) {
	for name, end := range map[string]error{"it commits": nil, "it does not": errStop} {
		t.Run(name, func(t *testing.T) {
			s := newSQLite(t).open(t)
			var ended atomic.Bool
			var writing sync.WaitGroup
			var conflicts, stored atomic.Int32
			ask := func() {
				err := s.CreateQuestion(t.Context(), question(1))
				if !ended.Load() {
					t.Error("it returned before the end")
				}
				switch {
				case err == nil:
					stored.Add(1)
				case bridge.CodeOf(err) == bridge.CodeElicitationConflict:
					conflicts.Add(1)
				case end == nil || !errors.Is(err, end):
					t.Error(err)
				}
			}
			begun := func() {
				for range 4 {
					writing.Go(ask)
				}
			}
			err := s.Lead(t.Context(), 4, begun, func() error { ended.Store(true); return end })
			writing.Wait()
			if !errors.Is(err, end) {
				t.Fatal(err)
			}
			if end == nil {
				equal(t, "stored", stored.Load(), 1)
				equal(t, "refused", conflicts.Load(), 3)
				return
			}
			equal(t, "told anything", stored.Load()+conflicts.Load(), 0)
			_, err = s.Question(t.Context(), question(1).ID)
			equal(t, "code", bridge.CodeOf(err), bridge.CodeNotFound)
		})
	}
}
