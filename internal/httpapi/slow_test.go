package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// soon is what the timeouts of a server are lowered to.
const soon = 100 * time.Millisecond

// hasty is a house whose server waits for nobody, and tells when it has closed a connection.
func hasty(t *testing.T, change func(*http.Server)) (h *house, closed chan struct{}) {
	t.Helper()
	closed = make(chan struct{}, 16)
	h = newHouse(t, func(c *httpapi.Config, s *http.Server) {
		c.SignIn.Identity = nobody{}
		c.Gates = collector.New(collector.Parts{Key: collector.Key{7}})
		s.ConnState = func(c net.Conn, state http.ConnState) {
			switch tcp, ok := c.(*net.TCPConn); {
			case ok && state == http.StateNew: // the kernel keeps little for a client that does not read
				_ = tcp.SetWriteBuffer(4096)
			case state == http.StateClosed:
				closed <- struct{}{}
			}
		}
		change(s)
	})
	return h, closed
}

// nobody vouches for anybody.
type nobody struct{ httpapi.Identity }

// dial connects and sends something.
func (h *house) dial(send string) net.Conn {
	h.Helper()
	little := func(_, _ string, c syscall.RawConn) error { // a client that takes little before it reads
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}
	conn, err := (&net.Dialer{Control: little}).DialContext(h.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		h.Fatal(err)
	}
	if _, err := io.WriteString(conn, send); err != nil {
		h.Fatal(err)
	}
	return conn
}

func (h *house) head(method, path, secret, more string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: questions\r\nAuthorization: Bearer %s\r\n%s", method, path, secret, more)
}

func waitClosed(t *testing.T, closed chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("the server keeps the connection")
	}
}

func TestHeaderTooLarge(t *testing.T) {
	h := newHouse(t)
	for size, want := range map[int]int{30 << 10: http.StatusOK, 40 << 10: http.StatusRequestHeaderFieldsTooLarge, 1 << 20: http.StatusRequestHeaderFieldsTooLarge} {
		conn := h.dial(h.head("GET", "/api/agent/questions", h.secret, "Connection: close\r\nX-Large: "))
		go func() { _, _ = io.WriteString(conn, strings.Repeat("x", size)+"\r\n\r\n") }() // it may be cut
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(size, err)
		}
		if res.StatusCode != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, res.StatusCode, want)
		}
	}
}

// A header that does not come to its end has its connection closed.
func TestSlowHeader(t *testing.T) {
	h, closed := hasty(t, func(s *http.Server) { s.ReadHeaderTimeout = soon })
	h.dial(h.head("GET", "/api/agent/questions", h.secret, ""))
	waitClosed(t, closed)
}

// A body that does not come to its end is refused, nothing of it is done, and its connection is closed.
func TestSlowBody(t *testing.T) {
	h, closed := hasty(t, func(s *http.Server) { s.ReadTimeout = soon })
	paced, own := h.scoped("ci", httpapi.ScopeQueue, httpapi.ScopeGate), collector.Key{7}
	for path, secret := range map[string]string{
		queuePath + "propose": paced, queuePath + "next": paced, queuePath + "use": paced, queuePath + "stale": paced, queuePath + "prune": paced,
		queuePath + "candidates/c_1/answer": paced, queuePath + "callback": paced, opsQueries: paced, opsQuestions: h.secret, "/api/agent/questions/q_1/cancel": h.secret, answerPath("q_1"): h.dana, "/api/auth/matrix": "",
		opsGates: paced, responsePath("query"): own.Capability("query"),
	} {
		method := "POST"
		if path == queuePath+"callback" {
			method = "PUT"
		}
		conn := h.dial(h.head(method, path, secret, "Idempotency-Key: k\r\nContent-Length: 100\r\n\r\n{\"prompt\""))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		h.problem(answer{res.StatusCode, res.Header, body, res.Close}, http.StatusRequestTimeout, "request_timeout")
		waitClosed(t, closed)
	}
	if h.engine.stored() != 0 || len(h.engine.shown) != 0 {
		t.Error("half a request was done")
	}
}

// A client that does not read what it asked for has its connection closed.
func TestSlowReader(t *testing.T) {
	h, closed := hasty(t, func(s *http.Server) { s.WriteTimeout = soon })
	patient := newHouse(t)
	id := bridge.QuestionID(patient.asked(`{"prompt":"Go?","data":{"x":"` + strings.Repeat("x", 8000) + `"}}`).ID)
	h.engine.set(func(m *memory) {
		for i := range 200 { // more than the kernel keeps for a client
			q := patient.engine.byID[id]
			q.ID += bridge.QuestionID(strconv.Itoa(i))
			m.byID[q.ID], m.order = q, append(m.order, q.ID)
		}
	})
	h.dial(h.head("GET", "/api/agent/questions?limit=200", h.secret, "\r\n"))
	waitClosed(t, closed)
}
