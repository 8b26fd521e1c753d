package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrServed says that another process serves this database already.
type ErrServed struct {
	Holder string // which one, as far as it can be known
}

func (e *ErrServed) Error() string {
	return "the database is served by another process already: " + e.Holder
}

// servingKey is the number of our advisory lock on PostgreSQL.
const servingKey = 7165732

func (s *Store) serve(ctx context.Context, c Config) (release func(), err error) {
	if c.Type == SQLite {
		return serveFile(c.Path + ".lock")
	}
	return s.servePostgres(ctx)
}

// serveFile locks a file beside the database. The lock ends with the process, however that ends; the file stays.
func serveFile(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		holder, _ := os.ReadFile(path)
		_ = file.Close()
		if errors.Is(err, errLocked) {
			return nil, &ErrServed{Holder: fmt.Sprintf("%s (%s)", strings.TrimSpace(string(holder)), filepath.Base(path))}
		}
		return nil, err
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := errors.Join(file.Truncate(0), writeAtStart(file, holder)); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

func writeAtStart(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// servePostgres takes an advisory lock on a connection of its own, and keeps that open. The lock ends with it.
func (s *Store) servePostgres(ctx context.Context) (release func(), err error) {
	conn, err := s.db.RawDB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var got bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", servingKey).Scan(&got); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if !got {
		holder := postgresHolder(ctx, conn)
		return nil, errors.Join(&ErrServed{Holder: holder}, conn.Close())
	}
	// Closing the pool leaves a connection alone that is lent out, and closes it when it comes back.
	return func() { _ = conn.Close() }, nil
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
