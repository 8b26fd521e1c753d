package httpapi_test

import (
	"context"
	"io"
	"net/http"
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

// until waits for a condition that a signal cannot tell.
func (h *house) until(reached func() bool) {
	h.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			h.Fatal("never came to pass")
		}
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
