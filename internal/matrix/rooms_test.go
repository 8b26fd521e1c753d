package matrix

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// sets makes a state event of a room.
func (r *rig) sets(in, sender, eventType, key, content string) string {
	r.next++
	r.clock.Move(time.Second)
	return fmt.Sprintf(`{"event_id":"$p%d","room_id":%q,"sender":%q,"type":%q,"state_key":%q,"origin_server_ts":%d,"content":%s}`,
		r.next, in, sender, eventType, key, r.clock.Now().UnixMilli(), content)
}

func (r *rig) invite(to, by string) string {
	return r.sets(to, by, "m.room.member", bot, `{"membership":"invite"}`)
}

func (r *rig) delivery(id bridge.QuestionID) string {
	d := r.question(id).Delivery
	return strings.TrimSpace(string(d.State) + " " + d.Reason)
}

func TestJoinOnInvite(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Invite = []string{"ex.org", "@eve:else.org"} })
	for by, want := range map[string]bool{"@dana:ex.org": true, "@eve:else.org": true, "@mallory:else.org": false, "@x:ex.org.evil": false} {
		name := "!of-" + by[1:4] + ":ex.org"
		r.server.addRoom(name, by)
		r.server.rooms[name].state = r.server.rooms[name].state[:3] // the bot is not in there yet
		r.put("1", r.invite(name, by))
		r.work()
		if err := r.Supports(t.Context(), bridge.ConversationID(name)); (err == nil) != want {
			t.Errorf("invited by %s: %v", by, err)
		}
	}
	// An invitation that was taken back is no reason to try for ever.
	r.put("2", r.invite("!gone:ex.org", "@dana:ex.org"))
	r.work()
	events, err := r.db.NextEvents(t.Context(), r.clock.Now().Add(time.Hour), 10)
	noError(t, err)
	if len(events) != 0 {
		t.Errorf("%d events wait", len(events))
	}
}

func TestKickedBot(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	server := r.server.rooms[room]
	whole := server.state
	server.state = append(whole[:len(whole)-1:len(whole)-1], r.server.stateEvent("m.room.member", bot, "@root:ex.org", map[string]any{"membership": "leave"}))
	r.put("1", r.sets(room, "@root:ex.org", "m.room.member", bot, `{"membership":"leave"}`))
	r.work()
	if got := r.delivery(q.ID); got != "unanswerable bot_not_in_room" {
		t.Errorf("delivery is %s", got)
	}
	if err := r.Supports(t.Context(), room); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
		t.Errorf("a room we were kicked from: %v", err)
	}
	rights, err := r.Rights(t.Context(), q, "@dana:ex.org", false)
	if err != nil || !rights.Unreadable || rights.Member {
		t.Errorf("rights in it: %+v, %v", rights, err)
	}
	server.state = whole
	r.put("2", r.sets(room, bot, "m.room.member", bot, `{"membership":"join"}`), r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// A state event out of order leaves the room in doubt, and the homeserver's word takes the place of ours.
func TestDoubt(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.ask(plain())
	member := func() bool {
		rights, err := r.Rights(t.Context(), q, "@sam:ex.org", false)
		noError(t, err)
		return rights.Member
	}
	late := r.sets(room, "@sam:ex.org", "m.room.member", "@sam:ex.org", `{"membership":"join"}`)
	r.put("1", r.sets(room, "@sam:ex.org", "m.room.member", "@sam:ex.org", `{"membership":"leave"}`))
	r.work()
	if member() {
		t.Fatal("sam left, and counts as a member")
	}
	server := r.server.rooms[room]
	for i, e := range server.state {
		if e["state_key"] == "@sam:ex.org" {
			server.state[i] = r.server.stateEvent("m.room.member", "@sam:ex.org", "@root:ex.org", map[string]any{"membership": "ban"})
		}
	}
	r.put("2", late) // older than what we know
	r.work()
	if member() {
		t.Error("an old event made a member of sam")
	}
	if _, doubtful, _, _ := r.db.Standing(t.Context(), room); doubtful {
		t.Error("the room is still in doubt after it was read")
	}
	// An event that replaces one we never saw: there is a gap.
	gap := strings.Replace(r.sets(room, "@root:ex.org", "m.room.member", "@dana:ex.org", `{"membership":"join"}`), `"content"`, `"unsigned":{"replaces_state":"$never"},"content"`, 1)
	r.put("3", gap)
	r.work()
	if _, doubtful, _, _ := r.db.Standing(t.Context(), room); !doubtful {
		t.Error("a gap left no doubt")
	}
}

// The bridge dies between writing down that somebody joined and saying so: handled again, the event still frees what was
// held for it.
func TestJoinHandledTwice(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	server := r.server.rooms[room]
	server.state = append(server.state[:2:2], server.state[len(server.state)-1])
	q := r.asked(plain())
	r.pump()
	join := r.sets(room, "@dana:ex.org", "m.room.member", "@dana:ex.org", `{"membership":"join"}`)
	e, _ := decodeEvent([]byte(join))
	noError(t, r.rooms.apply(t.Context(), e, func(context.Context) error { return nil }))
	r.put("1", join)
	r.work()
	r.pump()
	if got := r.delivery(q.ID); got != "posted" {
		t.Errorf("delivery is %s", got)
	}
}

// A homeserver that cannot be asked refuses nobody: the answer waits for it.
func TestUnreachableHomeserver(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	noError(t, r.db.SetDoubtful(t.Context(), room))
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		w.WriteHeader(503)
		return true
	})
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	r.server.intercept(nil)
	r.clock.Move(time.Minute)
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

func TestRights(t *testing.T) {
	level := int64(50)
	r := newRig(t, func(c *Config) {
		c.Carriers = []Carrier{{User: "@pod:ex.org", Agent: "pod"}}
		c.AgentUsers = map[bridge.AgentID][]bridge.UserID{"ci": {"@ci:ex.org"}}
		c.Admins = Admins{
			Rooms: map[string][]bridge.UserID{room: {"@dana:ex.org"}}, Boards: map[string][]bridge.UserID{"brd_1": {"@sam:ex.org"}}, PowerLevel: &level,
		}
	})
	q := plain()
	q.Asker = "ci"
	for who, want := range map[bridge.UserID]bridge.Rights{
		"@dana:ex.org": {DisplayName: "Dana", Member: true, WorkspaceAdmin: true},
		"@sam:ex.org":  {DisplayName: "Sam", Member: true},
		"@root:ex.org": {DisplayName: "Root", Member: true, WorkspaceAdmin: true},
		"@eve:ex.org":  {},
		"@ci:ex.org":   {IsAsker: true, Agent: true},
		"@pod:ex.org":  {Machine: true},
		bot:            {DisplayName: "Asker", Member: true, Machine: true},
	} {
		got, err := r.Rights(t.Context(), q, who, true)
		noError(t, err)
		if got != want {
			t.Errorf("%s may %+v, want %+v", who, got, want)
		}
	}
	q.Content = []byte(`{"board_id":"brd_1"}`)
	if got, _ := r.Rights(t.Context(), q, "@sam:ex.org", false); !got.WorkspaceAdmin {
		t.Error("the board's list does not count")
	}
}

// Room version 12: creators are admins by power, though no power levels name them.
func TestRoomVersion12(t *testing.T) {
	level := int64(100)
	r := newRig(t, func(c *Config) { c.Admins.PowerLevel = &level })
	server := r.server.addRoom("!hashofthecreateevent", "@root:ex.org", "@dana:ex.org", "@sam:ex.org")
	server.state[0]["content"] = map[string]any{"room_version": "12", "additional_creators": []string{"@dana:ex.org"}}
	server.state[1]["content"] = map[string]any{"users": map[string]any{"@sam:ex.org": "100"}}
	q := plain()
	q.Conversation = "!hashofthecreateevent"
	for who, want := range map[bridge.UserID]bool{"@root:ex.org": true, "@dana:ex.org": true, "@sam:ex.org": false} {
		if got, err := r.Rights(t.Context(), q, who, false); err != nil || got.WorkspaceAdmin != want {
			t.Errorf("%s: %+v, %v", who, got, err)
		}
	}
	if v, _ := r.rooms.view(t.Context(), "!hashofthecreateevent", false); v.power("@root:ex.org") != math.MaxInt64 {
		t.Error("the creator has not all power")
	}
}

// A11: a room that was replaced; bad tombstones change nothing.
func TestA11(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q, m := r.ask(plain())
	next := "!new:ex.org"
	for _, bad := range []struct{ sender, content string }{
		{"@sam:ex.org", `{"replacement_room":"!new:ex.org"}`}, {"@root:ex.org", `{"replacement_room":""}`},
		{"@root:ex.org", `{"replacement_room":"` + room + `"}`}, {"@root:ex.org", `{"replacement_room":7}`},
	} {
		r.put("1", r.sets(room, bad.sender, "m.room.tombstone", "", bad.content))
		r.work()
		if got := r.delivery(q.ID); got != "posted" {
			t.Fatalf("%+v: delivery is %s", bad, got)
		}
	}
	r.put("2", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"!new:ex.org"}`))
	r.work()
	if got := r.delivery(q.ID); got != "unanswerable room_upgraded" {
		t.Fatalf("delivery is %s", got)
	}
	if err := r.Supports(t.Context(), room); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
		t.Errorf("a closed room: %v", err)
	}
	// The new room can be joined only after an invitation, which the upgrade makes welcome.
	server := r.server.addRoom(next, "@root:ex.org", "@dana:ex.org")
	server.state[0]["content"] = map[string]any{"room_version": "11", "predecessor": map[string]any{"room_id": room, "event_id": "$t"}}
	server.state = server.state[:4]
	r.put("3", r.invite(next, "@root:ex.org"))
	r.work()
	r.pump()
	posted := r.server.sent(next, "m.room.message")
	if len(posted) != 1 || r.delivery(q.ID) != "posted" {
		t.Fatalf("posted %d times in the new room, delivery is %s", len(posted), r.delivery(q.ID))
	}
	r.put("3", r.invite(next, "@root:ex.org"))
	r.put("4", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"!third:ex.org"}`))
	r.work()
	r.pump()
	if again := r.server.sent(next, "m.room.message"); len(again) != 1 {
		t.Errorf("posted %d times in the new room", len(again))
	}
	inNew := func(content string) string {
		return strings.Replace(r.says("@dana:ex.org", "m.room.message", content), room, next, 1)
	}
	r.put("5", inNew(threadReply(m, "1"))) // the old message is of another room
	r.work()
	r.expect(q.ID, "pending")
	r.put("6", inNew(threadReply(posted[0]["event_id"].(string), "2")))
	r.work()
	r.pump()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// Anybody can point at a room: only the new room itself says whose successor it is.
func TestForeignSuccessor(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.ask(plain())
	r.server.addRoom("!new:ex.org", "@root:ex.org", "@mallory:ex.org")
	r.put("1", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"!new:ex.org"}`))
	r.work()
	r.pump()
	if posted := r.server.sent("!new:ex.org", "m.room.message"); len(posted) != 0 || r.delivery(q.ID) != "unanswerable room_upgraded" {
		t.Errorf("posted %d times, delivery is %s", len(posted), r.delivery(q.ID))
	}
}

func TestResolve(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Rooms = map[string]string{"OPS": room, "LOST": "#lost:ex.org"} })
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		switch {
		case strings.HasSuffix(req.URL.Path, "/directory/room/#ops:ex.org"):
			_, _ = fmt.Fprintf(w, `{"room_id":%q}`, room)
		case strings.Contains(req.URL.Path, "/directory/"):
			w.WriteHeader(500) // with nothing in it, as for an alias of another server
		default:
			return false
		}
		return true
	})
	for name, want := range map[string]Place{
		"OPS": {ID: room, Code: "OPS"}, room: {ID: room, Code: "OPS"}, "#ops:ex.org": {ID: room, Code: "OPS", Alias: "#ops:ex.org"},
		"!other:ex.org": {ID: "!other:ex.org"},
	} {
		if got, err := r.Resolve(t.Context(), name); err != nil || got != want {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"ops", "", "#else:ex.org", "LOST", "!" + strings.Repeat("x", 300)} {
		if got, err := r.Resolve(t.Context(), name); bridge.CodeOf(err) != bridge.CodeRoomUnknown {
			t.Errorf("%q is %+v, %v", name, got, err)
		}
	}
}

// Leftovers are not believed: without a create event, or the bot's own membership, a 200 counts as unreadable.
func TestLeftoverState(t *testing.T) {
	for _, missing := range []string{"m.room.create", "m.room.member"} {
		r := newRig(t, nil)
		server := r.server.rooms[room]
		var kept []map[string]any
		for _, e := range server.state {
			if e["type"] != missing || e["state_key"] != "" && e["state_key"] != bot {
				kept = append(kept, e)
			}
		}
		server.state = kept
		if err := r.Supports(t.Context(), room); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
			t.Errorf("without %s: %v", missing, err)
		}
		if rights, err := r.Rights(t.Context(), bridge.Question{Conversation: room}, "@dana:ex.org", true); err != nil || !rights.Unreadable || rights.Member {
			t.Errorf("without %s: %+v, %v", missing, rights, err)
		}
	}
}
