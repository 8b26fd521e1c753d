package app

import (
	"context"
	"database/sql"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
)

// A bridge that may no longer be the only one on its database ends, and says why; another one can serve then.
func TestTheLockIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		address := freeAddress(t)
		homeserverOn(t, address, http.StatusOK, `{"user_id":"@questions:question.test"}`)
		cfg, reg := checked(t, "http://"+address)
		cfg.Database = d
		cfg.API.Listen, cfg.Appservice.Listen = "127.0.0.1:0", "127.0.0.1:0"
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		start := func() (ended chan error) {
			ready := make(chan Addresses, 1)
			ended = make(chan error, 1)
			go func() {
				ended <- Run(ctx, Options{Config: cfg, Registration: reg, Log: zerolog.Nop(), Ready: func(at Addresses) { ready <- at }})
			}()
			select {
			case <-ready:
			case err := <-ended:
				t.Fatalf("it does not start: %v", err)
			case <-time.After(time.Minute):
				t.Fatal("it does not get ready")
			}
			return ended
		}
		ended := start()
		if d.Type == config.SQLite {
			if err := os.Remove(d.Path + ".lock"); err != nil {
				t.Fatal(err)
			}
		} else {
			terminateLock(t, d.URI)
		}
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "the database may be served by another process now") {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it goes on")
		}
		ended = start()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// terminateLock ends the connection that holds the serving lock, as a restart or a failover would.
func terminateLock(t *testing.T, uri string) {
	t.Helper()
	db, err := sql.Open("postgres", uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var ended int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
		AND objid = 7165732 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS ended`).Scan(&ended); err != nil || ended != 1 {
		t.Fatal(ended, err)
	}
}
