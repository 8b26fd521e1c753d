package testserver

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestMembership(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	alice := register(t, server, Account{Name: "member_alice"})
	bob := register(t, server, Account{Name: "member_bob"})
	room := must(alice.CreateRoom(ctx, Room{Name: "Members"}))(t)
	_, err := bob.Join(ctx, room)
	refused(t, err, "M_FORBIDDEN")

	invited := make(chan error, 1)
	go func() { invited <- bob.WaitForInvite(ctx, room) }()
	joined := make(chan error, 1)
	go func() { joined <- alice.WaitForMember(ctx, room, bob.ID, "join") }()
	noError(t, alice.Invite(ctx, room, bob.ID))
	noError(t, <-invited)
	equal(t, "joined room", must(bob.Join(ctx, room))(t), room)
	noError(t, <-joined)
	noError(t, alice.WaitForMember(ctx, room, bob.ID, "join"))
	members := must(alice.Members(ctx, room))(t)
	equal(t, "alice", members[alice.ID], "join")
	equal(t, "bob", members[bob.ID], "join")

	noError(t, bob.Leave(ctx, room))
	noError(t, alice.WaitForMember(ctx, room, bob.ID, "leave"))
	noError(t, alice.Invite(ctx, room, bob.ID))
	must(bob.Join(ctx, room))(t)
	noError(t, alice.Kick(ctx, room, bob.ID))
	noError(t, alice.WaitForMember(ctx, room, bob.ID, "leave"))
	noError(t, alice.Ban(ctx, room, bob.ID))
	noError(t, alice.WaitForMember(ctx, room, bob.ID, "ban"))
	refused(t, alice.Invite(ctx, room, bob.ID), "M_FORBIDDEN")
}

func TestRoomOptionsAndState(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	alice := register(t, server, Account{Name: "state_alice"})
	bob := register(t, server, Account{Name: "state_bob"})
	alias := unique("state")
	room := must(alice.CreateRoom(ctx, Room{
		Name: "State", Topic: "All of it", Alias: alias, Version: "11", Public: true, Encrypted: true,
		Invite: []string{bob.ID},
		Powers: map[string]int{bob.ID: 50},
		State:  []State{{Type: "org.example.note", Key: "a/b", Content: map[string]any{"text": "first"}}},
	}))(t)
	equal(t, "joined by alias", must(bob.Join(ctx, "#"+alias+":"+server.Name))(t), room)
	noError(t, alice.CreateAlias(ctx, "#"+alias+"-too:"+server.Name, room))
	equal(t, "joined by alias", must(bob.Join(ctx, "#"+alias+"-too:"+server.Name))(t), room)

	for _, want := range []struct{ eventType, key, field, value string }{
		{"m.room.name", "", "name", "State"},
		{"m.room.topic", "", "topic", "All of it"},
		{"m.room.create", "", "room_version", "11"},
		{"m.room.encryption", "", "algorithm", "m.megolm.v1.aes-sha2"},
		{"m.room.member", bob.ID, "membership", "join"},
		{"org.example.note", "a/b", "text", "first"},
	} {
		content := must(alice.State(ctx, room, want.eventType, want.key))(t)
		equal(t, want.eventType, Event{Content: content}.Field(want.field), any(want.value))
	}
	_, err := alice.State(ctx, room, "org.example.note", "missing")
	refused(t, err, "M_NOT_FOUND")

	note := func(text string) State {
		return State{Type: "org.example.note", Content: map[string]any{"text": text}}
	}
	id := must(bob.SetState(ctx, room, note("second")))(t)
	got := must(alice.WaitFor(ctx, room, withID(id)))(t)
	equal(t, "sender", got.Sender, bob.ID)
	noError(t, alice.SetPower(ctx, room, bob.ID, 0))
	equal(t, "the event that stands", must(bob.SetState(ctx, room, note("second")))(t), id)
	_, err = bob.SetState(ctx, room, note("third"))
	refused(t, err, "M_FORBIDDEN")
	var powers struct{ Users map[string]int }
	noError(t, json.Unmarshal(must(alice.State(ctx, room, "m.room.power_levels", ""))(t), &powers))
	equal(t, "alice's power", powers.Users[alice.ID], 100)
	equal(t, "bob's power", powers.Users[bob.ID], 0)
}

func TestUpgrade(t *testing.T) {
	ctx := within(t)
	alice := register(t, shared(t), Account{Name: "upgrade_alice"})
	bob := register(t, shared(t), Account{Name: "upgrade_bob"})
	old := must(alice.CreateRoom(ctx, Room{Name: "Old", Public: true}))(t)
	must(bob.Join(ctx, old))(t)
	next := must(alice.Upgrade(ctx, old, "11"))(t)
	tombstone := must(alice.WaitFor(ctx, old, func(e Event) bool { return e.Type == "m.room.tombstone" }))(t)
	equal(t, "replacement", tombstone.Field("replacement_room"), any(next))
	create := Event{Content: must(alice.State(ctx, next, "m.room.create", ""))(t)}
	equal(t, "predecessor", create.Field("predecessor", "room_id"), any(old))
	members := must(alice.Members(ctx, next))(t)
	equal(t, "members of the new room", fmt.Sprint(members), fmt.Sprint(map[string]string{alice.ID: "join"}))
	_, err := alice.Upgrade(ctx, next, "no such version")
	refused(t, err, "M_UNSUPPORTED_ROOM_VERSION")
}
