package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// One process at a time serves a database; others may open it for a moment.
func TestServing(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		serving := d
		serving.Serving, serving.MaxOpenConns = true, 1
		s := serving.open(t)
		ask(t, s, 1, room)
		_, err := sqlstore.Open(t.Context(), serving.Config)
		var served *sqlstore.ErrServed
		if !errors.As(err, &served) || served.Holder == "" || served.Holder == "unknown" {
			t.Fatalf("a second one: %v", err)
		}
		t.Log(err)
		ask(t, d.open(t), 2, room) // a command beside it
		noError(t, s.Close())
		ask(t, serving.open(t), 3, room)
	})
}

// A standby says whom it waits for, waits, and serves as soon as that one has ended; or gives up when it is asked to.
func TestStandby(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		d.Serving = true
		first := must(sqlstore.Open(t.Context(), d.Config))(t)
		ask(t, first, 1, room)
		holders := make(chan string, 2)
		d.Waiting = func(holder string) { holders <- holder }
		type opened struct {
			s   *sqlstore.Store
			err error
		}
		standby := func(ctx context.Context) <-chan opened {
			done := make(chan opened, 1)
			go func() {
				s, err := sqlstore.Open(ctx, d.Config)
				done <- opened{s, err}
			}()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp, second := standby(ctx), standby(t.Context())
		for range 2 {
			if holder := <-holders; holder == "" || holder == "unknown" {
				t.Errorf("it waits for %q", holder)
			}
		}
		cancel()
		if got := <-gaveUp; !errors.Is(got.err, context.Canceled) {
			t.Errorf("asked to end, it ends with %v", got.err)
		}
		select {
		case got := <-second:
			t.Fatalf("it does not wait: %v", got.err)
		default:
		}
		noError(t, first.Close())
		got := <-second
		noError(t, got.err)
		must(got.s.Question(t.Context(), "q_1"))(t)
		noError(t, got.s.Close())
		if len(holders) > 0 {
			t.Errorf("it said again that it waits: for %s", <-holders)
		}
	})
}

// Whoever serves notices that the lock is lost: another process could have it.
func TestTheLockIsLost(t *testing.T) {
	lose := func(t *testing.T, d database, take func(s *sqlstore.Store), why string) {
		t.Helper()
		d.Serving = true
		s := d.open(t)
		lost := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { lost <- s.Serves(ctx) }()
		take(s)
		if err := <-lost; err == nil || !strings.Contains(err.Error(), "may be served by another process now: "+why) {
			t.Errorf("got %v", err)
		}
		d.open(t) // and so it could
	}
	t.Run("SQLite", func(t *testing.T) {
		d := newSQLite(t)
		lose(t, d, func(*sqlstore.Store) { noError(t, os.Remove(d.Path+".lock")) }, "stat ")
	})
	t.Run("SQLite, replaced", func(t *testing.T) {
		d := newSQLite(t)
		lose(t, d, func(*sqlstore.Store) {
			noError(t, os.Rename(d.Path+".lock", d.Path+".old"))
			noError(t, os.WriteFile(d.Path+".lock", nil, 0o600))
		}, "store.db.lock was replaced")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		lose(t, newPostgres(t), func(s *sqlstore.Store) {
			run(t, s, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7165732
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		}, "the connection that holds the lock is lost")
	})
	t.Run("not lost", func(t *testing.T) {
		both(t, func(t *testing.T, d database) {
			d.Serving = true
			s := d.open(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serves(ctx) }()
			noError(t, s.CheckServing(ctx))
			cancel()
			noError(t, <-ended)
		})
	})
}
