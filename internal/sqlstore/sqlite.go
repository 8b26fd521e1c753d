package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.mau.fi/util/dbutil"
)

// sqliteURI makes the file, readable by its owner alone, and its address. Transactions take the write lock when they
// begin: one that first reads would be refused at once when somebody else wrote in between. What is deleted is
// overwritten.
func sqliteURI(path string) (string, error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return "", errors.New("no database file: give its path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	// A '#', '?' or '%' in the path would end it early or mean something else.
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?_txlock=immediate&_secure_delete=on&_stmt_cache_size=64", nil
}

// Checkpoint moves the write-ahead log of SQLite into the database and cuts it to nothing, so that nothing erased can be
// read there any more. It gives way to readers: then it does what it can and returns nil. PostgreSQL looks after its own.
func (s *Store) Checkpoint(ctx context.Context) error {
	if s.db.Dialect != dbutil.SQLite {
		return nil
	}
	leave, err := s.gate.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := s.db.RawDB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Writers wait for a checkpoint that waits for readers: not for long.
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 200"); err != nil {
		return err
	}
	var busy, pages, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if _, back := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA busy_timeout = 5000"); back != nil {
		err = errors.Join(err, back)
	}
	if err != nil && !temporary(err) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}
