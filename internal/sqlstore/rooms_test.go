package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func TestSends(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q := ask(t, s, 1, room)
		send := bridge.Send{Key: "k1", Question: q.ID, Conversation: room, TransactionID: "t1", FirstTry: start}
		saved, isNew, err := s.BeginSend(t.Context(), send)
		noError(t, err)
		equal(t, "new", isNew, true)
		equal(t, "saved", saved, send)
		again := send
		again.TransactionID, again.FirstTry = "t2", start.Add(time.Minute)
		saved, isNew, err = s.BeginSend(t.Context(), again)
		noError(t, err)
		equal(t, "new again", isNew, false)
		equal(t, "the one saved first", saved, send)
		equal(t, "recorded", must(s.SendDone(t.Context(), "k1", "$sent"))(t), "$sent")
		equal(t, "recorded already", must(s.SendDone(t.Context(), "k1", "$again"))(t), "$sent")
		send.Message = "$sent"
		found, ok, err := s.SendByKey(t.Context(), "k1")
		noError(t, err)
		equal(t, "ok", ok, true)
		equal(t, "found", found, send)
		_, ok, err = s.SendByKey(t.Context(), "none")
		noError(t, err)
		equal(t, "none", ok, false)
		_, err = s.SendDone(t.Context(), "none", "$m")
		equal(t, "done with none", bridge.CodeOf(err), bridge.CodeNotFound)

		second := bridge.Send{Key: "k0", Question: q.ID, Conversation: room, FirstTry: start}
		must2(s.BeginSend(t.Context(), second))(t)
		must2(s.BeginSend(t.Context(), bridge.Send{Key: "alone", Conversation: room, FirstTry: start}))(t)
		sends := must(s.SendsOf(t.Context(), q.ID))(t)
		if want := []bridge.Send{send, second}; !reflect.DeepEqual(sends, want) {
			t.Fatalf("sends: got %v, want %v", sends, want)
		}
		_, _, err = s.BeginSend(t.Context(), bridge.Send{Key: "k", Question: "q_none"})
		equal(t, "of no question", bridge.CodeOf(err), bridge.CodeNotFound)

		var news atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, isNew, err := s.BeginSend(t.Context(), bridge.Send{Key: "race", TransactionID: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
				if isNew {
					news.Add(1)
				}
			})
		}
		all.Wait()
		equal(t, "new at once", news.Load(), 1)
	})
}

func record(kind, key, content string) bridge.StateRecord {
	return bridge.StateRecord{
		Conversation: room, Type: kind, Key: key, Event: "$" + bridge.InteractionID(key), Sender: "@s:example.org",
		SentAt: start, Content: json.RawMessage(content),
	}
}

func TestRoomState(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		states := func(what, kind string, want ...bridge.StateRecord) {
			t.Helper()
			if got := must(s.StateOf(t.Context(), room, kind))(t); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %v, want %v", what, got, want)
			}
		}
		standing := func(what string, wantKnown, wantDoubtful, wantEncrypted bool) {
			t.Helper()
			known, doubtful, encrypted, err := s.Standing(t.Context(), room)
			noError(t, err)
			equal(t, what, [3]bool{known, doubtful, encrypted}, [3]bool{wantKnown, wantDoubtful, wantEncrypted})
		}
		a, b, power := record("member", "@a", `{ "membership":"join" }`), record("member", "@b", `{}`), record("power", "", `{"x":"<"}`)
		standing("at first", false, false, false)
		noError(t, s.PutState(t.Context(), a))
		states("one", "member", a)
		standing("a record is no copy", false, false, false)
		noError(t, s.ReplaceState(t.Context(), room, []bridge.StateRecord{b, power, record("member", "@c", `1`), record("member", "@c", `2`)}))
		states("replaced", "member", b, record("member", "@c", `2`))
		states("power", "power", power)
		standing("with a copy", true, false, false)
		b.Content, b.Event, b.SentAt = json.RawMessage(`{"membership":"ban"}`), "$later", start.Add(time.Second)
		noError(t, s.PutState(t.Context(), b))
		states("changed", "member", b, record("member", "@c", `2`))
		noError(t, s.SetDoubtful(t.Context(), room))
		standing("in doubt", true, true, false)
		noError(t, s.SetEncrypted(t.Context(), room))
		noError(t, s.SetDoubtful(t.Context(), "!other"))
		noError(t, s.ReplaceState(t.Context(), room, []bridge.StateRecord{a}))
		standing("replaced again", true, false, true)
		if got := must(s.KnownRooms(t.Context()))(t); !reflect.DeepEqual(got, []bridge.ConversationID{room}) {
			t.Fatalf("rooms: %v", got)
		}
		noError(t, s.SetDoubtful(t.Context(), room))
		noError(t, s.ForgetState(t.Context(), room))
		standing("left", false, false, true)
		states("left", "member")
		noError(t, s.ForgetState(t.Context(), "!never"))
		equal(t, "rooms", len(must(s.KnownRooms(t.Context()))(t)), 0)

		many := make([]bridge.StateRecord, 3001)
		for i := range many {
			many[i] = record("member", fmt.Sprintf("@%05d", i), `{}`)
		}
		noError(t, s.ReplaceState(t.Context(), room, many))
		states("many", "member", many...)
		noError(t, s.ReplaceState(t.Context(), room, nil))
		standing("empty", true, false, true)
		states("empty", "member")
	})
}

func TestRoomsOfAPerson(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		for _, r := range []bridge.StateRecord{
			{Conversation: "!b", Type: "m.room.member", Key: "@dana"}, {Conversation: "!a", Type: "m.room.member", Key: "@dana"},
			{Conversation: "!c", Type: "m.room.member", Key: "@sam"}, {Conversation: "!d", Type: "m.room.other", Key: "@dana"},
		} {
			noError(t, s.PutState(t.Context(), r))
		}
		if got := must(s.RoomsOf(t.Context(), "@dana"))(t); !reflect.DeepEqual(got, []bridge.ConversationID{"!a", "!b"}) {
			t.Errorf("rooms: %v", got)
		}
		equal(t, "of nobody", len(must(s.RoomsOf(t.Context(), "@nobody"))(t)), 0)
	})
}

func TestValues(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		equal(t, "none", must(s.Value(t.Context(), "sync"))(t), "")
		noError(t, s.SetValue(t.Context(), "sync", "s1"))
		noError(t, s.SetValue(t.Context(), "sync", "s2"))
		equal(t, "value", must(s.Value(t.Context(), "sync"))(t), "s2")
	})
}

func TestTokens(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		until := start.Add(time.Hour)
		a := bridge.Token{ID: "a", Agent: "agent", Hash: sha256.Sum256([]byte("a")), Rooms: []string{"*"}, Scopes: []string{"ask"}, CreatedAt: start, ExpiresAt: &until}
		b := bridge.Token{ID: "b", User: "@dana:example.org", Hash: sha256.Sum256([]byte("b")), CreatedAt: start}
		noError(t, s.AddToken(t.Context(), b))
		noError(t, s.AddToken(t.Context(), a))
		list := func(want ...bridge.Token) {
			t.Helper()
			if got := must(s.ListTokens(t.Context()))(t); !reflect.DeepEqual(got, want) {
				t.Fatalf("tokens: got %v, want %v", got, want)
			}
		}
		list(a, b)
		if err := s.AddToken(t.Context(), bridge.Token{ID: "a"}); err == nil {
			t.Error("the same id twice")
		}
		if err := s.AddToken(t.Context(), bridge.Token{ID: "c", Hash: a.Hash}); err == nil {
			t.Error("the same secret twice")
		}
		valid := func(what string, token bridge.Token, now time.Time, want bool) {
			t.Helper()
			got, ok, err := s.TokenByHash(t.Context(), token.Hash, now)
			noError(t, err)
			equal(t, what, ok, want)
			if ok && !reflect.DeepEqual(got, token) {
				t.Fatalf("%s: got %v, want %v", what, got, token)
			}
		}
		valid("a", a, until.Add(-time.Millisecond), true)
		valid("a, expired", a, until, false)
		valid("b", b, until, true)
		valid("none", bridge.Token{Hash: sha256.Sum256([]byte("none"))}, start, false)

		noError(t, s.TokenUsed(t.Context(), "b", start))
		noError(t, s.TokenUsed(t.Context(), "b", start.Add(59*time.Second)))
		used := start
		b.UsedAt = &used
		valid("used within the minute", b, start, true)
		noError(t, s.TokenUsed(t.Context(), "b", start.Add(time.Minute)))
		used = start.Add(time.Minute)
		valid("used after it", b, start, true)

		for _, at := range []time.Time{start.Add(time.Minute), start.Add(2 * time.Minute)} {
			equal(t, "revoked", must(s.RevokeToken(t.Context(), "b", at))(t), true)
		}
		equal(t, "revoked none", must(s.RevokeToken(t.Context(), "none", start))(t), false)
		valid("b, revoked", b, start.Add(time.Minute), false)
		revoked := start.Add(time.Minute)
		b.RevokedAt = &revoked
		list(a, b)
	})
}

// What a transaction stores is one thing, whichever part of the store keeps it.
func TestOneTransaction(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		func() {
			defer func() { equal(t, "panic", recover(), any("stop")) }()
			_ = s.Atomically(t.Context(), func(ctx context.Context) error {
				noError(t, s.SetValue(ctx, "v", "1"))
				must(s.StoreEvents(ctx, []bridge.Incoming{incoming("$1", room)}))(t)
				noError(t, s.ReplaceState(ctx, room, []bridge.StateRecord{record("member", "@a", `{}`)}))
				noError(t, s.AddToken(ctx, bridge.Token{ID: "a"}))
				must2(s.BeginSend(ctx, bridge.Send{Key: "k", Question: "q_1"}))(t)
				panic("stop")
			})
		}()
		equal(t, "value", must(s.Value(t.Context(), "v"))(t), "")
		equal(t, "events", next(t, s, start), "")
		equal(t, "rooms", len(must(s.KnownRooms(t.Context()))(t)), 0)
		equal(t, "tokens", len(must(s.ListTokens(t.Context()))(t)), 0)
		equal(t, "sends", len(must(s.SendsOf(t.Context(), "q_1"))(t)), 0)
	})
}

// must2 turns two values and an error into the first, or ends the test.
func must2[A, B any](a A, _ B, err error) func(*testing.T) A {
	return must(a, err)
}
