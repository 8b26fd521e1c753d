package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func waitPath(id, query string) string { return "/api/agent/questions/" + id + "/wait" + query }

func TestWaitReturnsAtOnceWhenSettled(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	h.engine.answer(q.ID, "approve")
	start := time.Now()
	got := h.question(h.get(waitPath(q.ID, "?timeout=30")), http.StatusOK)
	if got.State != schema.Answered || *got.Answer.Value != "approve" || got.Answer.Responder.ID != "@dana:example.org" || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %+v", time.Since(start), got)
	}
}

// Field case B2: a wait that runs out is no decision, and each end of a question is told as what it is.
func TestB2WaitTellsTheOutcomesApart(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?","options":["approve","deny"]}`)
	if got := h.question(h.get(waitPath(q.ID, "?timeout=1")), http.StatusOK); got.State != schema.Pending || got.Answer != nil || got.ResolvedAt != nil {
		t.Errorf("%+v", got)
	}
	for state, settle := range map[schema.State]func(id string){
		schema.Expired: func(id string) {
			h.engine.settle(bridge.QuestionID(id), func(q *bridge.Question) { q.State = bridge.Expired })
		},
		schema.Cancelled: func(id string) { h.post("/api/agent/questions/"+id+"/cancel", "") },
		schema.Answered:  func(id string) { h.engine.answer(id, "deny") },
	} {
		q := h.asked(`{"prompt":"Go?"}`)
		time.AfterFunc(20*time.Millisecond, func() { settle(q.ID) })
		got := h.question(h.get(waitPath(q.ID, "")), http.StatusOK)
		if got.State != state || (got.Answer != nil) != (state == schema.Answered) {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

// Field case D5: timeouts beyond the range clamp, what is no whole number is 400, and no server timeout cuts a wait.
func TestD5Timeouts(t *testing.T) {
	h := newHouse(t, func(c *httpapi.Config, s *http.Server) {
		c.ReplyTimeout, s.WriteTimeout, s.ReadTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	})
	q := h.asked(`{"prompt":"Go?"}`)
	for _, timeout := range []string{"0", "-1", "-99999999999999999999"} {
		start := time.Now()
		if got := h.question(h.get(waitPath(q.ID, "?timeout="+timeout)), http.StatusOK); got.State != schema.Pending || time.Since(start) > 2*time.Second {
			t.Errorf("timeout %s: %+v after %v", timeout, got, time.Since(start))
		}
	}
	for _, timeout := range []string{"abc", "25.5", "", "1e1", "0x10", "5s", "%2B5", "99999999999999999999x"} {
		p := h.problem(h.get(waitPath(q.ID, "?timeout="+timeout)), http.StatusBadRequest, "invalid_parameter")
		if !hasFault(p, "invalid_parameter", "", "timeout") {
			t.Errorf("%+v", p)
		}
	}
	start := time.Now()
	if got := h.question(h.get(waitPath(q.ID, "?timeout=1")), http.StatusOK); got.State != schema.Pending || time.Since(start) < time.Second {
		t.Errorf("a wait of a second took %v: %+v", time.Since(start), got)
	}
	h.question(h.get("/api/agent/questions/"+q.ID), http.StatusOK) // on the same connection
}

// TestD5HugeTimeoutClamps lets waits of absurd and of default length begin, and settles them.
func TestD5HugeTimeoutClamps(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	var all sync.WaitGroup
	for _, query := range []string{"?timeout=999999", "?timeout=99999999999999999999", "", "?timeout=30"} {
		all.Go(func() {
			if got := h.question(h.get(waitPath(q.ID, query)), http.StatusOK); got.State != schema.Answered {
				t.Errorf("%s: %+v", query, got)
			}
		})
	}
	h.until(func() bool { return h.hub.Waiting() == 4 })
	h.engine.answer(q.ID, "approve")
	all.Wait()
}

// until waits for a condition that a signal cannot tell.
func (h *house) until(reached func() bool) {
	h.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			h.Fatal("never came to pass")
		}
	}
}

// Field case D5: 100 waits on one question are released together with the same result.
func TestD5ManyWaitsOnOneQuestion(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	results := make(chan string, 100)
	for range cap(results) {
		go func() { results <- string(h.get(waitPath(q.ID, "?timeout=30")).body) }()
	}
	h.until(func() bool { return h.hub.Waiting() == cap(results) })
	start := time.Now()
	h.engine.answer(q.ID, "approve")
	first := <-results
	for range cap(results) - 1 {
		if other := <-results; other != first {
			t.Errorf("%s and %s", first, other)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("released after %v", took)
	}
	if want := h.get("/api/agent/questions/" + q.ID); string(want.body) != first {
		t.Errorf("fetched %s, waited %s", want.body, first)
	}
}

// Field case D5 over HTTP: an answer around the start of a wait is never missed.
func TestD5NoLostWakeUp(t *testing.T) {
	h := newHouse(t)
	for range 500 {
		q := h.asked(`{"prompt":"Go?"}`)
		delay := time.Duration(rand.IntN(2000)) * time.Microsecond
		time.AfterFunc(delay, func() { h.engine.answer(q.ID, "approve") })
		start := time.Now()
		got := h.question(h.get(waitPath(q.ID, "?timeout=30")), http.StatusOK)
		if took := time.Since(start); got.State != schema.Answered || took > 10*time.Second {
			t.Fatalf("answered after %v, returned %s after %v", delay, got.State, took)
		}
	}
}

// Field case D5: the waits of clients that left leave nothing behind.
func TestD5DroppedWaits(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	h.http.CloseIdleConnections()
	before := runtime.NumGoroutine()
	const waits = 1000
	var open []net.Conn
	address := h.url[len("http://"):]
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
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", waitPath(q.ID, "?timeout=30"), h.secret, body)
	}
	h.until(func() bool { return h.hub.Waiting() == waits })
	for _, c := range open {
		c.Close()
	}
	start := time.Now()
	h.until(func() bool { return h.hub.Waiting() == 0 && runtime.NumGoroutine() <= before+10 })
	if took := time.Since(start); took > 10*time.Second { // 2 s on an idle machine
		t.Errorf("back to the baseline only after %v", took)
	}
}

// Field case D5: shutting down releases the waits with the question as it stands.
func TestD5Shutdown(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	results := make(chan answer, 100)
	for range cap(results) {
		go func() { results <- h.get(waitPath(q.ID, "?timeout=30")) }()
	}
	h.until(func() bool { return h.hub.Waiting() == cap(results) })
	start := time.Now()
	h.hub.Close()
	for range cap(results) {
		if got := h.question(<-results, http.StatusOK); got.State != schema.Pending {
			t.Errorf("%+v", got)
		}
	}
	late := h.get(waitPath(q.ID, "?timeout=30"))
	if got := h.question(late, http.StatusOK); got.State != schema.Pending || !late.last {
		t.Errorf("a latecomer got %+v, the last on its connection: %t", got.State, late.last)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestWaitLooksAgain finds what another process settled.
func TestWaitLooksAgain(t *testing.T) {
	h := newHouse(t, func(c *httpapi.Config, _ *http.Server) { c.Reread = 20 * time.Millisecond })
	q := h.asked(`{"prompt":"Go?"}`)
	time.AfterFunc(50*time.Millisecond, func() {
		h.engine.set(func(m *memory) {
			other, at := m.byID[bridge.QuestionID(q.ID)], time.Now()
			other.State, other.SettledAt = bridge.Expired, &at
			m.byID[other.ID] = other
		})
	})
	if got := h.question(h.get(waitPath(q.ID, "?timeout=30")), http.StatusOK); got.State != schema.Expired {
		t.Errorf("%+v", got)
	}
}

// TestWaitReadsOnlyWhenWoken keeps idle waits off the database.
func TestWaitReadsOnlyWhenWoken(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	h.question(h.get(waitPath(q.ID, "?timeout=1")), http.StatusOK)
	h.engine.set(func(m *memory) {
		if m.reads != 2 {
			t.Errorf("an idle wait read the question %d times", m.reads)
		}
	})
}

func TestWaitFailsLikeAFetch(t *testing.T) {
	h := newHouse(t)
	h.problem(h.get(waitPath("q_nothing", "")), http.StatusNotFound, "question_not_found")
	q := h.asked(`{"prompt":"Go?"}`)
	h.engine.set(func(m *memory) { m.fail = context.DeadlineExceeded })
	a := h.get(waitPath(q.ID, ""))
	h.problem(a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("%v", a.header)
	}
	if h.hub.Waiting() != 0 {
		t.Error("a failed wait is still subscribed")
	}
}

// TestClientLeaves sees the handler end when the client goes, without a word in the log above debug.
func TestClientLeaves(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "GET", h.url+waitPath(q.ID, "?timeout=30"), nil)
	req.Header.Set("Authorization", "Bearer "+h.secret)
	done := make(chan error, 1)
	go func() {
		res, err := h.http.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		done <- err
	}()
	h.until(func() bool { return h.hub.Waiting() == 1 })
	cancel()
	if err := <-done; err == nil {
		t.Error("the request was answered")
	}
	h.until(func() bool { return h.hub.Waiting() == 0 })
}
