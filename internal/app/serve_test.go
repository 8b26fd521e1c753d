package app

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
)

// homeserverSide serves what a homeserver calls of a bridge that does not run, and gives the address and the token.
func homeserverSide(t *testing.T, change func(*http.Server)) (address, token string) {
	t.Helper()
	cfg := config.Default()
	cfg.Homeserver = config.Homeserver{URL: "http://127.0.0.1:1", Domain: "question.test"}
	cfg.Database.Path = filepath.Join(t.TempDir(), "bridge.db")
	reg := cfg.NewRegistration()
	b, err := assemble(t.Context(), Options{Config: cfg, Registration: reg, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := appserviceServer(b.channel.Handler())
	change(server)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String(), reg.HSToken
}

// On the homeserver's side only a transaction may be large.
func TestHomeserverSideSizes(t *testing.T) {
	address, token := homeserverSide(t, func(*http.Server) {})
	large := strings.Repeat(" ", 1<<20)
	for _, c := range []struct {
		name, method, path, header, body string
		want                             int
	}{
		{"a transaction", "PUT", "/_matrix/app/v1/transactions/1", "", `{"events":[]}` + large, http.StatusOK},
		{"a transaction too large", "PUT", "/_matrix/app/v1/transactions/2", "", `{"events":[]}` + strings.Repeat(large, 64), http.StatusRequestEntityTooLarge},
		{"a ping", "POST", "/_matrix/app/v1/ping", "", `{"transaction_id":"1"}`, http.StatusOK},
		{"a large ping", "POST", "/_matrix/app/v1/ping", "", `{"transaction_id":"1"}` + large, http.StatusBadRequest},
		{"a large header", "POST", "/_matrix/app/v1/ping", large[:48<<10], "{}", http.StatusRequestHeaderFieldsTooLarge},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+address+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Large", strings.ReplaceAll(c.header, " ", "x"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(c.name, err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, res.StatusCode, c.want)
		}
	}
}

// Nobody holds a connection on the homeserver's side open for long with nothing.
func TestHomeserverSideTimeouts(t *testing.T) {
	s := appserviceServer(nil)
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "body": s.ReadTimeout, "reply": s.WriteTimeout, "idle": s.IdleTimeout} {
		if d < time.Second || d > 10*time.Minute {
			t.Errorf("the %s timeout is %v", name, d)
		}
	}
	address, token := homeserverSide(t, func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	})
	for name, begun := range map[string]string{
		"header": "PUT /_matrix/app/v1/transactions/1 HTTP/1.1\r\nHost: q\r\n",
		"body":   "PUT /_matrix/app/v1/transactions/1 HTTP/1.1\r\nHost: q\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, begun); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil { // it may be told, though it was not done
			_, err = io.Copy(io.Discard, res.Body)
			if res.StatusCode == http.StatusOK {
				t.Errorf("%s: taken", name)
			}
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
		}
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Errorf("%s: the connection is kept", name)
		}
	}
}
