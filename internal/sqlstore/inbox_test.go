package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// incoming is an event of interest only where a question is stored.
func incoming(id bridge.InteractionID, conv bridge.ConversationID) bridge.Incoming {
	return bridge.Incoming{InboxEvent: bridge.InboxEvent{ID: id, Conversation: conv, ReceivedAt: start, Raw: json.RawMessage(`{"event_id": "` + string(id) + `"}`)}}
}

// next gives the ids of the next events.
func next(t *testing.T, s *sqlstore.Store, now time.Time) string {
	t.Helper()
	var ids []string
	for _, e := range must(s.NextEvents(t.Context(), now, 100))(t) {
		ids = append(ids, string(e.ID))
	}
	return strings.Join(ids, " ")
}

func TestInboxInterest(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, "!asked")
		settled := ask(t, s, 2, "!settled")
		must2(s.Settle(t.Context(), answer(settled, 1)))(t)
		moving := ask(t, s, 3, "!old")
		must2(s.BeginSend(t.Context(), bridge.Send{Key: "k", Question: moving.ID, Conversation: "!new", FirstTry: start}))(t)
		must2(s.BeginSend(t.Context(), bridge.Send{Key: "notice", Conversation: "!notice", FirstTry: start}))(t)
		always := incoming("$always", "!nothing")
		always.Always = true
		n := must(s.StoreEvents(t.Context(), []bridge.Incoming{
			incoming("$asked", "!asked"), incoming("$nothing", "!nothing"), incoming("$settled", "!settled"), always,
			incoming("$new", "!new"), incoming("$notice", "!notice"),
		}))(t)
		equal(t, "new", n, 4)
		equal(t, "stored", next(t, s, start), "$asked $settled $always $new")
		// What is still to be handled may be a question; what comes behind it, in its batch or later, answers that.
		asks := incoming("$asks", "!carrier")
		asks.Always = true
		equal(t, "in its batch", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$before", "!carrier"), asks, incoming("$behind", "!carrier")}))(t), 2)
		noError(t, s.FinishInteraction(t.Context(), "$behind"))
		equal(t, "later", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$later", "!carrier")}))(t), 1)
		noError(t, s.FinishInteraction(t.Context(), "$later"))
		noError(t, s.FinishInteraction(t.Context(), "$asks"))
		equal(t, "when it was none", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$talk", "!carrier")}))(t), 0)
	})
}

// Field case A16: the same event twice, in any transaction, also after a restart and after it was handled.
func TestA16(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		equal(t, "twice in one batch", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room), incoming("$1", room)}))(t), 1)
		equal(t, "again, with more", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$2", room), incoming("$1", room)}))(t), 1)
		noError(t, s.FinishInteraction(t.Context(), "$1"))
		equal(t, "handled", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room)}))(t), 0)
		noError(t, s.Close())
		s = d.open(t)
		equal(t, "after a restart", must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room), incoming("$2", room)}))(t), 0)
		equal(t, "still to do", next(t, s, start), "$2")
	})
}

func TestInboxOrder(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		for i, conv := range []bridge.ConversationID{"!a", "!b", "!c"} {
			ask(t, s, i, conv)
		}
		must(s.StoreEvents(t.Context(), []bridge.Incoming{
			incoming("$b1", "!b"), incoming("$a1", "!a"), incoming("$a2", "!a"), incoming("$b2", "!b"), incoming("$c1", "!c"),
		}))(t)
		equal(t, "one of each", next(t, s, start), "$b1 $a1 $c1")
		equal(t, "limit", len(must(s.NextEvents(t.Context(), start, 2))(t)), 2)
		noError(t, s.FinishInteraction(t.Context(), "$b1"))
		noError(t, s.FinishInteraction(t.Context(), "$b1")) // again
		equal(t, "after one", next(t, s, start), "$a1 $b2 $c1")
		noError(t, s.PostponeEvent(t.Context(), "$a1", start.Add(time.Minute), "the room cannot be read"))
		equal(t, "while postponed", next(t, s, start), "$b2 $c1")
		equal(t, "later", next(t, s, start.Add(time.Minute)), "$a1 $b2 $c1")
		events := must(s.NextEvents(t.Context(), start.Add(time.Minute), 1))(t)
		equal(t, "attempts", events[0].Attempts, 1)
		equal(t, "content", string(events[0].Raw), `{"event_id": "$a1"}`)
		equal(t, "received", events[0].ReceivedAt, start)
		noError(t, s.SetAside(t.Context(), "$a1", "it panics"))
		equal(t, "after it was set aside", next(t, s, start), "$a2 $b2 $c1")
		aside := must(s.AsideEvents(t.Context(), 10))(t)
		equal(t, "why", aside[0].Why, "it panics")
		equal(t, "its content", string(aside[0].Raw), `{"event_id": "$a1"}`)
		noError(t, s.FinishInteraction(t.Context(), "$a1"))
		equal(t, "still aside", len(must(s.AsideEvents(t.Context(), 10))(t)), 1)
		for what, err := range map[string]error{
			"postpone": s.PostponeEvent(t.Context(), "$none", start, ""), "set aside": s.SetAside(t.Context(), "$none", ""),
		} {
			equal(t, what, bridge.CodeOf(err), bridge.CodeNotFound)
		}
	})
}

// What no database likes is kept as it came, and never in the way of the rest.
func TestInboxBrokenEvents(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		broken := incoming("$broken\x00\xff", room)
		broken.Raw, broken.Aside, broken.Why = json.RawMessage("{\"a\": \"\xff\x00"), true, "does not decode: \x00\xff"
		empty := incoming("$empty", room)
		empty.Raw = nil
		n := must(s.StoreEvents(t.Context(), []bridge.Incoming{broken, incoming("$1", room), empty}))(t)
		equal(t, "new", n, 3)
		equal(t, "next", next(t, s, start), "$1")
		aside := must(s.AsideEvents(t.Context(), 10))(t)[0]
		equal(t, "id", aside.ID, broken.ID)
		equal(t, "why", aside.Why, broken.Why)
		equal(t, "content", string(aside.Raw), string(broken.Raw))
	})
}

func TestInboxPurge(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room), incoming("$2", room), incoming("$3", room)}))(t)
		noError(t, s.FinishInteraction(t.Context(), "$1"))
		noError(t, s.SetAside(t.Context(), "$2", ""))
		equal(t, "too early", must(s.PurgeInbox(t.Context(), start, 10))(t), 0)
		equal(t, "one", must(s.PurgeInbox(t.Context(), start.Add(time.Millisecond), 1))(t), 1)
		equal(t, "the other", must(s.PurgeInbox(t.Context(), start.Add(time.Millisecond), 10))(t), 1)
		equal(t, "what waits stays", next(t, s, start), "$3")
		must2(s.BeginSend(t.Context(), bridge.Send{Key: "alone", Conversation: room, FirstTry: start}))(t)
		must2(s.BeginSend(t.Context(), bridge.Send{Key: "of a question", Question: "q_1", Conversation: room, FirstTry: start}))(t)
		equal(t, "sends too early", must(s.PurgeSends(t.Context(), start, 10))(t), 0)
		equal(t, "sends", must(s.PurgeSends(t.Context(), start.Add(time.Millisecond), 10))(t), 1)
	})
}

// A batch waits for one that is not committed yet: its events have later numbers, and must not be seen first.
func TestInboxBatchesInOrder(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		second := make(chan error, 1)
		noError(t, s.Atomically(t.Context(), func(ctx context.Context) error {
			must(s.StoreEvents(ctx, []bridge.Incoming{incoming("$1", room)}))(t)
			go func() {
				_, err := s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$2", room)})
				second <- err
			}()
			select {
			case err := <-second:
				t.Errorf("the second batch was first: %v", err)
				second <- err
			case <-time.After(100 * time.Millisecond): // time for it to go wrong
			}
			return nil
		}))
		noError(t, <-second)
		for _, want := range []string{"$1", "$2"} {
			equal(t, "next", next(t, s, start), want)
			noError(t, s.FinishInteraction(t.Context(), bridge.InteractionID(want)))
		}
	})
}

func TestInboxManyEvents(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		var batch []bridge.Incoming
		for i := range 5001 {
			e := incoming(bridge.InteractionID(fmt.Sprintf("$%d", i)), bridge.ConversationID(fmt.Sprintf("!%d", i)))
			e.Always = i%2 == 0
			batch = append(batch, e)
		}
		equal(t, "new", must(s.StoreEvents(t.Context(), batch))(t), 2501)
		equal(t, "again", must(s.StoreEvents(t.Context(), batch))(t), 0)
		events := must(s.NextEvents(t.Context(), start, 5000))(t)
		equal(t, "next", len(events), 2501)
		for i, e := range events {
			equal(t, "order", string(e.ID), fmt.Sprintf("$%d", 2*i))
		}
	})
}
