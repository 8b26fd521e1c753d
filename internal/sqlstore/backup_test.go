package sqlstore_test

import (
	"context"
	"errors"

	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// restored is a database made of a backup, as docs/operations.md says.
func restored(t *testing.T, d database, backup string) database {
	t.Helper()
	if d.Type == sqlstore.SQLite {
		return database{sqlstore.Config{Type: sqlstore.SQLite, Path: backup, Serving: true}}
	}
	uri, drop, err := postgres.NewDatabase(t.Context(), t.Name()+"-restored")
	noError(t, err)
	t.Cleanup(func() { noError(t, drop()) })
	out, err := exec.Command("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+uri, backup).CombinedOutput()
	if err != nil {
		t.Fatalf("pg_restore: %v\n%s", err, out)
	}
	return database{sqlstore.Config{Type: sqlstore.Postgres, URI: uri, Serving: true}}
}

// A copy that is made while others write has all that was committed before, and nothing by half; it can be served from.
func TestBackupUnderLoad(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		serving := d
		serving.Serving = true
		s := serving.open(t)
		ctx, stop := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		var mu sync.Mutex
		written := map[bridge.QuestionID]bool{}
		enough := make(chan struct{}, 100_000)
		for i := range 4 {
			writing.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					q := question(i*1_000_000 + n)
					err := s.Atomically(t.Context(), func(ctx context.Context) error {
						if err := s.CreateQuestion(ctx, q); err != nil {
							return err
						}
						return s.AddEffects(ctx, bridge.Effect{Kind: "k", Question: q.ID, Key: string(q.ID), Due: start})
					})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					written[q.ID] = true
					mu.Unlock()
					enough <- struct{}{}
				}
			})
		}
		for range 200 {
			<-enough
		}
		mu.Lock()
		var before []bridge.QuestionID
		for id := range written {
			before = append(before, id)
		}
		mu.Unlock()
		path := filepath.Join(t.TempDir(), "copy of #1?.db")
		size, err := sqlstore.Backup(t.Context(), d.Config, path)
		<-enough // they go on
		stop()
		writing.Wait()
		noError(t, err)
		info := must(os.Stat(path))(t)
		if info.Mode().Perm() != 0o600 || info.Size() != size || size == 0 {
			t.Errorf("%v, %d bytes, said to be %d", info.Mode(), info.Size(), size)
		}
		if left := must(os.ReadDir(filepath.Dir(path)))(t); len(left) != 1 {
			t.Errorf("left beside it: %v", left)
		}

		c := restored(t, d, path).open(t)
		for _, id := range before {
			must(c.Question(t.Context(), id))(t)
		}
		var questions, pairs int
		noError(t, c.Database().QueryRow(t.Context(), `SELECT COUNT(*) FROM questions`).Scan(&questions))
		noError(t, c.Database().QueryRow(t.Context(), `SELECT COUNT(*) FROM questions q JOIN effects e ON e.question = q.id`).Scan(&pairs))
		equal(t, "with what they owe", pairs, questions)
		t.Logf("%d before, %d in the copy, %d in the end; %d bytes", len(before), questions, len(written), size)
		ask(t, c, -1, room) // it is written to as any other
		noError(t, c.AddEffects(t.Context(), bridge.Effect{Kind: "k", Question: "q_-1", Key: "new", Due: start}))
	})
}

// Of a database that is not served, the same; and a file that is there is never replaced.
func TestBackupReplacesNothing(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := must(sqlstore.Open(t.Context(), d.Config))(t)
		ask(t, s, 1, room)
		noError(t, s.Close())
		dir := t.TempDir()
		path := filepath.Join(dir, "copy")
		must(sqlstore.Backup(t.Context(), d.Config, path))(t)
		before := must(os.ReadFile(path))(t)
		if _, err := sqlstore.Backup(t.Context(), d.Config, path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("again: %v", err)
		}
		if string(must(os.ReadFile(path))(t)) != string(before) {
			t.Error("it was replaced")
		}
		must(restored(t, d, path).open(t).Question(t.Context(), "q_1"))(t)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sqlstore.Backup(ctx, d.Config, filepath.Join(dir, "broken off")); err == nil {
			t.Error("a copy that is broken off succeeds")
		}
		if _, err := sqlstore.Backup(t.Context(), d.Config, filepath.Join(dir, "none", "copy")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("into no folder: %v", err)
		}
		for _, entry := range must(os.ReadDir(dir))(t) {
			if !strings.HasPrefix(entry.Name(), "copy") {
				t.Errorf("left behind: %s", entry.Name())
			}
		}
	})
}

// What is none of our databases is not copied, and none is made where there is none.
func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	noError(t, os.WriteFile(other, nil, 0o600))
	for name, c := range map[string]sqlstore.Config{
		"no database":      {Type: sqlstore.SQLite, Path: filepath.Join(dir, "none.db")},
		"another's":        {Type: sqlstore.SQLite, Path: other},
		"no such server":   {Type: sqlstore.Postgres, URI: "postgres://user:pass-word@127.0.0.1:1/x?sslmode=disable"},
		"no such database": {Type: sqlstore.Postgres, URI: "postgres://user:pass-word@/none?host=" + dir},
	} {
		_, err := sqlstore.Backup(t.Context(), c, filepath.Join(dir, "copy"))
		if err == nil {
			t.Errorf("%s: copied", name)
		} else if strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
	if left := must(os.ReadDir(dir))(t); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// Without pg_dump the command for it is said, without the password.
func TestBackupWithoutDump(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := sqlstore.Backup(t.Context(), sqlstore.Config{Type: sqlstore.Postgres, URI: "postgres://user:pass-word@db.example.org/bridge?sslmode=require"},
		filepath.Join(t.TempDir(), "copy"))
	var none *sqlstore.ErrNoDump
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	equal(t, "command", none.Command, "pg_dump '--format=custom' '--no-owner' '--dbname=postgres://user@db.example.org/bridge?sslmode=require' --file=FILE")
}
