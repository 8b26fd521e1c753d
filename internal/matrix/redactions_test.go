package matrix

import (
	"context"
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
		noError(t, r.syncOnce(t.Context()))
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
	r.syncRedactions(ctx)
	if ctx.Err() != nil {
		t.Error("still syncing")
	}
}
