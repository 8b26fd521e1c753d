package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"
	"github.com/mattn/go-sqlite3"
	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// attempts bounds how often a write is tried that lost against another one. On SQLite each has waited for the lock for
// five seconds.
const attempts = 5

// door lets so many writers in at a time. On SQLite that is one, in order of arrival: the database itself lets them in by
// polling, in no order, and only until its timeout. Those who wait there may also be taken along by the one who is in,
// see [companion]. On PostgreSQL it is as many as there are connections, or one alone: a writer that lost against others
// of this process cannot lose against them again.
type door struct {
	places  chan struct{}
	alone   chan struct{}
	company chan *companion // nil on PostgreSQL, which commits several transactions at once by itself
}

func newDoor(places int) door {
	return door{places: make(chan struct{}, places), alone: make(chan struct{}, 1)}
}

// newSharedDoor is the one of SQLite.
func newSharedDoor() door {
	d := newDoor(1)
	d.company = make(chan *companion)
	return d
}

func (d door) enter(ctx context.Context) (leave func(), err error) {
	return take(ctx, d.places, 1)
}

func (d door) enterAlone(ctx context.Context) (leave func(), err error) {
	last, err := take(ctx, d.alone, 1)
	if err != nil {
		return nil, err
	}
	leave, err = take(ctx, d.places, cap(d.places))
	last()
	return leave, err
}

func take(ctx context.Context, places chan struct{}, n int) (leave func(), err error) {
	taken := 0
	leave = func() {
		for range taken {
			<-places
		}
	}
	for taken < n {
		select {
		case places <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

// Atomically implements [bridge.Store]. Inside another call it joins that transaction. A transaction that lost against
// another one (SQLite: busy, PostgreSQL: deadlock or serialization failure) is rolled back and tried again, f included.
func (s *Store) Atomically(ctx context.Context, f func(ctx context.Context) error) error {
	if _, ok := s.transaction(ctx); ok {
		return f(ctx)
	}
	var after bridge.Deferred
	err := s.anew(ctx, after.Around(f))
	if err == nil {
		after.Run()
	}
	return err
}

// anew runs f in a transaction of its own, or in that of somebody who is faster.
func (s *Store) anew(ctx context.Context, f func(ctx context.Context) error) error {
	return s.writeOrJoin(ctx, f, func(ctx context.Context) error {
		if s.door.company == nil {
			return s.begin(ctx, f)
		}
		g, err := group{s: s}, errUnfinished
		defer func() { g.end(err) }()
		err = s.begin(context.WithoutCancel(ctx), func(txn context.Context) error {
			if err := uninterrupted(ctx, txn, f); err != nil {
				return err
			}
			return g.gather(txn)
		})
		return err
	})
}

// begin runs f in a new transaction.
func (s *Store) begin(ctx context.Context, f func(ctx context.Context) error) error {
	return s.db.DoTxn(ctx, nil, func(ctx context.Context) error {
		// DoTxn leaves the transaction open when f panics or ends its goroutine.
		finished := false
		defer func() {
			if tx, ok := s.transaction(ctx); ok && !finished {
				_ = tx.Rollback()
			}
		}()
		err := f(ctx)
		finished = true
		return err
	})
}

// write runs f, which writes by one statement. Inside a transaction it only runs it.
func (s *Store) write(ctx context.Context, f func(ctx context.Context) error) error {
	return s.writeOrJoin(ctx, f, f)
}

// writeOrJoin runs alone, which writes by itself, or f in the transaction of somebody else: the one of ctx, or one that
// comes by while it waits.
func (s *Store) writeOrJoin(ctx context.Context, f, alone func(ctx context.Context) error) error {
	if _, ok := s.transaction(ctx); ok {
		return f(ctx)
	}
	err := s.firstTry(ctx, f, alone)
	for attempt := 2; attempt <= attempts && temporary(err); attempt++ {
		pause := time.Duration(attempt-1) * (5*time.Millisecond + rand.N(20*time.Millisecond))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
		leave, entered := s.door.enterAlone(ctx)
		if entered != nil {
			return entered
		}
		err = inside(ctx, leave, alone)
	}
	return err
}

func (s *Store) firstTry(ctx context.Context, f, alone func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := newCompanion()
	select {
	case s.door.places <- struct{}{}:
		return inside(ctx, func() { <-s.door.places }, alone)
	case s.door.company <- c:
		return c.follow(ctx, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func inside(ctx context.Context, leave func(), f func(ctx context.Context) error) error {
	defer leave() // also when f panics
	return f(ctx)
}

// transaction is the one that ctx carries.
func (s *Store) transaction(ctx context.Context) (dbutil.Transaction, bool) {
	tx, ok := s.db.Execable(ctx).(dbutil.Transaction)
	return tx, ok
}

// temporary says whether the database refused only because somebody else was writing.
func temporary(err error) bool {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return e.Code == "40001" || e.Code == "40P01"
	}
	return false
}
