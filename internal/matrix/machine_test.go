//go:build goolm

package matrix

import (
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
	r := startRealWith(t, func(c *Config, db *sqlstore.Store) {
		c.Encryption = &Encryption{Database: db.Database(), PickleKey: []byte("a key for tests"), DeviceName: "question-bridge", Trust: TrustKnown}
	})
	alice := r.member(r.alice)
	return r, alice
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
