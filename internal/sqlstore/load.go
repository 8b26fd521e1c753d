package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// Load says what waits in the database. What it costs grows with that, and not with what is done: every count is of an
// index that holds what waits and nothing else.
func (s *Store) Load(ctx context.Context, now time.Time) (l bridge.Load, err error) {
	fail := func(err error) (bridge.Load, error) { return bridge.Load{}, fmt.Errorf("read what waits: %w", err) }
	if l.Pending, _, err = first(ctx, s, column[int], countPending); err != nil {
		return fail(err)
	}
	if l.Outbox, _, err = first(ctx, s, scanBacklog, countOwed, now); err != nil {
		return fail(err)
	}
	if l.Inbox, _, err = first(ctx, s, scanBacklog, countInbox); err != nil {
		return fail(err)
	}
	if l.Webhooks, err = s.hooksLoad(ctx); err != nil {
		return fail(err)
	}
	if l.Bytes, l.LogBytes, err = s.size(ctx); err != nil {
		return fail(err)
	}
	return l, nil
}

const (
	countPending = `SELECT COUNT(*) FROM questions WHERE state = 'pending'`
	// A reminder that is due later is not owed yet.
	countOwed  = `SELECT COUNT(*), MIN(owed_since) FROM effects WHERE NOT failed AND owed_since <= $1`
	countInbox = `SELECT COUNT(*), MIN(received_at) FROM inbox WHERE state = 'waiting'`
)

func scanBacklog(row dbutil.Scannable) (b bridge.Backlog, err error) {
	err = row.Scan(&b.Waiting, maybeMoment(&b.Oldest))
	return b, err
}

func (s *Store) hooksLoad(ctx context.Context) ([]bridge.HooksLoad, error) {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]bridge.HooksLoad, 0, len(endpoints))
	for _, e := range endpoints {
		h := bridge.HooksLoad{Endpoint: e.Name, Pending: bridge.Backlog{Waiting: e.Pending}, Failed: e.Failed, Disabled: e.DisabledAt != nil}
		if e.Pending > 0 {
			if h.Pending.Oldest, _, err = first(ctx, s, func(row dbutil.Scannable) (at *time.Time, err error) {
				err = row.Scan(maybeMoment(&at))
				return at, err
			}, oldestDelivery, e.Name); err != nil {
				return nil, err
			}
		}
		all = append(all, h)
	}
	return all, nil
}

const oldestDelivery = `SELECT MIN(created_at) FROM webhook_deliveries WHERE endpoint = $1 AND state = 'pending'`

// size is that of the database, and of SQLite's log, in bytes.
func (s *Store) size(ctx context.Context) (database, log int64, err error) {
	if s.db.Dialect != dbutil.SQLite {
		database, _, err = first(ctx, s, column[int64], `SELECT pg_database_size(current_database())`)
		return database, 0, err
	}
	for path, into := range map[string]*int64{s.path: &database, s.path + "-wal": &log} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		*into = info.Size()
	}
	return database, log, nil
}
