package matrix

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// limitedServer refuses the first sends, with a wait that stands in the body alone, and counts all of them.
type limitedServer struct {
	r             *rig
	refuse, sends int
	wait          time.Duration
}

func limitServer(r *rig, refuse int, wait time.Duration) *limitedServer {
	l := &limitedServer{r: r, refuse: refuse, wait: wait}
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		l.sends++
		if l.refuse == 0 {
			return false
		}
		l.refuse--
		w.WriteHeader(429)
		_, _ = fmt.Fprintf(w, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":%d}`, l.wait.Milliseconds())
		return true
	})
	return l
}

func (l *limitedServer) asked() int {
	l.r.server.mu.Lock()
	defer l.r.server.mu.Unlock()
	return l.sends
}

func (l *limitedServer) lookUps() (n int) {
	l.r.server.mu.Lock()
	defer l.r.server.mu.Unlock()
	for _, call := range l.r.server.calls {
		if strings.HasSuffix(call, "/messages") {
			n++
		}
	}
	return n
}

// A19: of thirty questions at once the homeserver refuses the first, and says how long to wait: it counts all that one
// user sends, so none of the others is tried before. In the end each stands in its room once.
func TestA19Thirty(t *testing.T) {
	refusals := 0
	r := newRig(t, func(c *Config) { c.Keycaps, c.Limited = false, func() { refusals++ } })
	const wait = 1200 * time.Millisecond
	homeserver := limitServer(r, 3, wait)
	other := "!other:ex.org"
	r.server.addRoom(other, "@root:ex.org", "@dana:ex.org")
	var asked []bridge.QuestionID
	for i := range 30 {
		q := plain()
		q.Conversation = room
		if i%2 == 1 {
			q.Conversation = bridge.ConversationID(other)
		}
		asked = append(asked, r.askedIn(q).ID)
	}
	for refused := 1; refused <= 3; refused++ {
		if waiting := r.pump(); len(waiting) != 30 {
			t.Fatalf("%d of 30 wait", len(waiting))
		}
		r.clock.Move(wait - time.Millisecond)
		r.pump()
		if got := homeserver.asked(); got != refused {
			t.Fatalf("the homeserver was asked %d times before the wait was over, want %d", got, refused)
		}
		if d := r.question(asked[29]).Delivery.State; d != bridge.Queued {
			t.Errorf("its asker sees %s", d)
		}
		r.clock.Move(time.Millisecond)
	}
	if waiting := r.pump(); len(waiting) != 0 {
		t.Fatalf("still waits: %v", waiting)
	}
	if refusals != 3 {
		t.Errorf("%d refusals are counted", refusals)
	}
	var posted []string
	for _, in := range []string{room, other} {
		for _, e := range r.server.sent(in, "m.room.message") {
			posted = append(posted, fmt.Sprint(e["content"].(map[string]any)["elicitation_id"]))
		}
	}
	slices.Sort(posted)
	if n := homeserver.lookUps(); n > 3 {
		t.Errorf("looked for %d sends, want only those that were tried", n)
	}
	if len(posted) != 30 || len(slices.Compact(posted)) != 30 {
		t.Errorf("posted %d times: %q", len(posted), posted)
	}
}

// A19: a homeserver that takes no messages from us keeps nobody from answering, not even behind a carrier's question that we
// would have to refuse.
func TestA19Answered(t *testing.T) {
	r := carrierRig(t)
	q, m := r.ask(plain())
	homeserver := limitServer(r, 100, time.Hour)
	r.put("1", r.says("@pod:ex.org", "m.room.message", strings.Replace(carriedQuestion, `"meaning":"choose",`, ``, 1)),
		r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	if homeserver.asked() != 1 {
		t.Errorf("asked %d times", homeserver.asked())
	}
	// One that makes us wait a little is waited for.
	homeserver = limitServer(r, 1, time.Second)
	r.clock.Move(time.Hour)
	r.put("2", r.says("@pod:ex.org", "m.room.message", strings.Replace(carriedQuestion, `"meaning":"choose",`, ``, 1)))
	r.work()
	r.clock.Move(time.Second)
	r.work()
	if said := r.bodies(); len(said) != 2 || !strings.Contains(said[1], "refused") {
		t.Errorf("said %q", said)
	}
}

// A19: what a person is to be told once is told, though the homeserver made us wait before.
func TestA19Courtesy(t *testing.T) {
	r := newRig(t, nil)
	_, m := r.ask(plain())
	limitServer(r, 1, time.Minute)
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "9")))
	r.work()
	waiting := r.pump()
	var held *bridge.ErrHeld // which is no try, of those that are tried once
	if said := r.bodies(); len(said) != 1 || len(waiting) != 1 || !errors.As(waiting[0], &held) || held.Again != time.Minute {
		t.Fatalf("said %q, waits for %v", said, waiting)
	}
	r.clock.Move(time.Minute)
	r.pump()
	if said := r.bodies(); len(said) != 2 || said[1] != "There is no option 9. Please write 1 or 2, or an option's name." {
		t.Errorf("said %q", said)
	}
}
