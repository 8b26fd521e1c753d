package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestWaits has many clients wait on a real store: they keep nobody from asking and cancelling, and when the bridge is
// asked to end, each is answered with the question as it stands, and the bridge ends without an error.
func TestWaits(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, _ := s.ask(threeWays)
	const waits = 64 // more than any pool of connections to the database
	type ended struct {
		status int
		state  string
		took   time.Duration
	}
	results := make(chan ended, waits)
	var sent sync.WaitGroup
	sent.Add(waits)
	for range waits {
		go func() {
			start := time.Now()
			status, state := s.wait(q, sent.Done)
			results <- ended{status, state, time.Since(start)}
		}()
	}
	sent.Wait()
	busy, cancel := context.WithTimeout(s.ctx, 15*time.Second)
	defer cancel()
	for range 10 {
		other, err := s.client().Ask(busy, "OPS", coreAsk())
		s.ok(err)
		got, err := s.client().Cancel(busy, other.ID)
		s.ok(err)
		if got.State != "cancelled" {
			t.Errorf("%s is %s", other.ID, got.State)
		}
	}
	if len(results) > 0 {
		t.Fatalf("a wait ended early: %+v", <-results)
	}
	s.ok(s.bridge.Process.Signal(syscall.SIGTERM))
	for range waits {
		if r := <-results; r.status != http.StatusOK || r.state != "pending" || r.took > 25*time.Second {
			t.Errorf("a wait ended with %+v", r)
		}
	}
	if err := s.bridge.Wait(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}

// wait makes one wait of half a minute, and gives the status and the question's state, or 0 without a response.
// sent is called once the request is on its way.
func (s *stage) wait(question string, sent func()) (status int, state string) {
	ctx := httptrace.WithClientTrace(s.ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.api+"/api/agent/questions/"+question+"/wait?timeout=30", nil)
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var q struct{ State string }
	if err := json.NewDecoder(resp.Body).Decode(&q); err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, q.State
}
