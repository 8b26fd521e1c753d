package httpapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// postgres serves all tests, each with a database of its own.
var postgres testserver.SharedPostgres

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	if code == 0 {
		code = everythingSeen()
	}
	os.Exit(code)
}

// onBoth runs a test in a manor over each database.
func onBoth(t *testing.T, f func(m *manor)) {
	t.Run("SQLite", func(t *testing.T) { f(newManorOn(t, sqlite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) {
		uri, drop, err := postgres.NewDatabase(t.Context(), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := drop(); err != nil {
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
