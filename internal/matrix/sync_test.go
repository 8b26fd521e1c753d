package matrix

import (
	"context"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func redactionOf(id, target string) map[string]any {
	return map[string]any{
		"event_id": id, "type": "m.room.redaction", "sender": "@root:ex.org", "redacts": target, "content": map[string]any{},
		"origin_server_ts": testStart.UnixMilli(),
	}
}

func syncWith(next string, timeline map[string]any) map[string]any {
	return map[string]any{"next_batch": next, "rooms": map[string]any{"join": map[string]any{room: map[string]any{"timeline": timeline}}}}
}

// A homeserver that never pushes redactions: they come by /sync, also those that an answer leaves out.
func TestRedactionSync(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	first, m1 := r.ask(plain())
	second, m2 := r.ask(plain())
	third, m3 := r.ask(plain())
	r.server.mu.Lock()
	r.server.rooms[room].events = append(r.server.rooms[room].events, redactionOf("$r2", m2)) // only /messages has it
	r.server.syncs = []map[string]any{
		syncWith("s1", map[string]any{"events": []any{redactionOf("$r3", m3)}}), // from before we began
		syncWith("s2", map[string]any{"events": []any{redactionOf("$r1", m1)}, "limited": true, "prev_batch": "t99"}),
	}
	r.server.mu.Unlock()
	for range 2 {
		noError(t, r.syncOnce(t.Context(), r.engine))
	}
	if token, err := r.db.Value(t.Context(), valueSyncToken); err != nil || token != "s2" {
		t.Fatalf("the token is %q, %v", token, err)
	}
	r.work()
	for q, want := range map[bridge.QuestionID]string{first.ID: "failed redacted", second.ID: "failed redacted", third.ID: "posted"} {
		if got := r.delivery(q); got != want {
			t.Errorf("delivery is %s, want %s", got, want)
		}
	}
}

// A homeserver that was seen to push a redaction needs no sync.
func TestPushedRedactionsEndTheSync(t *testing.T) {
	r := newRig(t, nil)
	r.put("1", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"$x"}`))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r.sync(ctx, r.engine)
	if ctx.Err() != nil {
		t.Error("still syncing")
	}
}

// A redaction may overtake the answer to the send of what it takes away.
func TestRedactionBeforeLink(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	cut(r, 1)
	q := r.asked(plain())
	r.pump()
	m := r.server.sent(room, "m.room.message")[0]["event_id"].(string)
	r.put("1", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"`+m+`"}`))
	r.work()
	r.clock.Move(time.Second)
	r.pump()
	r.clock.Move(time.Second)
	r.work()
	if got := r.delivery(q.ID); got != "failed redacted" {
		t.Errorf("delivery is %s", got)
	}
	// Nobody waits for what is none of ours.
	r.put("2", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"$unknown"}`))
	r.work()
	events, err := r.db.NextEvents(t.Context(), r.clock.Now().Add(time.Hour), 10)
	noError(t, err)
	if len(events) != 0 {
		t.Errorf("%d events wait", len(events))
	}
}

// A10: a redaction that comes before the reply that it takes away, in one transaction, leaves nothing to answer with.
func TestA10RedactionFirst(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	pruned := r.says("@dana:ex.org", "m.room.message", `{}`) // $p1
	because := r.says("@dana:ex.org", "m.room.message", threadReply(m, "1"))
	because = strings.Replace(because, `"content"`, `"unsigned":{"redacted_because":{"type":"m.room.redaction"}},"content"`, 1)
	status := r.put("1", r.says("@dana:ex.org", "m.room.redaction", `{"redacts":"$p1"}`), pruned, because,
		r.says("@dana:ex.org", "m.reaction", `{}`))
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if bodies := r.bodies(); status != 200 || len(bodies) != 1 {
		t.Errorf("status %d; said %q", status, bodies)
	}
	aside, err := r.db.AsideEvents(t.Context(), 10)
	noError(t, err)
	if len(aside) != 0 {
		t.Errorf("%d events are kept aside", len(aside))
	}
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}
