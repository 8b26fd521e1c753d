package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrServed says that another process serves this database already.
type ErrServed struct {
	Holder string // which one, as far as it can be known
}

func (e *ErrServed) Error() string {
	return "the database is served by another process already: " + e.Holder
}

// serving is the lock that one process at a time has on a database.
type serving struct {
	release func()
	// check says why the lock may not be ours any more; nil while it surely is.
	check func(ctx context.Context) error
}

// servingKey is the number of our advisory lock on PostgreSQL.
const servingKey = 7165732

// How often a standby tries to get the lock, and how often and how long whoever has it makes sure of that.
const (
	lockRetried  = 500 * time.Millisecond
	lockChecked  = 3 * time.Second
	lockPatience = 3 * time.Second
)

// serve takes the serving lock. Told to wait, it waits for the process that has it.
func (s *Store) serve(ctx context.Context, c Config) (serving, error) {
	waiting := c.Waiting
	for {
		lock, err := s.tryServe(ctx, c)
		served, taken := errors.AsType[*ErrServed](err)
		if !taken || c.Waiting == nil {
			return lock, err
		}
		if waiting != nil {
			waiting(served.Holder)
			waiting = nil
		}
		select {
		case <-time.After(lockRetried):
		case <-ctx.Done():
			return serving{}, ctx.Err()
		}
	}
}

func (s *Store) tryServe(ctx context.Context, c Config) (serving, error) {
	if c.Type == SQLite {
		return serveFile(c.Path + ".lock")
	}
	return s.servePostgres(ctx)
}

// Serves returns nil when ctx ends, and an error as soon as this process may no longer be the one that serves: the
// connection that holds the lock on PostgreSQL is gone, or somebody removed SQLite's lock file. It notices within six
// seconds.
func (s *Store) Serves(ctx context.Context) error {
	again := time.NewTicker(lockChecked)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		if err := s.checkServing(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the database may be served by another process now: %w", err)
		}
	}
}

// checkServing bounds a check that hangs: the driver may wait for a server that cannot be reached, whatever ctx says.
func (s *Store) checkServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	checked := make(chan error, 1)
	go func() { checked <- s.serving.check(ctx) }()
	select {
	case err := <-checked:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveFile locks a file beside the database. The lock ends with the process, however that ends; the file stays.
func serveFile(path string) (serving, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return serving{}, err
	}
	if err := lockFile(file); err != nil {
		holder, _ := os.ReadFile(path)
		_ = file.Close()
		if errors.Is(err, errLocked) {
			return serving{}, &ErrServed{Holder: fmt.Sprintf("%s (%s)", strings.TrimSpace(string(holder)), filepath.Base(path))}
		}
		return serving{}, err
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := errors.Join(file.Truncate(0), writeAtStart(file, holder)); err != nil {
		_ = file.Close()
		return serving{}, err
	}
	return serving{
		release: func() { _ = file.Close() },
		check:   func(context.Context) error { return sameFile(file, path) },
	}, nil
}

// sameFile says whether a path still leads to the file that was opened there: whoever locks another one does not meet us.
func sameFile(file *os.File, path string) error {
	ours, err := file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(ours, there) {
		return fmt.Errorf("%s was replaced", filepath.Base(path))
	}
	return nil
}

func writeAtStart(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// servePostgres takes an advisory lock on a connection of its own, and keeps that open. The lock ends with it.
func (s *Store) servePostgres(ctx context.Context) (serving, error) {
	conn, err := s.db.RawDB.Conn(ctx)
	if err != nil {
		return serving{}, err
	}
	var got bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", servingKey).Scan(&got); err != nil {
		return serving{}, errors.Join(err, conn.Close())
	}
	if !got {
		served := &ErrServed{Holder: postgresHolder(ctx, conn)}
		_ = conn.Close()
		return serving{}, served
	}
	return serving{
		// Closing the pool leaves a connection alone that is lent out, and closes it when it comes back.
		release: func() { _ = conn.Close() },
		check: func(ctx context.Context) error {
			if _, err := conn.ExecContext(ctx, "SELECT 1"); err != nil {
				return fmt.Errorf("the connection that holds the lock is lost: %w", err)
			}
			return nil
		},
	}, nil
}

func postgresHolder(ctx context.Context, conn *sql.Conn) string {
	var holder string
	err := conn.QueryRowContext(ctx, `
		SELECT concat('connection ', a.pid, ' from ', coalesce(host(a.client_addr), 'this machine'), ' since ', to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS'))
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objid = $1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		LIMIT 1`, servingKey).Scan(&holder)
	if err != nil {
		return "unknown"
	}
	return holder
}
