package app

import (
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// postgres serves all tests, each with a database of its own.
var postgres testserver.SharedPostgres

// onBoth runs a test on each kind of database.
func onBoth(t *testing.T, f func(t *testing.T, d config.Database)) {
	t.Run("SQLite", func(t *testing.T) { f(t, newSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, newPostgres(t)) })
}

func newSQLite(t *testing.T) config.Database {
	t.Helper()
	return config.Database{Type: config.SQLite, Path: filepath.Join(t.TempDir(), "bridge.db")}
}

func newPostgres(t *testing.T) config.Database {
	t.Helper()
	uri, drop, err := postgres.NewDatabase(t.Context(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return config.Database{Type: config.Postgres, URI: uri}
}
