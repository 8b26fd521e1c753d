//go:build goolm

package matrix

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// encrypted starts a bridge with encryption, and alice with a client that encrypts.
func startEncrypted(t *testing.T) (*real, *sealedclient.Client) {
	t.Helper()
	r := setup{change: encrypts}.start(t)
	return r, r.member(r.alice)
}

func encrypts(c *Config, db *sqlstore.Store) {
	c.Encryption = &Encryption{Database: db.Database(), PickleKey: []byte("a key for tests"), DeviceName: "question-bridge", Trust: TrustKnown}
}

func (r *real) member(u *testserver.User) *sealedclient.Client {
	r.t.Helper()
	m, err := sealedclient.New(within(r.t), u, filepath.Join(r.t.TempDir(), "keys.db"))
	noError(r.t, err)
	r.t.Cleanup(func() { _ = m.Close() })
	return m
}

// sealedRoom makes an encrypted room of alice and the bot.
func (r *real) sealedRoom(invite ...string) string {
	r.t.Helper()
	ctx := within(r.t)
	id, err := r.alice.CreateRoom(ctx, testserver.Room{Name: "Sealed", Invite: append(invite, string(r.Bot())), Encrypted: true})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, id, string(r.Bot()), "join"))
	return id
}

// askSealed asks a question, and waits until somebody can read it.
func (r *real) askSealed(room string, m *sealedclient.Client, q bridge.Question) (bridge.Question, string) {
	r.t.Helper()
	q = r.asked(room, q)
	e, err := m.WaitFor(within(r.t), room, func(e sealedclient.Event) bool {
		return e.Field("elicitation_id") == q.ElicitationID && e.NewBody() == ""
	})
	noError(r.t, err)
	if !e.Encrypted {
		r.t.Error("the question came in clear")
	}
	return q, e.ID
}

// nothingClear says what the homeserver has of the bot in the room that is not encrypted.
func (r *real) nothingClear(room string) {
	r.t.Helper()
	all, err := r.alice.Messages(within(r.t), room)
	noError(r.t, err)
	for _, e := range all {
		if e.Sender == string(r.Bot()) && e.StateKey == nil && e.Type != "m.room.encrypted" && e.Type != "m.room.redaction" {
			r.t.Errorf("in clear: %s %s", e.Type, e.Content)
		}
		if e.Type == "m.room.encrypted" && strings.Contains(string(e.Content), "Which") {
			r.t.Errorf("leaked: %s", e.Content)
		}
	}
}

// A question, a reply in its thread and the outcome, all of them encrypted.
func TestSealedQuestion(t *testing.T) {
	r, alice := startEncrypted(t)
	room := r.sealedRoom()
	q, m := r.askSealed(room, alice, plain())
	_, err := alice.ThreadReply(within(t), room, m, "2")
	noError(t, err)
	e, err := alice.WaitFor(within(t), room, func(e sealedclient.Event) bool { return e.Field(outcomeKey) != nil && e.NewBody() == "" })
	noError(t, err)
	if !e.Encrypted || e.Field(outcomeKey, "elicitation_id") != string(q.ID) {
		t.Errorf("the outcome is %s", e.Content)
	}
	_, err = alice.WaitFor(within(t), room, func(e sealedclient.Event) bool { return e.NewBody() != "" })
	noError(t, err)
	r.nothingClear(room)
	if n := alice.Unreadable(); n != 0 {
		t.Errorf("%d events could not be decrypted", n)
	}
}

// What must hold in encrypted rooms, on one homeserver.
func TestSealedRooms(t *testing.T) {
	r, alice := startEncrypted(t)
	for name, f := range map[string]func(*real, *sealedclient.Client){
		"no device yet": testNoDeviceYet, "joined later": testJoinedLater, "encrypted meanwhile": testEncryptedMeanwhile,
		"in clear": testInClear, "a state that lies": testLyingState,
		"a token that is revoked": testRevoked, "a device that is not listed": testUnlisted,
		"a carrier": testSealedCarrier,
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			f(r, alice)
		})
	}
}

// asks matches the first event of a question.
func asks(q bridge.Question) func(sealedclient.Event) bool {
	return func(e sealedclient.Event) bool {
		return e.Field("elicitation_id") == q.ElicitationID && e.NewBody() == ""
	}
}

// ends matches the outcome of a question.
func ends(q bridge.Question) func(sealedclient.Event) bool {
	return func(e sealedclient.Event) bool {
		return e.Field(outcomeKey, "elicitation_id") == q.ElicitationID && e.NewBody() == ""
	}
}

func (r *real) hears(c *sealedclient.Client, room string, match func(sealedclient.Event) bool) sealedclient.Event {
	r.t.Helper()
	e, err := c.WaitFor(within(r.t), room, match)
	noError(r.t, err)
	if !e.Encrypted {
		r.t.Errorf("it came in clear: %s", e.Content)
	}
	return e
}

// delivery waits until a question's delivery is held for a reason.
func (r *real) heldFor(q bridge.Question, reason string) {
	r.t.Helper()
	r.eventually("held: "+reason, func() bool {
		now, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return now.Delivery.State == bridge.Queued && now.Delivery.Reason == reason
	})
}

// A question waits until somebody could read it, and then is posted.
func testNoDeviceYet(r *real, _ *sealedclient.Client) {
	ctx := within(r.t)
	room, err := r.bob.CreateRoom(ctx, testserver.Room{Invite: []string{string(r.Bot())}, Encrypted: true})
	noError(r.t, err)
	noError(r.t, r.bob.WaitForMember(ctx, room, string(r.Bot()), "join"))
	q := r.asked(room, plain())
	r.heldFor(q, bridge.ReasonNoKeys)
	all, err := r.bob.Messages(ctx, room)
	noError(r.t, err)
	for _, e := range all {
		if e.Sender == string(r.Bot()) && e.StateKey == nil {
			r.t.Errorf("sent all the same: %s %s", e.Type, e.Content)
		}
	}
	bob := r.member(r.bob)
	r.hears(bob, room, asks(q))
}

// Somebody who joins later reads what follows: the outcome, and the next question.
func testJoinedLater(r *real, alice *sealedclient.Client) {
	ctx := within(r.t)
	room := r.sealedRoom()
	q, m := r.askSealed(room, alice, plain())
	carol, err := r.hs.Register(ctx, testserver.Account{Name: "carol"})
	noError(r.t, err)
	hers := r.member(carol)
	noError(r.t, r.alice.Invite(ctx, room, carol.ID))
	_, err = carol.Join(ctx, room)
	noError(r.t, err)
	r.eventually("carol is there", func() bool {
		v, err := r.rooms.view(ctx, bridge.ConversationID(room), false)
		return err == nil && v.members[bridge.UserID(carol.ID)].membership == "join"
	})
	_, err = alice.ThreadReply(ctx, room, m, "2")
	noError(r.t, err)
	r.hears(hers, room, ends(q))
	next, m2 := r.askSealed(room, alice, plain())
	r.hears(hers, room, asks(next))
	_, err = hers.ThreadReply(ctx, room, m2, "1")
	noError(r.t, err)
	r.hears(alice, room, ends(next))
	r.nothingClear(room)
}

// A room turns encryption on while a question is pending: answers in clear count no more, and the outcome is encrypted.
func testEncryptedMeanwhile(r *real, alice *sealedclient.Client) {
	ctx := within(r.t)
	room, err := r.alice.CreateRoom(ctx, testserver.Room{Invite: []string{string(r.Bot())}})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(ctx, room, string(r.Bot()), "join"))
	q, m := r.ask(room, plain())
	r.encrypt(room)
	noError(r.t, alice.WaitForRoom(ctx, room, string(r.Bot())))
	_, err = r.alice.ThreadReply(ctx, room, m, "1")
	noError(r.t, err)
	_, err = alice.ThreadReply(ctx, room, m, "2")
	noError(r.t, err)
	end := r.hears(alice, room, ends(q))
	if end.Field(outcomeKey, "option_id") != "skip" {
		r.t.Errorf("the outcome is %s", end.Content)
	}
	r.hears(alice, room, func(e sealedclient.Event) bool { return e.Relation().Type == "m.replace" && e.Relation().EventID == m })
}

func (r *real) encrypt(room string) {
	r.t.Helper()
	noError(r.t, r.alice.Do(within(r.t), testserver.Request{
		Method: "PUT", Path: testserver.Path("_matrix", "client", "v3", "rooms", room, "state", "m.room.encryption", ""),
		Body: map[string]any{"algorithm": "m.megolm.v1.aes-sha2"},
	}, nil))
}

// What comes in clear into an encrypted room answers nothing: not a reply, not a structured answer; a reaction chooses what
// does no harm.
func testInClear(r *real, alice *sealedclient.Client) {
	ctx := within(r.t)
	room := r.sealedRoom()
	q := plain()
	q.Items[0].Options[0].Meaning = bridge.Approve
	q, m := r.askSealed(room, alice, q)
	_, err := r.alice.ThreadReply(ctx, room, m, "2")
	noError(r.t, err)
	_, err = r.alice.SendEvent(ctx, room, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": "2", "suite_event_type": answerType, "elicitation_id": q.ElicitationID, "option_id": "skip",
		"m.relates_to": map[string]any{"rel_type": "m.reference", "event_id": m},
	})
	noError(r.t, err)
	_, err = r.alice.React(ctx, room, m, "1️⃣")
	noError(r.t, err)
	r.hears(alice, room, func(e sealedclient.Event) bool {
		return strings.Contains(e.Body(), "cannot choose this in an encrypted room")
	})
	now, err := r.db.Question(ctx, q.ID)
	noError(r.t, err)
	if now.State != bridge.Pending {
		r.t.Errorf("answered in clear: %+v", now.Answer)
	}
	_, err = r.alice.React(ctx, room, m, "2️⃣")
	noError(r.t, err)
	if end := r.hears(alice, room, ends(q)); end.Field(outcomeKey, "option_id") != "skip" {
		r.t.Errorf("the outcome is %s", end.Content)
	}
	r.nothingClear(room)
}

// Whatever the homeserver says of a room that was encrypted once, nothing goes there in clear; while it says nothing,
// nothing goes there at all.
func testLyingState(r *real, alice *sealedclient.Client) {
	ctx := within(r.t)
	room := r.sealedRoom()
	r.askSealed(room, alice, plain())
	state := "/rooms/" + room + "/state"
	defer r.lie.Store(nil)
	for name, lie := range map[string]func([]byte) []byte{
		"no encryption": func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte("m.room.encryption"), []byte("m.room.encryptiom"))
		},
		"nothing": func([]byte) []byte { return []byte("[]") },
		"no JSON": func([]byte) []byte { return []byte("<html>") },
	} {
		tell := func(path string, body []byte) []byte {
			if strings.HasSuffix(path, state) {
				return lie(body)
			}
			return body
		}
		r.lie.Store(&tell)
		noError(r.t, r.db.SetDoubtful(ctx, bridge.ConversationID(room)))
		q := plain()
		if name == "no encryption" {
			r.askSealed(room, alice, q)
			continue
		}
		if err := r.Supports(ctx, bridge.ConversationID(room)); name == "nothing" && bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
			r.t.Errorf("%s: %v", name, err)
		} else if name == "no JSON" {
			noError(r.t, err)
			held := r.asked(room, q)
			r.heldFor(held, bridge.ReasonUnreadable)
			r.lie.Store(nil)
			r.hears(alice, room, asks(held))
		}
	}
	r.lie.Store(nil)
	r.nothingClear(room)
}
