package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func isSend(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/send/m.room.message/")
}

// A19: a homeserver that asks us to wait is waited for, as long as it says, wherever it says so.
func TestA19(t *testing.T) {
	for name, limit := range map[string]func(w http.ResponseWriter){
		"body": func(w http.ResponseWriter) {
			w.WriteHeader(429)
			_, _ = fmt.Fprint(w, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":12000}`)
		},
		"header": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "12")
			w.WriteHeader(429)
			_, _ = fmt.Fprint(w, `{"errcode":"M_LIMIT_EXCEEDED"}`)
		},
		"neither, nor JSON": func(w http.ResponseWriter) { w.WriteHeader(429) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Keycaps = false })
			refused := 0
			asked := func() int {
				r.server.mu.Lock()
				defer r.server.mu.Unlock()
				return refused
			}
			r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
				if !isSend(req) || refused == 3 {
					return false
				}
				refused++
				limit(w)
				return true
			})
			q := r.asked(plain())
			for i := range 3 {
				waiting := r.pump()
				var retry *bridge.ErrRetry
				if len(waiting) != 1 || !errors.As(waiting[0], &retry) {
					t.Fatalf("try %d: %v", i, waiting)
				}
				if want := 12 * time.Second; name != "neither, nor JSON" && retry.After != want {
					t.Errorf("waits %s, want %s", retry.After, want)
				}
				before := asked()
				if again := r.pump(); len(again) != 0 {
					t.Errorf("tried before its time: %v", again)
				}
				// Somebody joins, for which what is queued is tried at once; the homeserver is spared it all the same.
				noError(t, r.engine.Changed(t.Context(), room))
				r.pump()
				if asked() != before {
					t.Error("asked the homeserver again before its time")
				}
				r.clock.Move(retry.After)
			}
			r.pump()
			if got := r.question(q.ID).Delivery.State; got != bridge.Posted {
				t.Errorf("delivery is %s", got)
			}
			if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 {
				t.Errorf("posted %d times", len(sent))
			}
		})
	}
}

// A19: a question that cannot be delivered before its deadline expires, unposted; until then its asker sees it queued.
func TestA19Expires(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		w.WriteHeader(429)
		_, _ = fmt.Fprint(w, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":3600000}`)
		return true
	})
	q := r.asked(plain())
	r.pump()
	if got := r.question(q.ID).Delivery; got.State != bridge.Queued {
		t.Errorf("delivery is %+v", got)
	}
	r.clock.Move(time.Hour)
	_, err := r.engine.Expire(t.Context(), 10)
	noError(t, err)
	r.server.intercept(nil)
	r.pump()
	r.expect(q.ID, "expired")
	if sent := r.bodies(); len(sent) != 0 {
		t.Errorf("sent %q", sent)
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		w.WriteHeader(429)
		_, _ = fmt.Fprint(w, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1e300}`)
		return true
	})
	r.asked(plain())
	var retry *bridge.ErrRetry
	if waiting := r.pump(); len(waiting) != 1 || !errors.As(waiting[0], &retry) || retry.After != longestWait {
		t.Errorf("waits %v", waiting)
	}
}

// cut makes the homeserver take the first sends and drop the connection before it answers.
func cut(r *rig, times int) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.server.after = func(http.ResponseWriter, *http.Request) {
		if times > 0 {
			times--
			panic(http.ErrAbortHandler)
		}
	}
}

// A send whose answer was lost is looked up before it is sent again, also when the homeserver has forgotten its
// transaction ids meanwhile.
func TestLostAnswer(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	cut(r, 1)
	q := r.asked(plain())
	if waiting := r.pump(); len(waiting) != 1 {
		t.Fatalf("the lost answer gave %v", waiting)
	}
	r.server.forgetTransactions()
	for range 5 { // other events above it, over several pages
		r.server.mu.Lock()
		r.server.rooms[room].events = append(r.server.rooms[room].events, map[string]any{
			"event_id": "$other", "type": "m.room.message", "sender": "@dana:ex.org", "content": map[string]any{sendKey: string(q.ID) + "/render/0"},
			"origin_server_ts": testStart.UnixMilli(),
		})
		r.server.mu.Unlock()
	}
	r.clock.Move(time.Second)
	if waiting := r.pump(); len(waiting) != 0 {
		t.Fatalf("still waits: %v", waiting)
	}
	ours := 0
	var id string
	for _, e := range r.server.sent(room, "m.room.message") {
		if e["sender"] == bot {
			ours, id = ours+1, e["event_id"].(string)
		}
	}
	if got := r.question(q.ID).Delivery; ours != 1 || string(got.Message) != id {
		t.Errorf("posted %d times, delivery %+v", ours, got)
	}
}

// A homeserver that loses events between two pages is asked for a page large enough for both.
func TestLookUpAcrossPages(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	cut(r, 1)
	r.asked(plain())
	r.pump()
	r.server.forgetTransactions()
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasSuffix(req.URL.Path, "/messages") {
			return false
		}
		page := map[string]any{"chunk": []any{map[string]any{
			"event_id": "$other", "type": "m.room.message", "sender": "@dana:ex.org", "content": map[string]any{}, "origin_server_ts": testStart.UnixMilli(),
		}}}
		switch {
		case strings.Contains(req.URL.Query().Get("filter"), "1000"):
			page["chunk"] = r.server.rooms[room].events
		case req.URL.Query().Get("from") == "":
			page["end"] = "behind the question"
		}
		_ = json.NewEncoder(w).Encode(page)
		return true
	})
	r.clock.Move(time.Minute)
	r.pump()
	if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 {
		t.Errorf("sent %d times", len(sent))
	}
}

// A look-up that fails sends nothing.
func TestNeverBlind(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	cut(r, 1)
	r.asked(plain())
	r.pump()
	r.server.forgetTransactions()
	broken := true
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/messages") && broken {
			w.WriteHeader(500)
			return true
		}
		return false
	})
	r.clock.Move(time.Second)
	if waiting := r.pump(); len(waiting) != 1 {
		t.Fatalf("went on: %v", waiting)
	}
	if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 {
		t.Fatalf("sent %d times", len(sent))
	}
	r.server.mu.Lock()
	broken = false
	r.server.mu.Unlock()
	r.clock.Move(time.Minute)
	r.pump()
	if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 {
		t.Errorf("sent %d times", len(sent))
	}
}

// The echo of a send tells its result, even before the answer does.
func TestEchoFillsIn(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	cut(r, 1)
	q := r.asked(plain())
	r.pump()
	sent := r.server.sent(room, "m.room.message")[0]
	m := sent["event_id"].(string)
	r.put("1", r.echo(sent), r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org") // although we never heard that the question was posted
	r.server.mu.Lock()
	r.server.calls = nil
	r.server.mu.Unlock()
	r.clock.Move(time.Second)
	r.pump()
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	for _, call := range r.server.calls {
		if strings.HasSuffix(call, "/messages") {
			t.Error("looked up what the echo had told")
		}
	}
	if n := len(r.server.rooms[room].events); n != 3 {
		t.Errorf("%d events, want the question, the notice and the edit", n)
	}
}

// A held answer is given up on, and its send is looked up.
func TestHeldAnswer(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps, c.RequestTimeout = false, 100*time.Millisecond })
	held := 0
	r.server.after = func(_ http.ResponseWriter, req *http.Request) {
		if held++; held == 1 {
			<-req.Context().Done()
		}
	}
	q := r.asked(plain())
	if waiting := r.pump(); len(waiting) != 1 {
		t.Fatalf("the held answer gave %v", waiting)
	}
	r.server.forgetTransactions()
	r.clock.Move(time.Second)
	r.pump()
	if sent := r.server.sent(room, "m.room.message"); len(sent) != 1 || r.question(q.ID).Delivery.State != bridge.Posted {
		t.Errorf("sent %d times, delivery %+v", len(sent), r.question(q.ID).Delivery)
	}
}

// A20: what the homeserver refuses for good, such as what is too large for it, ends the delivery with a reason, and is not
// tried again.
func TestA20RefusedSend(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   bridge.Delivery
	}{
		{413, `{"errcode":"M_TOO_LARGE"}`, bridge.Delivery{State: bridge.Failed, Reason: bridge.ReasonTooLarge}},
		{400, `{"errcode":"M_BAD_JSON"}`, bridge.Delivery{State: bridge.Failed, Reason: bridge.ReasonRefused}},
		{403, `{"errcode":"M_FORBIDDEN"}`, bridge.Delivery{State: bridge.Failed, Reason: bridge.ReasonNotPermitted}},
	} {
		r := newRig(t, func(c *Config) { c.Keycaps = false })
		r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
			if !isSend(req) {
				return false
			}
			w.WriteHeader(c.status)
			_, _ = fmt.Fprint(w, c.body)
			return true
		})
		q := r.asked(plain())
		r.pump()
		if got := r.question(q.ID).Delivery; got != c.want {
			t.Errorf("%d gives %+v, want %+v", c.status, got, c.want)
		}
		r.clock.Move(24 * time.Hour)
		if waiting, left := r.pump(), r.owed(string(q.ID)+"/render/0"); len(waiting) != 0 || left != 0 {
			t.Errorf("%d: still tried: %v", c.status, waiting)
		}
	}
}

// Nobody is there to see it: the question is held until somebody joins.
func TestHeld(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	server := r.server.rooms[room]
	all := server.state
	server.state = append(all[:2:2], all[len(all)-1]) // create, power levels and the bot
	q := r.asked(plain())
	r.pump()
	if got := r.question(q.ID).Delivery; got != (bridge.Delivery{State: bridge.Queued, Reason: bridge.ReasonNobody}) {
		t.Fatalf("delivery is %+v", got)
	}
	join := strings.Replace(r.says("@dana:ex.org", "m.room.member", `{"membership":"join"}`), `"content"`, `"state_key":"@dana:ex.org","content"`, 1)
	r.put("1", join)
	r.work()
	r.pump()
	if got := r.question(q.ID).Delivery; got.State != bridge.Posted {
		t.Errorf("delivery is %+v", got)
	}
}
