package app

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// logBook keeps a log that several goroutines write.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// homeserverOn answers what a bridge asks when it starts; register is its answer to the bot's registration.
func homeserverOn(t *testing.T, address string, status int, register string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	answer := func(path string, status int, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	answer("GET /_matrix/client/versions", http.StatusOK, `{"versions":["v1.2"]}`)
	answer("POST /_matrix/client/v3/register", status, register)
	answer("GET /_matrix/client/v3/account/whoami", http.StatusOK, `{"user_id":"@questions:question.test"}`)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// A homeserver that is not there yet is waited for, and the log says so; asked to end, the bridge ends without an error.
func TestServeWaitsForTheHomeserver(t *testing.T) {
	address := freeAddress(t)
	cfg, reg := checked(t, "http://"+address)
	cfg.API.Listen, cfg.Appservice.Listen = "127.0.0.1:0", "127.0.0.1:0"
	log, ready, ended := &logBook{}, make(chan Addresses, 1), make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		ended <- Run(ctx, Options{Config: cfg, Registration: reg, Log: zerolog.New(log), Ready: func(at Addresses) { ready <- at }})
	}()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), "The homeserver cannot be reached yet"); {
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		case <-ready:
			t.Fatal("it is ready without a homeserver")
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log does not say what it waits for: %s", log)
		}
	}
	homeserverOn(t, address, http.StatusOK, `{"user_id":"@questions:question.test"}`)
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatalf("it never gets ready: %s", log)
	}
	end()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A homeserver that does not know the bridge is not waited for: somebody has to do something, and is told what.
func TestServeIsNotKnownToTheHomeserver(t *testing.T) {
	address := freeAddress(t)
	cfg, reg := checked(t, "http://"+address)
	cfg.API.Listen, cfg.Appservice.Listen = "127.0.0.1:0", "127.0.0.1:0"
	homeserverOn(t, address, http.StatusUnauthorized, `{"errcode":"M_UNKNOWN_TOKEN","error":"Unknown token"}`)
	err := Run(t.Context(), Options{Config: cfg, Registration: reg, Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "does not know the bridge") || !strings.Contains(err.Error(), "it needs registration.yaml") {
		t.Errorf("got %v", err)
	}
}
