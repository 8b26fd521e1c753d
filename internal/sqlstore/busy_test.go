package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// lockerEnv makes the test program another process, which holds the write lock of the SQLite file that it names.
const lockerEnv = "SQLSTORE_TEST_LOCK"

// held is how long that process holds it.
const held = 3 * time.Second

func holdWriteLock(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_busy_timeout=5000")
	fail(err)
	tx, err := db.Begin()
	fail(err)
	fmt.Println("locked")
	time.Sleep(held)
	fail(tx.Rollback())
	os.Exit(0)
}

// block lets another process (SQLite) or connection (PostgreSQL) hold a lock that every writer needs. It returns when
// the lock is held; the channel gets the error with which it ended.
func block(t *testing.T, d database, s *sqlstore.Store) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	if d.Type == sqlstore.Postgres {
		tx, err := s.Database().RawDB.Begin()
		noError(t, err)
		_, err = tx.Exec("LOCK TABLE questions IN EXCLUSIVE MODE")
		noError(t, err)
		go func() {
			time.Sleep(held)
			ended <- tx.Rollback()
		}()
		return ended
	}
	locker := exec.Command(os.Args[0])
	locker.Env = append(os.Environ(), lockerEnv+"="+d.Path)
	out, err := locker.StdoutPipe()
	noError(t, err)
	noError(t, locker.Start())
	line := bufio.NewScanner(out)
	if !line.Scan() || line.Text() != "locked" {
		t.Fatalf("the other process says %q", line.Text())
	}
	go func() { ended <- locker.Wait() }()
	return ended
}

// Field case D1: 50 goroutines answer 500 questions while others sweep, claim and list, and somebody else holds a write
// lock for three seconds. Nobody gets an error, and no answer is lost.
func TestD1(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		questions := make([]bridge.Question, 500)
		noError(t, s.Atomically(ctx, func(ctx context.Context) error {
			for i := range questions {
				questions[i] = question(i)
				if err := s.CreateQuestion(ctx, questions[i]); err != nil {
					return err
				}
			}
			return nil
		}))

		working, stop := context.WithCancel(ctx)
		var beside sync.WaitGroup
		var swept, listed, finished atomic.Int64
		keep := func(f func() error) {
			beside.Go(func() {
				for working.Err() == nil {
					if err := f(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		keep(func() error { // the sweep: nothing is due yet
			swept.Add(1)
			time.Sleep(20 * time.Millisecond)
			_, err := s.ExpireDue(ctx, start, 100)
			return err
		})
		keep(func() error { // the outbox
			claimed, err := s.ClaimEffects(ctx, start.Add(time.Hour), time.Hour, 20)
			if err != nil || len(claimed) == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			for _, e := range claimed {
				if err := s.FinishEffect(ctx, e.ID); err != nil {
					return err
				}
				finished.Add(1)
			}
			return err
		})
		for range 2 {
			keep(func() error { // askers that look at their lists
				listed.Add(1)
				time.Sleep(time.Millisecond)
				_, _, err := s.ListQuestions(ctx, bridge.Listing{Asker: "agent", Limit: 50})
				return err
			})
		}

		blocked := block(t, d, s)
		var answering sync.WaitGroup
		wins := make([]atomic.Int32, len(questions))
		took := make([][]time.Duration, 50)
		for person := range took {
			answering.Go(func() {
				for _, i := range rand.Perm(len(questions))[:60] {
					q, begin := questions[i], time.Now()
					err := s.Atomically(ctx, func(ctx context.Context) error {
						_, won, err := s.Settle(ctx, answer(q, person))
						if err != nil || !won {
							return err
						}
						wins[i].Add(1)
						return s.AddEffects(ctx, bridge.Effect{Kind: bridge.EffectSettled, Question: q.ID, Key: string(q.ID), Due: start})
					})
					took[person] = append(took[person], time.Since(begin))
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		answering.Wait()
		noError(t, <-blocked)
		won := 0
		for i := range questions {
			stored := must(s.Question(ctx, questions[i].ID))(t)
			n := wins[i].Load()
			if n > 1 || (n == 1) != (stored.State == bridge.Answered) {
				t.Errorf("%s: %d winners, %s", stored.ID, n, stored.State)
			}
			won += int(n)
		}
		for finished.Load() < int64(won) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
		beside.Wait()
		equal(t, "effects done", finished.Load(), int64(won))
		all := slices.Sorted(slices.Values(slices.Concat(took...)))
		t.Logf("%d answers, %d sweeps, %d lists; an answer took %v (p50) to %v (longest)",
			won, swept.Load(), listed.Load(), all[len(all)/2], all[len(all)-1])
		if longest := all[len(all)-1]; longest > held+5*time.Second {
			t.Errorf("an answer took %v", longest)
		}
	})
}

// Field case B11: a store that cannot write for long keeps nothing half done, and takes the same again later.
func TestB11(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q := ask(t, s, 1, room)
		stored := must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room)}))(t)
		equal(t, "stored", stored, 1)
		blocked := block(t, d, s)
		handle := func(ctx context.Context) error {
			return s.Atomically(ctx, func(ctx context.Context) error {
				if _, _, err := s.Settle(ctx, answer(q, 1)); err != nil {
					return err
				}
				return s.FinishInteraction(ctx, "$1")
			})
		}
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if err := handle(short); err == nil {
			t.Fatal("it was handled while the database was locked")
		}
		// SQLite looks at the context again when its own wait for another process ends.
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("it took %v to notice that nobody waits any more", took)
		}
		equal(t, "state", must(s.Question(t.Context(), q.ID))(t).State, bridge.Pending)
		equal(t, "waiting events", len(must(s.NextEvents(t.Context(), start, 9))(t)), 1)
		noError(t, handle(t.Context()))
		noError(t, <-blocked)
		equal(t, "state", must(s.Question(t.Context(), q.ID))(t).State, bridge.Answered)
		equal(t, "waiting events", len(must(s.NextEvents(t.Context(), start, 9))(t)), 0)
	})
}
