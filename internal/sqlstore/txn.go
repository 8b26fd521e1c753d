package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"
	"github.com/mattn/go-sqlite3"
	"go.mau.fi/util/dbutil"
)

// attempts bounds how often a write is tried that lost against another one. On SQLite each has waited for the lock for
// five seconds.
const attempts = 5

// gate lets one writer in at a time, in order of arrival. SQLite would let them in one at a time as well, but by polling,
// in no order, and gives up after its timeout. A nil gate is always open.
type gate chan struct{}

func (g gate) enter(ctx context.Context) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Atomically implements [bridge.Store]. Inside another call it joins that transaction. A transaction that lost against
// another one (SQLite: busy, PostgreSQL: deadlock or serialization failure) is rolled back and tried again, f included.
func (s *Store) Atomically(ctx context.Context, f func(ctx context.Context) error) error {
	return s.write(ctx, func(ctx context.Context) error {
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
	})
}

// write runs f, which writes by one statement or one transaction. Inside a transaction it only runs it.
func (s *Store) write(ctx context.Context, f func(ctx context.Context) error) error {
	if _, ok := s.transaction(ctx); ok {
		return f(ctx)
	}
	leave, err := s.gate.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if attempt == attempts || !temporary(err) {
			return err
		}
		pause := time.Duration(attempt) * (5*time.Millisecond + rand.N(20*time.Millisecond))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
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
