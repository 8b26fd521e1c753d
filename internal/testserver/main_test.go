package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// helperEnv makes the test program a parent to be killed instead: its value says which child it starts.
const helperEnv = "TESTSERVER_HELPER"

// Most tests share one homeserver and one PostgreSQL, which start when first asked for.
var (
	sharedDir    string
	stopShared   []func()
	sharedServer = sync.OnceValues(func() (*Server, error) {
		server, err := Start(context.Background(), Options{DataDir: sharedDir})
		if err == nil {
			stopShared = append(stopShared, func() { _ = server.Stop() })
		}
		return server, err
	})
	sharedPostgres = sync.OnceValues(func() (string, error) {
		dsn, stop, err := Postgres(context.Background())
		if err == nil {
			stopShared = append(stopShared, stop)
		}
		return dsn, err
	})
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
		for _, stop := range stopShared {
			stop()
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

var names atomic.Int64

// unique makes a name that no other test of this run has, nor this one when it runs again.
func unique(base string) string { return fmt.Sprint(base, "_", names.Add(1)) }

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
	account.Name = unique(account.Name)
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
