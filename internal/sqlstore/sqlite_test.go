package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// Every connection is set up, not only the first.
func TestSQLiteSettings(t *testing.T) {
	s := newSQLite(t).open(t)
	for range 4 {
		conn := must(s.Database().RawDB.Conn(t.Context()))(t)
		defer conn.Close()
		for pragma, want := range map[string]string{
			"foreign_keys": "1", "journal_mode": "wal", "synchronous": "2", "secure_delete": "1", "busy_timeout": "5000",
			"temp_store": "2", "wal_autocheckpoint": "4000",
		} {
			var got string
			noError(t, conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
			equal(t, pragma, got, want)
		}
	}
}

// A transaction has the write lock from its beginning, before it writes: nobody can write between what it reads and what
// it writes.
func TestSQLiteLocksWhenItBegins(t *testing.T) {
	d := newSQLite(t)
	s := d.open(t)
	q := ask(t, s, 1, room)
	other := must(sql.Open("sqlite3", "file:"+d.Path+"?_busy_timeout=0"))(t)
	defer other.Close()
	noError(t, s.Atomically(t.Context(), func(ctx context.Context) error {
		must(s.Question(ctx, q.ID))(t)
		if _, err := other.Exec("BEGIN IMMEDIATE"); err == nil {
			t.Error("another connection could write")
		}
		return nil
	}))
}

// A writer that waits for another one of this process gives up as soon as nobody waits for it any more.
func TestWaitingEndsWithTheContext(t *testing.T) {
	s := newSQLite(t).open(t)
	q := ask(t, s, 1, room)
	noError(t, s.Atomically(t.Context(), func(context.Context) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if _, _, err := s.Settle(ctx, answer(q, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("settle: %v", err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		return nil
	}))
}

func TestSQLitePath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a#b?c%20d e+é;&x=y")
	noError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	for _, path := range []string{filepath.Join(dir, "full#.db"), "relative?.db"} {
		d := database{sqlstore.Config{Type: sqlstore.SQLite, Path: path, Serving: true}}
		ask(t, d.open(t), 1, room)
		info := must(os.Stat(path))(t)
		equal(t, "mode", info.Mode().Perm(), 0o600)
		if info.Size() == 0 && must(os.Stat(path+"-wal"))(t).Size() == 0 {
			t.Errorf("%s: nothing was written there", path)
		}
	}
	var names []string
	for _, entry := range must(os.ReadDir(dir))(t) {
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(entry.Name(), "-wal"), "-shm"), ".lock"))
	}
	for _, name := range names {
		if name != "full#.db" && name != "relative?.db" {
			t.Errorf("a file called %s", name)
		}
	}
}

// Field case D2: readers and waiters keep nothing open, so that the log of SQLite stays small while there is work and is
// cut to nothing when there is none.
func TestD2(t *testing.T) {
	d := newSQLite(t)
	s := d.open(t)
	for i := range 300 {
		q := question(i)
		q.Content = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)
		noError(t, s.CreateQuestion(t.Context(), q))
	}
	var reading sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := s.ListQuestions(t.Context(), bridge.Listing{Asker: "agent", Limit: 200}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	size := func() int64 { return must(os.Stat(d.Path + "-wal"))(t).Size() }
	var largest int64
	for i := range 1500 {
		p := bridge.Posting{Question: "q_1", Conversation: room, Progress: bytes.Repeat([]byte("1"), 20_000), ChangedAt: start.Add(time.Duration(i))}
		noError(t, s.SavePosting(t.Context(), p))
		largest = max(largest, size())
	}
	close(stop)
	reading.Wait()
	t.Logf("30 MB written, the log grew to %d kB", largest/1000)
	if largest > 20e6 {
		t.Errorf("the log grew to %d bytes", largest)
	}
	equal(t, "connections in use", s.Database().RawDB.Stats().InUse, 0)
	noError(t, s.Checkpoint(t.Context()))
	equal(t, "log when idle", size(), 0)
}

// A reader that takes its time is in the way of a checkpoint, which gives up for now.
func TestCheckpointGivesWay(t *testing.T) {
	d := newSQLite(t)
	s := d.open(t)
	ask(t, s, 1, room)
	rows, err := s.Database().RawDB.Query("SELECT id FROM questions")
	noError(t, err)
	rows.Next()
	ask(t, s, 2, room)
	begin := time.Now()
	noError(t, s.Checkpoint(t.Context()))
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it waited %v", took)
	}
	ask(t, s, 3, room)
	noError(t, rows.Close())
	noError(t, s.Checkpoint(t.Context()))
	equal(t, "log", must(os.Stat(d.Path+"-wal"))(t).Size(), 0)
}

// What was finished or forgotten cannot be read in any of the files.
func TestErased(t *testing.T) {
	d := newSQLite(t)
	s := d.open(t)
	q := question(1)
	q.Title = "Secret title"
	noError(t, s.CreateQuestion(t.Context(), q))
	var batch []bridge.Incoming
	for i := range 50 {
		e := incoming(bridge.InteractionID(fmt.Sprintf("$%d", i)), room)
		e.Raw = json.RawMessage(`"Secret words ` + strings.Repeat("and more ", 10*i) + `"`)
		batch = append(batch, e)
	}
	must(s.StoreEvents(t.Context(), batch))(t)
	found := func(secret string) (where []string) {
		for _, suffix := range []string{"", "-wal"} {
			if bytes.Contains(must(os.ReadFile(d.Path+suffix))(t), []byte(secret)) {
				where = append(where, "store.db"+suffix)
			}
		}
		return where
	}
	if len(found("Secret words")) == 0 {
		t.Fatal("the test cannot see what is stored")
	}
	noError(t, s.Checkpoint(t.Context()))
	for _, e := range batch {
		noError(t, s.FinishInteraction(t.Context(), e.ID))
	}
	must2(s.Settle(t.Context(), answer(q, 1)))(t)
	equal(t, "forgotten", must(s.Forget(t.Context(), q.ForgetAfter, 10))(t), 1)
	noError(t, s.Checkpoint(t.Context()))
	for _, secret := range []string{"Secret words", "Secret title"} {
		if where := found(secret); len(where) > 0 {
			t.Errorf("%q is still in %v", secret, where)
		}
	}
	equal(t, "known still", must(s.StoreEvents(t.Context(), batch))(t), 0)
}
