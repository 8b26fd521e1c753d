package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// helperEnv makes the test program a parent to be killed instead: its value says which child it starts.
const helperEnv = "TESTSERVER_HELPER"

// Most tests share one homeserver and one PostgreSQL.
var (
	sharedDir      string
	sharedServer   = sync.OnceValues(func() (*Server, error) { return Start(context.Background(), Options{DataDir: sharedDir}) })
	sharedPostgres = sync.OnceValues(func() (string, error) {
		dsn, stop, err := Postgres(context.Background())
		stopShared = append(stopShared, stop)
		return dsn, err
	})
	stopShared []func()
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(helperEnv); kind != "" {
		helper(kind)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "testserver-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		sharedDir = dir
		code := m.Run()
		if server, err := sharedServer(); err == nil {
			_ = server.Stop()
		}
		for _, stop := range stopShared {
			if stop != nil {
				stop()
			}
		}
		return code
	}())
}

// within bounds everything a test waits for.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func shared(t *testing.T) *Server {
	t.Helper()
	return must(sharedServer())(t)
}

// own starts a homeserver for one test and stops it at the end.
func own(t *testing.T, opts Options) *Server {
	t.Helper()
	if opts.DataDir == "" {
		opts.DataDir = t.TempDir()
	}
	server := must(Start(within(t), opts))(t)
	t.Cleanup(func() { noError(t, server.Stop()) })
	return server
}

func register(t *testing.T, server *Server, account Account) *User {
	t.Helper()
	return must(server.Register(within(t), account))(t)
}

// must turns a pair of a value and an error into the value, or ends the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		noError(t, err)
		return value
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

func refused(t *testing.T, err error, code string) {
	t.Helper()
	var refusal *APIError
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v, want a refusal with %s", err, code)
	}
	equal(t, "refusal", refusal.Code, code)
}

// withBody matches a message by its text.
func withBody(body string) func(Event) bool {
	return func(e Event) bool { return e.Type == "m.room.message" && e.Body() == body }
}

// withID matches one event.
func withID(id string) func(Event) bool {
	return func(e Event) bool { return e.ID == id }
}
