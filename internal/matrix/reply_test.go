package matrix

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// listing replies to a few commands: "!decisions" in private, "!queue" for everybody.
type listing struct{}

const listed = "<b>d7k2m</b> & *more*\n@root:ex.org @room"

func (listing) Commands() []string { return []string{"decisions", "queue"} }

func (listing) Command(_ context.Context, c bridge.Command) (*bridge.CommandReply, error) {
	return &bridge.CommandReply{Text: listed, Private: c.Name == "decisions"}, nil
}

// newCommandRig is a rig that obeys.
func newCommandRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	var r *rig
	r = newRig(t, func(c *Config) {
		c.IsCommand = func(text string) bool { return r.engine.IsCommand(text) }
		if change != nil {
			change(c)
		}
	})
	r.engine.Commanders = []bridge.Commander{listing{}}
	return r
}

// command gives a command in the room, and does what it comes to.
func (r *rig) command(who, body string) []error {
	r.t.Helper()
	r.put(fmt.Sprint("command", r.next), r.says(who, "m.room.message", fmt.Sprintf(`{"msgtype":"m.text","body":%q}`, body)))
	r.work()
	return r.pump()
}

// said gives the texts that were sent to a room, oldest first.
func (r *rig) said(room string) (bodies []string) {
	for _, e := range r.server.sent(room, "m.room.message") {
		bodies = append(bodies, fmt.Sprint(content(e)["body"]))
	}
	return bodies
}

// moves changes somebody's membership of a room.
func (r *rig) moves(who, membership, where string) {
	r.t.Helper()
	e := r.server.stateEvent("m.room.member", who, who, map[string]any{"membership": membership})
	there := r.server.rooms[where]
	there.state = slices.DeleteFunc(there.state, func(old map[string]any) bool { return old["state_key"] == who })
	there.state = append(there.state, e)
	r.put(fmt.Sprint(who, membership), strings.ReplaceAll(r.echo(e), room, where))
	r.work()
}

// knows has a room of the people named among our copies.
func (r *rig) knows(where string, people ...string) {
	r.t.Helper()
	r.server.addRoom(where, people...)
	_, err := r.rooms.view(r.t.Context(), bridge.ConversationID(where), true)
	noError(r.t, err)
}

func (r *rig) expectSaid(room string, want ...string) {
	r.t.Helper()
	if got := r.said(room); strings.Join(got, "|") != strings.Join(want, "|") {
		r.t.Errorf("%s heard %q, want %q", room, got, want)
	}
}

// A command is of interest in a room with no question, with the mention of us in front too; other talk is not.
func TestCommandsAreOfInterest(t *testing.T) {
	r := newCommandRig(t, nil)
	for _, body := range []string{"!queued", "wow!", "I said !queue", "!unknown", "queue"} {
		r.command("@dana:ex.org", body)
	}
	for _, content := range []string{
		`{"msgtype":"m.notice","body":"!queue"}`, `{"msgtype":"m.image","body":"!queue"}`,
		`{"msgtype":"m.text","body":"* !queue","m.new_content":{"msgtype":"m.text","body":"!queue"},"m.relates_to":{"rel_type":"m.replace","event_id":"$p1"}}`,
	} {
		r.put("t"+content[12:20], r.says("@dana:ex.org", "m.room.message", content))
	}
	events, err := r.db.NextEvents(t.Context(), r.clock.Now(), 10)
	noError(t, err)
	if len(events) > 0 {
		t.Errorf("stored %s", events[0].Raw)
	}
	r.expectSaid(room)
	for i, body := range []string{"!queue", bot + ": !Queue", "！queue"} {
		r.command("@dana:ex.org", body)
		if got := r.said(room); len(got) != i+1 {
			t.Errorf("%q was answered with %q", body, got)
		}
	}
}

// The reply is a notice in the command's thread that pings nobody, and what stands in it is text.
func TestReplyInTheRoom(t *testing.T) {
	r := newCommandRig(t, nil)
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply("$root", "!queue")))
	r.work()
	for range 2 { // the second try finds the first
		r.pump()
	}
	sent := r.server.sent(room, "m.room.message")
	if len(sent) != 1 {
		t.Fatalf("sent %v", sent)
	}
	c := content(sent[0])
	want := `map[event_id:$root is_falling_back:false m.in_reply_to:map[event_id:$p1] rel_type:m.thread]`
	if fmt.Sprint(c["m.relates_to"]) != want || c["msgtype"] != "m.notice" || fmt.Sprint(c["m.mentions"]) != "map[]" || c["body"] != listed ||
		c["formatted_body"] != "<p>&lt;b&gt;d7k2m&lt;/b&gt; &amp; *more*<br>@root:ex.org @room</p>" {
		t.Errorf("sent %v", c)
	}
}

// Where only the person and the bot are, nobody else could read a private reply.
func TestPrivateReplyAlone(t *testing.T) {
	r := newCommandRig(t, nil)
	r.server.addRoom("!two:ex.org", "@dana:ex.org")
	r.put("1", strings.ReplaceAll(r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"!decisions"}`), room, "!two:ex.org"))
	r.work()
	r.pump()
	r.expectSaid("!two:ex.org", listed)
	if len(r.server.made) > 0 {
		t.Errorf("made %v", r.server.made)
	}
}

// Who has left meanwhile leaves nothing private to the one who stays.
func TestPrivateReplyToOneWhoLeft(t *testing.T) {
	r := newCommandRig(t, nil)
	r.server.addRoom("!two:ex.org", "@dana:ex.org")
	r.put("1", strings.ReplaceAll(r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"!decisions"}`), room, "!two:ex.org"))
	r.work()
	r.moves("@sam:ex.org", "join", "!two:ex.org")
	r.moves("@dana:ex.org", "leave", "!two:ex.org")
	r.pump()
	r.expectSaid("!two:ex.org", texts.ToldInPrivate)
	r.expectSaid("!direct1:ex.org", listed)
}

// A room in which the bot may not write hears nothing, and nothing is owed to it for ever.
func TestReplyWhereTheBotMayNotWrite(t *testing.T) {
	r := newCommandRig(t, nil)
	r.forbids(func(path string) bool { return strings.Contains(path, "/send/") })
	if waiting := r.command("@dana:ex.org", "!queue"); len(waiting) > 0 {
		t.Errorf("waiting: %v", waiting)
	}
	r.expectSaid(room)
}

// A private reply goes to a direct room where others are present. The room is found again, also by a new process, until
// the person has left it or somebody else has come.
func TestPrivateReply(t *testing.T) {
	r := newCommandRig(t, nil)
	direct := func(n int) string { return fmt.Sprintf("!direct%d:ex.org", n) }
	r.knows("!theirs:ex.org", "@dana:ex.org") // made by the person, for what we cannot know
	for range 2 {
		r.command("@dana:ex.org", "!decisions")
		noError(t, r.distrustRooms(t.Context())) // as a start does
	}
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.Contains(req.URL.Path, "!theirs:ex.org") { // which is nothing that a reply could go to
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	r.expectSaid(room, texts.ToldInPrivate, texts.ToldInPrivate)
	r.expectSaid(direct(1), listed, listed)
	if got := fmt.Sprint(r.server.made, r.server.direct); got != `[map[invite:[@dana:ex.org] is_direct:true preset:trusted_private_chat]] map[@dana:ex.org:[!direct1:ex.org]]` {
		t.Errorf("made %s", got)
	}
	if c := content(r.server.sent(direct(1), "m.room.message")[0]); c["m.relates_to"] != nil || fmt.Sprint(c["m.mentions"]) != "map[]" {
		t.Errorf("sent %v", c)
	}
	r.command("@sam:ex.org", "!decisions")
	r.expectSaid(direct(2), listed)

	r.moves("@root:ex.org", "invite", direct(1))
	r.command("@dana:ex.org", "!decisions")
	r.expectSaid(direct(1), listed, listed)
	r.expectSaid(direct(3), listed)
	r.moves("@dana:ex.org", "leave", direct(3))
	r.command("@dana:ex.org", "!decisions")
	r.expectSaid(direct(3), listed)
	r.expectSaid(direct(4), listed)
	closed := r.server.stateEvent("m.room.tombstone", "", "@dana:ex.org", map[string]any{"replacement_room": "!later:ex.org"})
	r.server.rooms[direct(4)].state = append(r.server.rooms[direct(4)].state, closed)
	r.put("closed", strings.ReplaceAll(r.echo(closed), room, direct(4)))
	r.work()
	r.command("@dana:ex.org", "!decisions")
	r.expectSaid(direct(5), listed)
}

// A reply that fails half way is said once in each room when it is tried again, wherever a direct room would be found then.
func TestPrivateReplyAgain(t *testing.T) {
	r := newCommandRig(t, nil)
	failing := true
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if failing && strings.Contains(req.URL.Path, "!direct1:ex.org/send/") {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	if waiting := r.command("@dana:ex.org", "!decisions"); len(waiting) != 1 {
		t.Fatalf("waiting: %v", waiting)
	}
	r.moves("@root:ex.org", "invite", "!direct1:ex.org")
	failing = false
	r.clock.Move(time.Minute)
	r.pump()
	r.expectSaid(room, texts.ToldInPrivate)
	r.expectSaid("!direct1:ex.org", listed)
}

// Whoever cannot be written to hears so where they asked, and never what is for them alone.
func TestNoDirectRoom(t *testing.T) {
	r := newCommandRig(t, nil)
	r.forbids(func(path string) bool { return strings.HasSuffix(path, "/createRoom") })
	r.command("@dana:ex.org", "!decisions")
	r.expectSaid(room, texts.NotInPrivate)
}

// What could not be said within a day is not said.
func TestLateReply(t *testing.T) {
	r := newCommandRig(t, nil)
	r.put("1", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"!queue"}`))
	r.work()
	r.clock.Move(25 * time.Hour)
	if waiting := r.pump(); len(waiting) > 0 {
		t.Errorf("waiting: %v", waiting)
	}
	r.expectSaid(room)
}

// Agents' accounts, other bots and people who are not in the room are not obeyed.
func TestWhoIsNotObeyed(t *testing.T) {
	r := newCommandRig(t, func(c *Config) {
		c.AgentUsers = map[bridge.AgentID][]bridge.UserID{"ci": {"@sam:ex.org"}}
		c.Bots = []bridge.UserID{"@root:ex.org"}
	})
	for _, who := range []string{"@sam:ex.org", "@root:ex.org", "@stranger:ex.org"} {
		r.command(who, "!queue")
	}
	r.expectSaid(room)
}

// In an encrypted room a command counts only encrypted, with no question there too, and a private reply to it goes to a
// direct room that is encrypted, once the person is there to read it.
func TestEncryptedCommand(t *testing.T) {
	r, cipher := newSealedRig(t)
	r.cfg.IsCommand = func(text string) bool { return r.engine.IsCommand(text) }
	r.engine.Commanders = []bridge.Commander{listing{}}
	r.put("clear", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"!queue"}`))
	cipher.keys["theirs"] = true
	sealed := func(body string) {
		hidden := cipher.hide("theirs", sealing{kind: "m.room.message", content: map[string]any{"msgtype": "m.text", "body": body}})
		r.put(body, r.says("@dana:ex.org", "m.room.encrypted", hidden))
		r.work()
	}
	sealed("talk")
	sealed("!decisions")
	r.knows("!clear:ex.org", "@dana:ex.org")
	r.server.rooms["!clear:ex.org"].state[0]["sender"] = bot // a direct room, and no place for what was asked in secret
	noError(t, r.distrustRooms(t.Context()))
	waiting := r.pump()
	if len(waiting) != 1 || len(r.server.sent("!direct1:ex.org", "m.room.encrypted")) > 0 {
		t.Fatalf("waiting: %v", waiting)
	}
	if got := fmt.Sprint(r.server.made[0]["initial_state"]); got != "[map[content:map[algorithm:m.megolm.v1.aes-sha2] state_key: type:m.room.encryption]]" {
		t.Errorf("made with %s", got)
	}
	r.moves("@dana:ex.org", "join", "!direct1:ex.org")
	r.clock.Move(2 * time.Second)
	r.pump()
	if there, here := len(r.server.sent("!direct1:ex.org", "m.room.encrypted")), len(r.server.sent(room, "m.room.encrypted")); there != 1 || here != 1 {
		t.Errorf("sent %d there and %d here", there, here)
	}
	for _, room := range []string{room, "!direct1:ex.org"} {
		if got := r.server.sent(room, "m.room.message"); len(got) > 0 {
			t.Errorf("sent in clear: %v", got)
		}
	}
}

// testRealCommands: in a room that no question was ever asked in, a person gives commands and is answered in their thread,
// or in a direct room.
func testRealCommands(r *real) {
	ctx := within(r.t)
	room := r.room()
	root, err := r.alice.Send(ctx, room, "hello")
	noError(r.t, err)
	command, err := r.alice.ThreadReply(ctx, room, root, "!queue")
	noError(r.t, err)
	ofBot := func(body string) func(testserver.Event) bool {
		return func(e testserver.Event) bool { return e.Sender == string(r.Bot()) && e.Body() == body }
	}
	heard := func(u *testserver.User, where, body string) (times int) {
		all, err := u.Messages(ctx, where)
		noError(r.t, err)
		for _, e := range all {
			if ofBot(body)(e) {
				times++
			}
		}
		return times
	}
	e := r.wait(r.bob, room, ofBot(listed))
	if e.MsgType() != "m.notice" || e.Relation().EventID != root || e.Field("m.relates_to", "m.in_reply_to", "event_id") != command {
		r.t.Errorf("the reply is %v", e.Content)
	}
	for i := range 2 {
		_, err = r.alice.Send(ctx, room, "!decisions")
		noError(r.t, err)
		r.eventually("the room hears of it", func() bool { return heard(r.bob, room, texts.ToldInPrivate) == i+1 })
	}
	var direct bridge.ConversationID
	r.eventually("there is one direct room", func() bool {
		rooms, err := r.db.RoomsOf(ctx, bridge.UserID(r.alice.ID))
		noError(r.t, err)
		var made []bridge.ConversationID
		for _, room := range rooms {
			if ours, err := r.made(ctx, room); err == nil && ours {
				made = append(made, room)
			}
		}
		if len(made) > 1 {
			r.t.Fatalf("made %d direct rooms", len(made))
		}
		if len(made) == 1 {
			direct = made[0]
		}
		return direct != ""
	})
	_, err = r.alice.Join(ctx, string(direct))
	noError(r.t, err)
	r.eventually("both replies are there", func() bool { return heard(r.alice, string(direct), listed) == 2 })
	if n := heard(r.bob, room, listed); n != 1 {
		r.t.Errorf("the room reads what is private: %d", n)
	}
	powers, err := r.alice.State(ctx, string(direct), "m.room.power_levels", "")
	noError(r.t, err)
	if !strings.Contains(string(powers), r.alice.ID) {
		r.t.Errorf("the direct room's powers are %s", powers)
	}
	_, err = r.alice.Send(ctx, string(direct), "!decisions")
	noError(r.t, err)
	r.eventually("the direct room needs no other", func() bool { return heard(r.alice, string(direct), listed) == 3 })
}

// forbids has the homeserver forbid what is done at some paths.
func (r *rig) forbids(there func(path string) bool) {
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !there(req.URL.Path) {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errcode":"M_FORBIDDEN","error":"no"}`))
		return true
	})
}
