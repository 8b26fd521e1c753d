package testserver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Every kind of message arrives at somebody else in the shape that clients give it.
func TestMessages(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	alice := register(t, server, Account{Name: "message_alice"})
	bob := register(t, server, Account{Name: "message_bob"})
	room := must(alice.CreateRoom(ctx, Room{Public: true}))(t)
	must(bob.Join(ctx, room))(t)
	seen := func(id string) Event {
		t.Helper()
		return must(bob.WaitFor(ctx, room, withID(id)))(t)
	}

	root := must(alice.Send(ctx, room, "Deploy?"))(t)
	event := seen(root)
	equal(t, "body", event.Body(), "Deploy?")
	equal(t, "kind", event.MsgType(), "m.text")
	equal(t, "sender", event.Sender, alice.ID)
	equal(t, "no relation", event.Relation(), Relation{})
	if sent := time.UnixMilli(event.SentAt); time.Since(sent).Abs() > time.Minute {
		t.Fatalf("sent at %s", sent)
	}

	event = seen(must(alice.ThreadReply(ctx, room, root, "yes"))(t))
	want := Relation{Type: "m.thread", EventID: root, FallingBack: true}
	want.InReplyTo.EventID = root
	equal(t, "thread reply", event.Relation(), want)

	reply := must(alice.Reply(ctx, room, root, "no"))(t)
	event = seen(reply)
	equal(t, "reply", event.Relation().InReplyTo.EventID, root)
	equal(t, "reply's type", event.Relation().Type, "")

	event = seen(must(alice.Edit(ctx, room, reply, "never"))(t))
	equal(t, "edit", event.Relation(), Relation{Type: "m.replace", EventID: reply})
	equal(t, "new text", event.NewBody(), "never")
	equal(t, "text for old clients", event.Body(), "* never")

	event = seen(must(alice.React(ctx, room, root, "1️⃣"))(t))
	equal(t, "reaction", event.Relation(), Relation{Type: "m.annotation", EventID: root, Key: "1️⃣"})

	event = seen(must(alice.Redact(ctx, room, reply))(t))
	equal(t, "redacted", event.Redacts, reply)
	event = must(bob.Event(ctx, room, reply))(t)
	equal(t, "text after the redaction", event.Body(), "")

	id := must(alice.SendEvent(ctx, room, "org.example.any", map[string]any{"deep": map[string]any{"number": 7}}))(t)
	event = seen(id)
	equal(t, "field", event.Field("deep", "number"), any(7.0))
	equal(t, "missing field", event.Field("deep", "number", "deeper"), nil)
	var content struct{ Deep struct{ Number int } }
	noError(t, event.Decode(&content))
	equal(t, "decoded", content.Deep.Number, 7)

	history := must(bob.Messages(ctx, room))(t)
	equal(t, "first event", history[0].Type, "m.room.create")
	equal(t, "last event", history[len(history)-1].ID, id)
	_, err := bob.Event(ctx, room, "$unknown")
	refused(t, err, "M_NOT_FOUND")
}

// A watch gives each event once and in order, however many come between two looks; and the past is there for WaitFor.
func TestWatchMissesNothing(t *testing.T) {
	ctx := within(t)
	server := shared(t)
	alice := register(t, server, Account{Name: "watch_alice"})
	bob := register(t, server, Account{Name: "watch_bob"})
	room := must(alice.CreateRoom(ctx, Room{Public: true}))(t)
	must(bob.Join(ctx, room))(t)
	old := must(alice.Send(ctx, room, "old"))(t)
	must(bob.WaitFor(ctx, room, withID(old)))(t)
	watch := must(bob.Watch(ctx, room))(t)
	late := must(register(t, server, Account{Name: "watch_late"}).Watch(ctx, room))(t)

	const count = 230 // more than one sync and one page hold
	var sent []string
	for n := range count {
		sent = append(sent, must(alice.Send(ctx, room, fmt.Sprint("message ", n)))(t))
	}
	for n, id := range sent {
		got := must(watch.Next(ctx, func(Event) bool { return true }))(t)
		equal(t, fmt.Sprint("event ", n), got.ID, id)
	}
	equal(t, "the past", must(bob.WaitFor(ctx, room, withBody("old")))(t).ID, old)
	equal(t, "the first of many", must(bob.WaitFor(ctx, room, withBody("message 0")))(t).ID, sent[0])
	history := must(bob.Messages(ctx, room))(t)
	equal(t, "whole history", history[len(history)-count].ID, sent[0])

	must(late.user.Join(ctx, room))(t)
	numbered := func(e Event) bool { return strings.HasPrefix(e.Body(), "message ") }
	for _, id := range sent {
		equal(t, "seen by a newcomer", must(late.Next(ctx, numbered))(t).ID, id)
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	ctx := within(t)
	alice := register(t, shared(t), Account{Name: "patient_alice"})
	room := must(alice.CreateRoom(ctx, Room{}))(t)
	id := must(alice.Send(ctx, room, "not this"))(t)
	must(alice.WaitFor(ctx, room, withID(id)))(t)
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	_, err := alice.WaitFor(short, room, withBody("this"))
	wantError(t, err, context.DeadlineExceeded.Error())
	wantError(t, err, "other events came")
	wantError(t, err, "not this")

	short, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	wantError(t, alice.WaitForInvite(short, room), context.DeadlineExceeded.Error())
}

func TestSync(t *testing.T) {
	ctx := within(t)
	alice := register(t, shared(t), Account{Name: "sync_alice"})
	room := must(alice.CreateRoom(ctx, Room{}))(t)
	id := must(alice.Send(ctx, room, "first"))(t)
	must(alice.WaitFor(ctx, room, withID(id)))(t)
	news := must(alice.Sync(ctx, SyncOptions{}))(t)
	events := news.Rooms.Join[room].Timeline.Events
	equal(t, "last event", events[len(events)-1].ID, id)
	next := must(alice.Send(ctx, room, "second"))(t)
	news = must(alice.Sync(ctx, SyncOptions{
		Since: news.NextBatch, Timeout: 30 * time.Second, Filter: `{"room":{"timeline":{"types":["m.room.message"]}}}`,
	}))(t)
	equal(t, "news", news.Rooms.Join[room].Timeline.Events[0].ID, next)
}
