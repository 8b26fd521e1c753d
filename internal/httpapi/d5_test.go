package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// Field case D5: timeouts beyond the range clamp, what is no whole number is 400, and no server timeout cuts a wait.
func TestD5Timeouts(t *testing.T) {
	m := newManor(t, func(p plan) {
		p.api.ReplyTimeout, p.server.WriteTimeout, p.server.ReadTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	})
	q := m.asked(`{"prompt":"Go?"}`)
	for _, timeout := range []string{"0", "-1", "-99999999999999999999"} {
		start := time.Now()
		if got := m.question(m.get(waitPath(q.ID, "?timeout="+timeout)), http.StatusOK); got.State != schema.Pending || time.Since(start) > 2*time.Second {
			t.Errorf("timeout %s: %+v after %v", timeout, got, time.Since(start))
		}
	}
	for _, timeout := range []string{"abc", "25.5", "", "1e1", "0x10", "5s", "%2B5", "99999999999999999999x"} {
		p := m.problem(m.get(waitPath(q.ID, "?timeout="+timeout)), http.StatusBadRequest, "invalid_parameter")
		if !hasFault(p, "invalid_parameter", "", "timeout") {
			t.Errorf("%+v", p)
		}
	}
	start := time.Now()
	if got := m.question(m.get(waitPath(q.ID, "?timeout=1")), http.StatusOK); got.State != schema.Pending || time.Since(start) < time.Second {
		t.Errorf("a wait of a second took %v: %+v", time.Since(start), got)
	}
	m.question(m.get("/api/agent/questions/"+q.ID), http.StatusOK) // on the same connection
}

// TestD5HugeTimeoutClamps lets waits of absurd and of default length begin, and settles them.
func TestD5HugeTimeoutClamps(t *testing.T) {
	m := newManor(t)
	q := m.asked(`{"prompt":"Go?"}`)
	var all sync.WaitGroup
	for _, query := range []string{"?timeout=999999", "?timeout=99999999999999999999", "", "?timeout=30"} {
		all.Go(func() {
			if got := m.question(m.get(waitPath(q.ID, query)), http.StatusOK); got.State != schema.Answered {
				t.Errorf("%s: %+v", query, got)
			}
		})
	}
	m.until(func() bool { return m.hub.Waiting() == 4 })
	m.answered(q.ID, "approve")
	all.Wait()
}

// Field case D5: 100 waits on one question are released together with the same result.
func TestD5ManyWaitsOnOneQuestion(t *testing.T) {
	m := newManor(t)
	q := m.asked(`{"prompt":"Go?"}`)
	results := make(chan string, 100)
	for range cap(results) {
		go func() { results <- string(m.get(waitPath(q.ID, "?timeout=30")).body) }()
	}
	m.until(func() bool { return m.hub.Waiting() == cap(results) })
	start := time.Now()
	m.answered(q.ID, "approve")
	first := <-results
	for range cap(results) - 1 {
		if other := <-results; other != first {
			t.Errorf("%s and %s", first, other)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("released after %v", took)
	}
	if want := m.get("/api/agent/questions/" + q.ID); string(want.body) != first {
		t.Errorf("fetched %s, waited %s", want.body, first)
	}
}

// Field case D5: the waits of clients that left leave nothing behind.
func TestD5DroppedWaits(t *testing.T) {
	m := newManor(t)
	q := m.asked(`{"prompt":"Go?"}`)
	m.http.CloseIdleConnections()
	before := runtime.NumGoroutine()
	const waits = 1000
	var open []net.Conn
	address := m.url[len("http://"):]
	for i := range waits {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		body := ""
		if i%2 == 1 {
			body = "Content-Length: 2\r\n\r\n{}"
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", waitPath(q.ID, "?timeout=30"), m.secret, body)
	}
	m.until(func() bool { return m.hub.Waiting() == waits })
	for _, c := range open {
		c.Close()
	}
	start := time.Now()
	m.until(func() bool { return m.hub.Waiting() == 0 && runtime.NumGoroutine() <= before+10 })
	if took := time.Since(start); took > 10*time.Second { // 2 s on an idle machine
		t.Errorf("back to the baseline only after %v", took)
	}
}

// Field case D5: shutting down releases the waits with the question as it stands.
func TestD5Shutdown(t *testing.T) {
	m := newManor(t)
	q := m.asked(`{"prompt":"Go?"}`)
	results := make(chan answer, 100)
	for range cap(results) {
		go func() { results <- m.get(waitPath(q.ID, "?timeout=30")) }()
	}
	m.until(func() bool { return m.hub.Waiting() == cap(results) })
	start := time.Now()
	m.hub.Close()
	for range cap(results) {
		if got := m.question(<-results, http.StatusOK); got.State != schema.Pending {
			t.Errorf("%+v", got)
		}
	}
	late := m.get(waitPath(q.ID, "?timeout=30"))
	if got := m.question(late, http.StatusOK); got.State != schema.Pending || !late.last {
		t.Errorf("a latecomer got %+v, the last on its connection: %t", got.State, late.last)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
