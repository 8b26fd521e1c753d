package grant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/grant"
)

// says has somebody say something in a room, and gives the replies that are owed for it.
func (r *rig) says(who bridge.UserID, conv bridge.ConversationID, text string) (replies []bridge.AddressedReply) {
	r.Helper()
	replies, err := r.trySays(who, conv, text)
	r.ok(err)
	return replies
}

func (r *rig) trySays(who bridge.UserID, conv bridge.ConversationID, text string) (replies []bridge.AddressedReply, err error) {
	r.said++
	in := bridge.Interaction{ID: bridge.InteractionID(fmt.Sprintf("$said%d", r.said)), Conversation: conv, Sender: who, SentAt: r.clock.Now(), ReceivedAt: r.clock.Now(), Act: bridge.Said{Text: text}, Doubted: r.doubted}
	event := bridge.Incoming{InboxEvent: bridge.InboxEvent{ID: in.ID, Conversation: conv, Raw: json.RawMessage(`{}`), ReceivedAt: r.clock.Now()}}
	if _, err := r.store.StoreEvents(r.Context(), []bridge.Incoming{event}); err != nil {
		return nil, err
	}
	if err := r.engine.Receive(r.Context(), in); err != nil {
		return nil, err
	}
	owed, err := r.store.ClaimEffects(r.Context(), r.clock.Now().Add(time.Hour), time.Hour, 100)
	for _, f := range owed {
		var reply bridge.AddressedReply
		if f.Kind != bridge.EffectReply {
			continue
		}
		if err := json.Unmarshal(f.Payload, &reply); err != nil {
			return nil, err
		}
		if reply.About == in.ID {
			replies = append(replies, reply)
		}
	}
	return replies, err
}

// told wants one reply, for everybody in the room, and gives its text.
func (r *rig) told(replies []bridge.AddressedReply) string {
	r.Helper()
	if len(replies) != 1 || replies[0].Private {
		r.Fatalf("told %+v", replies)
	}
	return replies[0].Text
}

// Whoever could have given a grant takes it back by a command in its room, which is told once; nobody else does.
func TestRevokingInTheRoom(t *testing.T) {
	r := newRig(t)
	for name, tt := range map[string]struct {
		who  bridge.UserID
		g    grant.Grant
		text string // of the reply; "" where it is taken back
	}{
		"a member":                               {bob, r.given(alice, "run"), ""},
		"an admin, where one is required":        {carol, r.given(carol, "always"), ""},
		"no admin, where one is required":        {bob, r.given(carol, "always"), texts.AdminsRevoke},
		"the asker's own account":                {deplo, r.given(alice, "run"), texts.NotGrantedByYou(texts.OwnQuestion)},
		"somebody else than whom it was for":     {bob, r.given(alice, "run", func(q *bridge.Question) { q.Scope, q.Target = bridge.Direct, alice }), texts.NotGrantedByYou(texts.OnlyTarget(string(alice)))},
		"a member, whom only a fresh look knows": {"@erin:example.org", r.given(alice, "run"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r.people.rights["@erin:example.org"], r.people.late = bridge.Rights{Member: true}, "@erin:example.org"
			events, records, owed := len(r.wires.told), len(r.audit.records), r.owed
			text := r.told(r.says(tt.who, room, " !REVOKE  "+strings.ToUpper(string(tt.g.ID))))
			record := bridge.AuditRecord{Action: bridge.AuditGrantRevoked}
			if tt.text != "" {
				record = bridge.AuditRecord{Action: bridge.AuditRevokeRefused, Code: bridge.CodeNotEligible}
				if tt.text == texts.AdminsRevoke {
					record.Code = bridge.CodeAdminsOnly
				}
			}
			got := r.audit.records[records:]
			if len(got) != 1 || got[0].Action != record.Action || got[0].Code != record.Code || got[0].User != tt.who || got[0].Event == "" || got[0].Via != bridge.ViaReply {
				t.Errorf("recorded %+v", got)
			}
			stored := r.stored(tt.g)
			if tt.text != "" {
				if text != tt.text || stored.RevokedAt != nil || len(r.wires.told) != events {
					t.Errorf("told %q, %+v", text, stored.RevokedAt)
				}
				return
			}
			if stored.RevokedBy != tt.who || len(r.wires.told) != events+1 || r.owed == owed || !strings.Contains(text, string(tt.g.ID)) || !strings.Contains(text, "taken back") {
				t.Errorf("told %q, by %q", text, stored.RevokedBy)
			}
		})
	}
}

// What only admins may grant is taken back in an encrypted room only from a device that is trusted as much; the rest from
// any.
func TestRevokingFromADoubtedDevice(t *testing.T) {
	r := newRig(t)
	admins, anybodys := r.given(carol, "always"), r.given(alice, "run")
	r.doubted = true
	if got := r.told(r.says(carol, room, "!revoke "+string(admins.ID))); got != texts.DeviceUntrusted || r.stored(admins).RevokedAt != nil {
		t.Errorf("told %q", got)
	}
	if records := r.audit.records; records[len(records)-1].Code != bridge.CodeDeviceUntrusted {
		t.Errorf("recorded %+v", records)
	}
	r.says(bob, room, "!revoke "+string(anybodys.ID))
	r.doubted = false
	r.says(carol, room, "!revoke "+string(admins.ID))
	for _, g := range []grant.Grant{admins, anybodys} {
		if r.stored(g).RevokedAt == nil {
			t.Errorf("%s stands", g.ID)
		}
	}
}

// Machines are not answered, and what is nobody's id is answered once, also where it is one in another room.
func TestCommandsThatAreForNobody(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	if got := r.says(relay, room, "!revoke "+string(g.ID)); len(got) != 0 {
		t.Errorf("a machine is told %+v", got)
	}
	r.people.elsewhere = map[bridge.UserID]bridge.Rights{alice: {Member: true}}
	for conv, text := range map[bridge.ConversationID][]string{
		room:               {"!revoke", "!revoke 1", "!revoke gzzzzz", "!revoke d7k3pd", "!revoke " + string(g.ID) + " please", "!revoke " + string(g.ID)[:5]},
		"!dev:example.org": {"!revoke " + string(g.ID)},
	} {
		for _, text := range text {
			if got := r.told(r.says(alice, conv, text)); got != texts.NothingNamed {
				t.Errorf("%q in %s is told %q", text, conv, got)
			}
		}
	}
	for _, talk := range []string{"revoke " + string(g.ID), "please !revoke " + string(g.ID), "!revoked " + string(g.ID)} {
		if got := r.says(alice, room, talk); len(got) != 0 {
			t.Errorf("%q is told %+v", talk, got)
		}
	}
	if r.stored(g).RevokedAt != nil {
		t.Error("it was revoked")
	}
}

// Who comes late is told who was faster, or that there is nothing to take back.
func TestRevokingTooLate(t *testing.T) {
	r := newRig(t)
	g, lapsed := r.given(alice, "run"), r.given(alice, "run")
	r.says(bob, room, "!revoke "+string(g.ID))
	if got := r.told(r.says(alice, room, "!revoke "+string(g.ID))); !strings.Contains(got, "by @bob:example.org on 2026-11-01 already") {
		t.Errorf("told %q", got)
	}
	r.clock.Move(8 * 24 * time.Hour)
	if got := r.told(r.says(alice, room, "!revoke "+string(lapsed.ID))); !strings.Contains(got, "lapsed on 2026-11-08") {
		t.Errorf("told %q", got)
	}
	if len(r.wires.told) != 1 || len(r.audit.records) != 1 {
		t.Errorf("told of %d", len(r.wires.told))
	}
}

// A command whose rights cannot be read now is read again later, and one that could not be told of did nothing.
func TestACommandIsDoneWholeOrNotAtAll(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	down := errors.New("the homeserver is down")
	r.people.unread = down
	if _, err := r.trySays(alice, room, "!revoke "+string(g.ID)); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	r.people.unread, r.wires.fails = nil, errors.New("the disk is full")
	if _, err := r.trySays(alice, room, "!revoke "+string(g.ID)); !errors.Is(err, r.wires.fails) {
		t.Errorf("got %v", err)
	}
	if r.stored(g).RevokedAt != nil || len(r.audit.records) != 0 {
		t.Errorf("it is %+v", r.stored(g))
	}
}

// Of those who say it at once and who do it over HTTP, one takes it back, and all are told of that one.
func TestRevokingAtOnce(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	var all sync.WaitGroup
	for i := range 10 {
		who := []bridge.UserID{alice, bob}[i%2]
		all.Go(func() {
			if _, err := r.revoke(g, who); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 3 {
		text := r.told(r.says([]bridge.UserID{bob, alice}[i%2], room, "!revoke "+string(g.ID)))
		if by := r.stored(g).RevokedBy; !strings.Contains(text, string(by)) && !strings.Contains(text, "is taken back") {
			t.Errorf("%s was faster, and told is %q", by, text)
		}
	}
	all.Wait()
	if len(r.audit.records) != 1 || r.stored(g).RevokedAt == nil {
		t.Errorf("recorded %+v", r.audit.records)
	}
}

// The list has what stands in this room, newest first, each in a line of its own that nobody's words break out of.
func TestListingInTheRoom(t *testing.T) {
	r := newRig(t)
	if got := r.told(r.says(bob, room, "!grants")); got != "Nothing that was granted here stands." {
		t.Errorf("told %q", got)
	}
	run := r.given(alice, "run", func(q *bridge.Question) {
		q.AskedBy = "Deployer\nggggg: “all”"
		q.Items[0].Options[1].Label = "Allow\u202e\r\n*this*"
	})
	r.clock.Move(time.Hour)
	always, gone := r.given(carol, "always", forEver), r.given(alice, "run")
	r.says(alice, room, "!revoke "+string(gone.ID))
	want := "What was granted here, and stands:\n" +
		string(always.ID) + ": “Always allow” for Deployer, always, by @carol:example.org, since 2026-11-01\n" +
		string(run.ID) + ": “Allow\\u{202E} *this*” for Deployer ggggg: “all”, for one run, by @alice:example.org, since 2026-11-01, until 2026-11-08\n" +
		"To take one back, write !revoke and its id, such as: !revoke " + string(always.ID)
	if got := r.told(r.says(bob, room, "!grants")); got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
	for range 35 {
		r.given(alice, "run")
	}
	if got := r.told(r.says(bob, room, "!grants")); strings.Count(got, "\n") != 32 || !strings.Contains(got, "There are more, older ones.") {
		t.Errorf("told %q", got)
	}
}

// Where a room goes on in another one, its grants do: there they are taken back, by whoever is there.
func TestGrantsMoveWithTheirRoom(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	r.ok(r.engine.Moved(t.Context(), room, "!dev:example.org"))
	r.people.elsewhere = map[bridge.UserID]bridge.Rights{carol: {Member: true}}
	if _, err := r.revoke(g, alice); bridge.CodeOf(err) != grant.CodeUnknown {
		t.Errorf("who stayed behind: %v", err)
	}
	if got := r.told(r.says(alice, room, "!revoke "+string(g.ID))); got != texts.NothingNamed {
		t.Errorf("in the old room: %q", got)
	}
	if got := r.told(r.says(carol, "!dev:example.org", "!grants")); !strings.Contains(got, string(g.ID)) {
		t.Errorf("listed %q", got)
	}
	r.told(r.says(carol, "!dev:example.org", "!revoke "+string(g.ID)))
	if got := r.stored(g); got.RevokedBy != carol || r.wires.told[0].Conversation != "!dev:example.org" || r.audit.records[len(r.audit.records)-1].Conversation != "!dev:example.org" {
		t.Errorf("it is %+v", got)
	}
}
