package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-sqlite3"
	"go.mau.fi/util/dbutil"
)

// sqliteDriver sets up every connection: what is committed is on disk, and does not wait for a reader.
const sqliteDriver = "sqlite3-question-bridge"

func init() {
	sql.Register(sqliteDriver, &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		for _, pragma := range []string{
			"foreign_keys = ON",
			"journal_mode = WAL",
			"synchronous = FULL",
			"busy_timeout = 5000",
			// How a statement or a savepoint is taken back stays in memory: a batch would make a file for it each time.
			"temp_store = MEMORY",
			// In pages of 4 KiB. A page that changes often is moved out of the log once and not again and again.
			"wal_autocheckpoint = 4000",
		} {
			if _, err := conn.Exec("PRAGMA "+pragma, []driver.Value{}); err != nil {
				return fmt.Errorf("%s: %w", pragma, err)
			}
		}
		return nil
	}})
}

// sqliteURI makes the file, readable by its owner alone, and its address. Transactions take the write lock when they
// begin: one that first reads would be refused at once when somebody else wrote in between. What is deleted is
// overwritten.
func sqliteURI(path string) (string, error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return "", errors.New("no database file: give its path")
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	address, err := fileAddress(path)
	return address + "?_txlock=immediate&_secure_delete=on&_stmt_cache_size=64", err
}

// fileAddress is the address of a file, without options.
func fileAddress(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	// A '#', '?' or '%' in the path would end it early or mean something else.
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), nil
}

// Checkpoint moves the write-ahead log of SQLite into the database and cuts it to nothing, so that nothing erased can be
// read there any more. It gives way to readers: then it does what it can and returns nil. PostgreSQL looks after its own.
func (s *Store) Checkpoint(ctx context.Context) error {
	if s.db.Dialect != dbutil.SQLite {
		return nil
	}
	leave, err := s.door.enter(ctx)
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
