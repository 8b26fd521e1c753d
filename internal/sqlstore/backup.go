package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Backup writes a consistent copy of a database, which another process may serve meanwhile, to a new file that only its
// owner may read: a SQLite file, or what pg_restore reads. Everything that was committed before it began is in it. It
// changes nothing of the database, and upgrades nothing. The file appears whole, checked and on disk, or not at all; one
// that is there is never replaced (fs.ErrExist). It gives the size of the copy in bytes.
func Backup(ctx context.Context, c Config, path string) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	copied, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // which only the owner may read
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = copied.Close()
		_ = os.Remove(copied.Name())
		_ = os.Remove(copied.Name() + "-journal") // SQLite's, of a copy that was broken off
	}()
	if c.Type == SQLite {
		err = copySQLite(ctx, c.Path, copied.Name())
	} else {
		err = dumpPostgres(ctx, c.URI, copied.Name())
	}
	if err != nil {
		return 0, err
	}
	if err := copied.Sync(); err != nil {
		return 0, err
	}
	info, err := copied.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), publish(copied.Name(), path)
}

// publish gives a finished file its name, unless something has that meanwhile.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without hard links
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = dir.Sync() // not every file system can
	return nil
}

// copySQLite copies by one read transaction: writers go on beside it, and it never starts over because of them.
func copySQLite(ctx context.Context, from, to string) error {
	db, err := openPlain(from, "mode=rw")
	if err != nil {
		return err
	}
	defer db.Close()
	var owned string
	if err := db.QueryRowContext(ctx, "SELECT owner FROM database_owner").Scan(&owned); err != nil || owned != owner {
		return errors.Join(fmt.Errorf("%s is no database of ours", filepath.Base(from)), err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	made, err := openPlain(to, "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer made.Close()
	var verdict string
	if err := made.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil || verdict != "ok" {
		return errors.Join(fmt.Errorf("the copy is damaged, and so may be the database: %s", verdict), err)
	}
	return nil
}

// openPlain opens a file that must be there, without the settings of a database that is worked with.
func openPlain(path, options string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	address, err := fileAddress(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite3", address+"?_busy_timeout=5000&"+options)
}

// ErrNoDump says that there is no pg_dump to make the copy with. Command is what makes one elsewhere; it asks for the
// password.
type ErrNoDump struct{ Command string }

func (e *ErrNoDump) Error() string {
	return "pg_dump is not on the PATH; where it is, this makes the copy: " + e.Command
}

// dumpPostgres runs pg_dump, which reads one snapshot. The password is not in its arguments, where others could see it.
func dumpPostgres(ctx context.Context, uri, to string) error {
	u, err := url.Parse(uri)
	if err != nil {
		return errors.New("the PostgreSQL address cannot be read")
	}
	password, _ := u.User.Password()
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	args := []string{"--format=custom", "--no-owner", "--dbname=" + u.String()}
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		return &ErrNoDump{Command: "pg_dump '" + strings.Join(args, "' '") + "' --file=FILE"}
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--no-password", "--file="+to)...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pg_dump: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}
