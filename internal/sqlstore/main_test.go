package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/storetest"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// The shapes that the adapters ask for.
var (
	_ bridge.Store      = (*sqlstore.Store)(nil)
	_ matrix.Store      = (*sqlstore.Store)(nil)
	_ httpapi.TokenBook = (*sqlstore.Store)(nil)
)

// postgres serves all tests, each with a database of its own.
var postgres testserver.SharedPostgres

func TestMain(m *testing.M) {
	if path := os.Getenv(lockerEnv); path != "" {
		holdWriteLock(path)
	}
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// database is where a test's store is; it can be opened again.
type database struct{ sqlstore.Config }

func (d database) open(t *testing.T) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), d.Config)
	noError(t, err)
	t.Cleanup(func() { noError(t, s.Close()) })
	return s
}

func newSQLite(t *testing.T) database {
	t.Helper()
	return database{sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "store.db")}}
}

func newPostgres(t *testing.T) database {
	t.Helper()
	uri, drop, err := postgres.NewDatabase(t.Context(), t.Name())
	noError(t, err)
	t.Cleanup(func() { noError(t, drop()) })
	return database{sqlstore.Config{Type: sqlstore.Postgres, URI: uri}}
}

// both runs a test on each database.
func both(t *testing.T, f func(t *testing.T, d database)) {
	t.Run("SQLite", func(t *testing.T) { f(t, newSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, newPostgres(t)) })
}

func TestStore(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) bridge.Store { return newSQLite(t).open(t) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) bridge.Store { return newPostgres(t).open(t) })
	})
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const room bridge.ConversationID = "!room:example.org"

// ask stores a question with this number in a conversation.
func ask(t *testing.T, s *sqlstore.Store, n int, conv bridge.ConversationID) bridge.Question {
	t.Helper()
	q := question(n)
	q.Conversation = conv
	noError(t, s.CreateQuestion(t.Context(), q))
	return q
}

func question(n int) bridge.Question {
	id := bridge.QuestionID(fmt.Sprintf("q_%d", n))
	at := start.Add(time.Duration(n) * time.Millisecond)
	return bridge.Question{
		ID: id, Asker: "agent", AskedBy: "Agent", Conversation: room, Dialect: bridge.Core, ElicitationID: string(id),
		Items: []bridge.Item{{Prompt: "Deploy?", Options: []bridge.Option{{ID: "yes", Label: "Yes", Meaning: bridge.Choose}}}},
		Scope: bridge.Room, CreatedAt: at, ExpiresAt: at.Add(time.Hour), ForgetAfter: at.Add(90 * 24 * time.Hour),
		State: bridge.Pending, Delivery: bridge.Delivery{State: bridge.Queued},
	}
}

func answer(q bridge.Question, by int) bridge.Settlement {
	return bridge.Settlement{
		Question: q.ID, State: bridge.Answered, Revision: -1, At: q.CreatedAt,
		Answer: &bridge.Answer{By: bridge.Responder{ID: bridge.UserID(fmt.Sprintf("@u%d:example.org", by))}, At: q.CreatedAt},
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// must turns a value and an error into the value, or ends the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		noError(t, err)
		return value
	}
}
