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

// endsLater is a context that has ended when it is looked at for the second time: after its write began to wait, and before
// its turn came.
type endsLater struct {
	context.Context
	looks atomic.Int32
}

func (c *endsLater) Done() <-chan struct{} { return nil }

func (c *endsLater) Err() error {
	if c.looks.Add(1) == 1 {
		return nil
	}
	return context.Canceled
}

// A write whose context ends while it waits for its turn is not done, and the others are.
func TestCompanionOutOfTime(t *testing.T) {
	s := newSQLite(t).open(t)
	var writing sync.WaitGroup
	write := func() {
		writing.Go(func() {
			err := s.Atomically(&endsLater{Context: t.Context()}, func(context.Context) error {
				t.Error("it was done for nobody")
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		writing.Go(func() { ask(t, s, 1, room) })
	}
	noError(t, s.Lead(t.Context(), 2, write, func() error { return nil }))
	writing.Wait()
	must(s.Question(t.Context(), question(1).ID))(t)
}

// A commit that the database refuses is told to everybody in it, stores nothing of anybody, and leaves the database free.
func TestCompanionsHearOfTheCommit(t *testing.T) {
	s := newSQLite(t).open(t)
	got := make(chan error, 3)
	write := func() {
		go func() { // what this one breaks is looked at only by the commit
			got <- s.Atomically(t.Context(), func(ctx context.Context) error {
				if _, err := s.Database().Exec(ctx, "PRAGMA defer_foreign_keys = ON"); err != nil {
					return err
				}
				_, err := s.Database().Exec(ctx, "INSERT INTO postings (question, conversation, moving, changed_at, messages) VALUES ('q_none', '!r', FALSE, 1, '[]')")
				return err
			})
		}()
		for i := range 2 {
			go func() { got <- s.CreateQuestion(t.Context(), question(i)) }()
		}
	}
	failed := s.Lead(t.Context(), 3, write, func() error { return nil })
	if failed == nil {
		t.Fatal("the commit went well")
	}
	for range 3 {
		if err := <-got; !errors.Is(err, failed) {
			t.Errorf("one of them heard %v, want %v", err, failed)
		}
	}
	for i := range 2 {
		_, err := s.Question(t.Context(), question(i).ID)
		equal(t, "code", bridge.CodeOf(err), bridge.CodeNotFound)
	}
	ask(t, s, 1, room) // the next one
}
