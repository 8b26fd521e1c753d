package matrix

import (
	"net/http"
	"testing"
	"time"
)

// TestAReplyFasterThanTheSend lets a person answer a question whose send never answered us, before its echo: homeservers
// push out of order after a failure. The reply waits until we know what it is about, and counts.
func TestAReplyFasterThanTheSend(t *testing.T) {
	r := newRig(t, nil)
	cut := true
	r.server.after = func(_ http.ResponseWriter, req *http.Request) {
		if cut && req.PathValue("type") == "m.room.message" {
			panic(http.ErrAbortHandler)
		}
	}
	q := r.asked(plain())
	if waiting := r.pump(); len(waiting) != 1 {
		t.Fatalf("waiting: %v", waiting)
	}
	event := ""
	r.server.mu.Lock()
	cut = false
	for _, e := range r.server.rooms[room].events {
		if content, _ := e["content"].(map[string]any); content["elicitation_id"] == string(q.ID) {
			event, _ = e["event_id"].(string)
		}
	}
	r.server.mu.Unlock()
	if event == "" {
		t.Fatal("the question did not arrive")
	}
	r.put("t1", r.says("@dana:ex.org", "m.room.message", threadReply(event, "2")))
	r.put("t1", r.says("@sam:ex.org", "m.room.message", threadReply("$somebody-elses", "2")))
	r.work()
	r.expect(q.ID, "pending")
	r.clock.Move(2 * time.Second)
	if waiting := r.pump(); len(waiting) != 0 {
		t.Fatalf("waiting: %v", waiting)
	}
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	if events, err := r.db.NextEvents(t.Context(), r.clock.Now().Add(time.Hour), 10); err != nil || len(events) != 0 {
		t.Errorf("%d events wait, %v", len(events), err)
	}
}

// TestTalkDoesNotWaitForASend shows that what is said about other messages is handled while a send is in doubt.
func TestTalkDoesNotWaitForASend(t *testing.T) {
	r := newRig(t, nil)
	first, event := r.ask(plain())
	r.server.after = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	r.asked(plain())
	r.pump()
	r.put("t1", r.says("@dana:ex.org", "m.room.message", threadReply("$somebody-elses", "2")),
		r.says("@dana:ex.org", "m.room.message", threadReply(event, "2")))
	r.work()
	r.expect(first.ID, "answered skip by @dana:ex.org")
}
