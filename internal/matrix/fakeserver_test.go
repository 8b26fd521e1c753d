package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeServer is a homeserver's client API at the network's edge, for what a real one cannot be made to do on demand. It
// keeps rooms, remembers transaction ids, and lets a test stand in front of every request.
type fakeServer struct {
	*httptest.Server
	mu    sync.Mutex
	rooms map[string]*fakeRoom
	next  int
	txns  map[string]string // method and path → event id
	// before may answer a request itself; it says whether it did.
	before func(w http.ResponseWriter, r *http.Request) bool
	// after runs when a send was taken and not yet answered; it may cut the connection.
	after  func(w http.ResponseWriter, r *http.Request)
	calls  []string
	syncs  []map[string]any // answers of /sync, in turn
	made   []map[string]any // what rooms were made of
	direct map[string]any   // the bot's m.direct
}

type fakeRoom struct {
	state  []map[string]any
	events []map[string]any
}

func newFakeServer(t *testing.T) *fakeServer {
	f := &fakeServer{rooms: map[string]*fakeRoom{}, txns: map[string]string{}}
	mux := http.NewServeMux()
	answer := func(pattern string, do func(r *http.Request) (int, any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, body := do(r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	answer("GET /_matrix/client/versions", func(*http.Request) (int, any) { return 200, map[string]any{"versions": []string{"v1.2", "v1.7"}} })
	answer("POST /_matrix/client/v3/register", func(*http.Request) (int, any) {
		return 400, map[string]any{"errcode": "M_USER_IN_USE", "error": "taken"}
	})
	answer("GET /_matrix/client/v3/account/whoami", func(*http.Request) (int, any) { return 200, map[string]any{"user_id": bot} })
	answer("POST /_matrix/client/v1/appservice/questions/ping", func(*http.Request) (int, any) { return 200, map[string]any{"duration_ms": 1} })
	answer("POST /_matrix/client/v3/join/{room}", func(r *http.Request) (int, any) {
		room := f.rooms[r.PathValue("room")]
		if room == nil {
			return 403, map[string]any{"errcode": "M_FORBIDDEN", "error": "no invitation"}
		}
		room.state = append(room.state, f.stateEvent("m.room.member", bot, bot, map[string]any{"membership": "join"}))
		return 200, map[string]any{"room_id": r.PathValue("room")}
	})
	answer("GET /_matrix/client/v3/rooms/{room}/state", func(r *http.Request) (int, any) {
		if room := f.rooms[r.PathValue("room")]; room != nil {
			return 200, room.state
		}
		return 403, map[string]any{"errcode": "M_FORBIDDEN", "error": "not in the room"}
	})
	answer("GET /_matrix/client/v3/rooms/{room}/messages", func(r *http.Request) (int, any) { return f.messages(r) })
	answer("GET /_matrix/client/v3/rooms/{room}/event/{event}", func(r *http.Request) (int, any) {
		for _, e := range f.rooms[r.PathValue("room")].events {
			if e["event_id"] == r.PathValue("event") {
				return 200, e
			}
		}
		return 404, map[string]any{"errcode": "M_NOT_FOUND"}
	})
	answer("POST /_matrix/client/v3/createRoom", func(r *http.Request) (int, any) { return f.create(r) })
	answer("GET /_matrix/client/v3/user/{user}/account_data/{type}", func(r *http.Request) (int, any) {
		if f.direct != nil {
			return 200, f.direct
		}
		return 404, map[string]any{"errcode": "M_NOT_FOUND"}
	})
	answer("PUT /_matrix/client/v3/user/{user}/account_data/{type}", func(r *http.Request) (int, any) {
		_ = json.NewDecoder(r.Body).Decode(&f.direct)
		return 200, map[string]any{}
	})
	answer("GET /_matrix/client/v3/sync", func(r *http.Request) (int, any) { return f.sync(r) })
	answer("PUT /_matrix/client/v3/rooms/{room}/redact/{event}/{txn}", func(r *http.Request) (int, any) {
		return 200, map[string]any{"event_id": f.send(r, "m.room.redaction", map[string]any{"redacts": r.PathValue("event")})}
	})
	mux.HandleFunc("PUT /_matrix/client/v3/rooms/{room}/send/{type}/{txn}", func(w http.ResponseWriter, r *http.Request) {
		var content map[string]any
		_ = json.NewDecoder(r.Body).Decode(&content)
		id := f.send(r, r.PathValue("type"), content)
		if f.after != nil {
			f.after(w, r)
		}
		_, _ = fmt.Fprintf(w, `{"event_id":%q}`, id)
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, r.Method+" "+r.URL.Path)
		if f.before != nil && f.before(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Server.Close)
	return f
}

// addRoom makes a room of the bot and the people named, in which nobody but the first has power.
func (f *fakeServer) addRoom(id string, people ...string) *fakeRoom {
	f.mu.Lock()
	defer f.mu.Unlock()
	room := &fakeRoom{}
	f.rooms[id] = room
	room.state = append(room.state,
		f.stateEvent("m.room.create", "", people[0], map[string]any{"room_version": "11"}),
		f.stateEvent("m.room.power_levels", "", people[0], map[string]any{"users": map[string]any{people[0]: 100}}))
	for _, p := range append(people, bot) {
		room.state = append(room.state, f.stateEvent("m.room.member", p, p, map[string]any{"membership": "join", "displayname": strings.ToUpper(p[1:2]) + p[2:strings.Index(p, ":")]}))
	}
	return room
}

// create makes the room that the bot asks for.
func (f *fakeServer) create(r *http.Request) (int, any) {
	var asked map[string]any
	_ = json.NewDecoder(r.Body).Decode(&asked)
	f.made = append(f.made, asked)
	id, room := fmt.Sprintf("!direct%d:ex.org", len(f.made)), &fakeRoom{}
	f.rooms[id] = room
	room.state = append(room.state,
		f.stateEvent("m.room.create", "", bot, map[string]any{"room_version": "11"}),
		f.stateEvent("m.room.member", bot, bot, map[string]any{"membership": "join"}),
		f.stateEvent("m.room.power_levels", "", bot, map[string]any{"users_default": 100}))
	for _, who := range asked["invite"].([]any) {
		room.state = append(room.state, f.stateEvent("m.room.member", who.(string), bot, map[string]any{"membership": "invite"}))
	}
	if initial, ok := asked["initial_state"].([]any); ok {
		for _, e := range initial {
			e := e.(map[string]any)
			room.state = append(room.state, f.stateEvent(e["type"].(string), "", bot, e["content"].(map[string]any)))
		}
	}
	return 200, map[string]any{"room_id": id}
}

func (f *fakeServer) stateEvent(eventType, key, sender string, content map[string]any) map[string]any {
	f.next++
	return map[string]any{
		"event_id": fmt.Sprintf("$s%d", f.next), "type": eventType, "state_key": key, "sender": sender, "content": content,
		"origin_server_ts": testStart.UnixMilli() + int64(f.next),
	}
}

func (f *fakeServer) send(r *http.Request, eventType string, content map[string]any) string {
	if id, ok := f.txns[r.URL.Path]; ok {
		return id
	}
	f.next++
	id := fmt.Sprintf("$e%d", f.next)
	f.txns[r.URL.Path] = id
	room := f.rooms[r.PathValue("room")]
	room.events = append(room.events, map[string]any{
		"event_id": id, "type": eventType, "sender": bot, "content": content, "origin_server_ts": time.Now().UnixMilli(),
	})
	return id
}

// messages gives two events a page, so that paging is tested.
func (f *fakeServer) messages(r *http.Request) (int, any) {
	room := f.rooms[r.PathValue("room")]
	if room == nil {
		return 403, map[string]any{"errcode": "M_FORBIDDEN"}
	}
	end := len(room.events)
	if from := r.URL.Query().Get("from"); from != "" {
		_, _ = fmt.Sscanf(from, "t%d", &end)
		end = min(end, len(room.events))
	}
	chunk := []map[string]any{}
	for end > 0 && len(chunk) < 2 {
		end--
		if f := r.URL.Query().Get("filter"); !strings.Contains(f, "types") || strings.Contains(f, fmt.Sprint(room.events[end]["type"])) {
			chunk = append(chunk, room.events[end])
		}
	}
	answer := map[string]any{"chunk": chunk}
	if end > 0 {
		answer["end"] = fmt.Sprintf("t%d", end)
	}
	return 200, answer
}

func (f *fakeServer) sync(r *http.Request) (int, any) {
	if len(f.syncs) == 0 {
		return 200, map[string]any{"next_batch": "end"}
	}
	answer := f.syncs[0]
	f.syncs = f.syncs[1:]
	return 200, answer
}

// sent gives what was sent to a room, of one event type.
func (f *fakeServer) sent(room, eventType string) []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []map[string]any
	for _, e := range f.rooms[room].events {
		if e["type"] == eventType {
			found = append(found, e)
		}
	}
	return found
}

func (f *fakeServer) forgetTransactions() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.txns = map[string]string{}
}

func (f *fakeServer) intercept(before func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}
