package httpapi_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// One PostgreSQL serves all tests, each with a database of its own.
var (
	stopPostgres = func() {}
	postgres     = sync.OnceValues(func() (string, error) {
		address, stop, err := testserver.Postgres(context.Background())
		if err == nil {
			stopPostgres = stop
		}
		return address, err
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopPostgres()
	if code == 0 {
		code = everythingSeen()
	}
	os.Exit(code)
}

// onBoth runs a test in a manor over each database.
func onBoth(t *testing.T, f func(m *manor)) {
	t.Run("SQLite", func(t *testing.T) { f(newManorOn(t, sqlite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) {
		server, err := postgres()
		if err != nil {
			t.Fatal(err)
		}
		uri, err := testserver.NewDatabase(t.Context(), server, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := testserver.DropDatabase(ctx, uri); err != nil {
				t.Error(err)
			}
		})
		f(newManorOn(t, sqlstore.Config{Type: sqlstore.Postgres, URI: uri}))
	})
}

func sqlite(t *testing.T) sqlstore.Config {
	t.Helper()
	return sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db")}
}
