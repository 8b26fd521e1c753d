package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// late makes the homeserver take every send, drop the connection, and keep the messages back until land is called, as if
// it was still at work on them.
type late struct {
	r    *rig
	held []*http.Request
	body [][]byte
	on   bool
}

func lateServer(r *rig) *late {
	l := &late{r: r, on: true}
	r.server.intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		if !l.on || req.Method != http.MethodPut || !strings.Contains(req.URL.Path, "/send/") {
			return false
		}
		body, _ := io.ReadAll(req.Body)
		l.held, l.body = append(l.held, req), append(l.body, body)
		panic(http.ErrAbortHandler)
	})
	return l
}

// off lets the homeserver answer again; what it has taken it keeps.
func (l *late) off() {
	l.r.server.mu.Lock()
	defer l.r.server.mu.Unlock()
	l.on = false
}

// lose forgets what the homeserver has taken and gives the path of the first of it.
func (l *late) lose() string {
	l.r.server.mu.Lock()
	defer l.r.server.mu.Unlock()
	path := l.held[0].URL.Path
	l.on, l.held, l.body = false, nil, nil
	return path
}

// after runs when a send was taken and not yet answered.
func (r *rig) after(do func(http.ResponseWriter, *http.Request)) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.server.after = do
}

// land puts what was kept back into the room, and gives the events.
func (l *late) land() (events []map[string]any) {
	l.r.server.mu.Lock()
	defer l.r.server.mu.Unlock()
	l.on = false
	for i, req := range l.held {
		parts := strings.Split(req.URL.Path, "/")
		var content map[string]any
		_ = json.Unmarshal(l.body[i], &content)
		l.r.server.next++
		e := map[string]any{
			"event_id": fmt.Sprintf("$late%d", l.r.server.next), "type": parts[len(parts)-2], "sender": bot,
			"content": content, "origin_server_ts": time.Now().UnixMilli(),
		}
		l.r.server.rooms[room].events = append(l.r.server.rooms[room].events, e)
		events = append(events, e)
	}
	l.held, l.body = nil, nil
	return events
}

// restart is the same bridge as another process.
func (r *rig) restart() {
	r.t.Helper()
	r.clock.Move(time.Millisecond)
	var err error
	r.Service, err = New(r.cfg, r.db, r.clock)
	noError(r.t, err)
	parts := r.engine.Parts
	parts.Channel, parts.Gatekeeper = r.Service, r.Service
	r.engine = bridge.NewEngine(parts)
	noError(r.t, r.db.ReleaseEffects(r.t.Context(), r.clock.Now()))
}

func held(errs []error) bool {
	var retry *bridge.ErrRetry
	return len(errs) == 1 && errors.As(errs[0], &retry) && retry.After <= flight
}

// A send that the homeserver may still be at is not repeated, neither by the process that sent it nor by the next one.
func TestInFlight(t *testing.T) {
	for name, restarted := range map[string]bool{"the same process": false, "the next process": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Keycaps = false })
			homeserver := lateServer(r)
			q := r.asked(plain())
			r.pump()
			if restarted {
				r.restart()
			}
			r.clock.Move(time.Second)
			if errs := r.pump(); !held(errs) {
				t.Fatalf("it does not wait: %v", errs)
			}
			homeserver.land()
			r.clock.Move(flight)
			if errs := r.pump(); len(errs) != 0 {
				t.Fatalf("it still waits: %v", errs)
			}
			if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 || r.question(q.ID).Delivery.State != bridge.Posted {
				t.Errorf("posted %d times, delivery %+v", len(sent), r.question(q.ID).Delivery)
			}
		})
	}
}

// What has never arrived is sent again, under the same transaction id.
func TestNeverArrived(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	homeserver := lateServer(r)
	r.asked(plain())
	r.pump()
	first := homeserver.lose()
	r.clock.Move(time.Second)
	r.pump()
	r.clock.Move(flight)
	if errs := r.pump(); len(errs) != 0 {
		t.Fatalf("it still waits: %v", errs)
	}
	r.server.mu.Lock()
	again := r.server.txns[first]
	r.server.mu.Unlock()
	if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 || again == "" {
		t.Errorf("sent %d times, under %v", len(sent), r.server.txns)
	}
}

func TestMayArrive(t *testing.T) {
	for want, errs := range map[bool][]error{
		false: {&net.OpError{Op: "dial", Err: errors.New("refused")}, &bridge.ErrRetry{After: time.Second}},
		true:  {&net.OpError{Op: "read", Err: errors.New("reset")}, io.EOF, io.ErrUnexpectedEOF},
	} {
		for _, err := range errs {
			if got := mayArrive(fmt.Errorf("PUT: %w", err)); got != want {
				t.Errorf("%v: %v", err, got)
			}
		}
	}
}

// A homeserver that makes two messages of one send is cleaned up after: the first one stays, the second one goes, and
// what was said to the second one is said to the question.
func TestSentTwice(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	homeserver := lateServer(r)
	q := r.asked(plain())
	r.pump()
	homeserver.off()
	r.clock.Move(time.Second)
	r.pump()
	r.clock.Move(flight)
	r.pump() // sent again
	kept := r.server.sent(room, "m.room.message")[0]
	twin := homeserver.land()[0]
	m := twin["event_id"].(string)
	r.put("1", r.echo(twin), r.echo(kept), r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	gone := r.server.sent(room, "m.room.redaction")
	if len(gone) != 1 || gone[0]["content"].(map[string]any)["redacts"] != m {
		t.Errorf("taken back: %v", gone)
	}
	if got := r.question(q.ID).Delivery.Message; string(got) != kept["event_id"] {
		t.Errorf("the question stands in %s", got)
	}
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// The echo of an earlier try may come before the later one is answered: then the earlier one is the message.
func TestEchoBeforeAnswer(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	homeserver := lateServer(r)
	q := r.asked(plain())
	r.pump()
	homeserver.off()
	r.clock.Move(time.Second)
	r.pump()
	r.clock.Move(flight)
	landed := make(chan map[string]any, 1)
	r.after(func(http.ResponseWriter, *http.Request) {
		r.server.mu.Unlock()
		defer r.server.mu.Lock()
		event := homeserver.land()[0]
		r.put("1", r.echo(event))
		r.work()
		landed <- event
	})
	r.pump()
	first := <-landed
	if got := r.question(q.ID).Delivery.Message; string(got) != first["event_id"] {
		t.Errorf("the question stands in %s, want %s", got, first["event_id"])
	}
	second := r.server.sent(room, "m.room.message")[0]
	r.after(nil)
	r.put("2", r.echo(second))
	r.work()
	if gone := r.server.sent(room, "m.room.redaction"); len(gone) != 1 || gone[0]["content"].(map[string]any)["redacts"] != second["event_id"] {
		t.Errorf("taken back: %v", gone)
	}
}

// A question that ended while the homeserver was at its message is closed as soon as the message is there: within the
// time that we look for it, or whenever its echo comes.
func TestEndedInFlight(t *testing.T) {
	for name, echoed := range map[string]bool{"found": false, "echoed long after": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Keycaps = false })
			homeserver := lateServer(r)
			q := r.asked(plain())
			r.pump()
			_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
			noError(t, err)
			r.restart()
			r.clock.Move(time.Second)
			if errs := r.pump(); !held(errs) {
				t.Fatalf("it does not wait: %v", errs)
			}
			if echoed {
				r.clock.Move(flight)
				r.pump()
			}
			event := homeserver.land()[0]
			r.clock.Move(flight)
			if echoed {
				r.put("1", r.echo(event))
				r.work()
			}
			if errs := r.pump(); len(errs) != 0 {
				t.Fatalf("it still waits: %v", errs)
			}
			r.closed(q, event)
			r.put("2", r.echo(event)) // for the first time, or once more
			r.work()
			r.pump()
			r.closed(q, event)
		})
	}
}

// closed wants the question's message in the room with one notice and one edit.
func (r *rig) closed(q bridge.Question, message map[string]any) {
	r.t.Helper()
	notices, edits := 0, 0
	for _, e := range r.server.sent(room, "m.room.message") {
		content := e["content"].(map[string]any)
		switch relation, _ := content["m.relates_to"].(map[string]any); {
		case content["msgtype"] == "m.notice" && content[outcomeKey] != nil && relation["event_id"] == message["event_id"]:
			notices++
		case content["m.new_content"] != nil && relation["event_id"] == message["event_id"]:
			edits++
		}
	}
	if notices != 1 || edits != 1 || r.question(q.ID).State == bridge.Pending {
		r.t.Errorf("%d notices, %d edits, and the question is %s", notices, edits, r.question(q.ID).State)
	}
}

// The next step of a set, sent and not answered for when the question ended, is closed with it.
func TestStepEndedInFlight(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	set := plain()
	set.Items[0].Header = "first"
	set.Items = append(set.Items, set.Items[0])
	set.Items[1].Header = "second"
	q, m := r.ask(set)
	homeserver := lateServer(r)
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.pump()
	step := homeserver.land()[0]
	r.put("2", r.echo(step))
	r.work()
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	r.clock.Move(time.Minute)
	if errs := r.pump(); len(errs) != 0 {
		t.Fatalf("it still waits: %v", errs)
	}
	edits := 0
	for _, e := range r.server.sent(room, "m.room.message") {
		content := e["content"].(map[string]any)
		if relation, _ := content["m.relates_to"].(map[string]any); content["m.new_content"] != nil && relation["event_id"] == step["event_id"] {
			edits++
		}
	}
	if edits != 1 {
		t.Errorf("the step was closed %d times", edits)
	}
}

// A number reaction that comes up after its question was closed is taken away.
func TestReactionEndedInFlight(t *testing.T) {
	r := newRig(t, nil)
	late := make(chan *late, 1)
	r.after(func(http.ResponseWriter, *http.Request) {
		r.server.after = nil
		r.server.mu.Unlock()
		defer r.server.mu.Lock()
		late <- lateServer(r) // for the reactions
	})
	q := r.asked(plain())
	r.pump()
	homeserver := <-late
	homeserver.off()
	_, err := r.engine.Cancel(t.Context(), "ci", q.ID)
	noError(t, err)
	if errs := r.pump(); !held(errs) {
		t.Fatalf("it does not wait: %v", errs)
	}
	r.clock.Move(2 * flight)
	if errs := r.pump(); len(errs) != 0 {
		t.Fatalf("it still waits: %v", errs)
	}
	reaction := homeserver.land()[0]
	r.put("1", r.echo(reaction))
	r.work()
	if gone := r.server.sent(room, "m.room.redaction"); len(gone) != 1 || gone[0]["content"].(map[string]any)["redacts"] != reaction["event_id"] {
		t.Errorf("taken back: %v", gone)
	}
}
