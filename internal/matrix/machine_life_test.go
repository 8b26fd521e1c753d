//go:build goolm

package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// converses asks in an encrypted room, answers, and reads the outcome.
func (r *real) converses(room string, alice *sealedclient.Client) {
	r.t.Helper()
	q, m := r.askSealed(room, alice, plain())
	_, err := alice.ThreadReply(within(r.t), room, m, "2")
	noError(r.t, err)
	if end := r.hears(alice, room, ends(q)); end.Field(outcomeKey, "option_id") != "skip" {
		r.t.Errorf("the outcome is %s", end.Content)
	}
}

// The same on PostgreSQL.
func TestSealedQuestionOnPostgres(t *testing.T) {
	server, stop, err := testserver.Postgres(within(t))
	noError(t, err)
	t.Cleanup(stop)
	dsn, err := testserver.NewDatabase(within(t), server, "sealed")
	noError(t, err)
	r := setup{change: encrypts, database: sqlstore.Config{Type: sqlstore.Postgres, URI: dsn}}.start(t)
	alice := r.member(r.alice)
	room := r.sealedRoom()
	r.converses(room, alice)
	r.converses(room, alice)
	r.nothingClear(room)
}

// The homeserver takes an encrypted question, the answer to that is lost, and the homeserver is
// killed. The question is found by the key inside, and posted once.
func TestLostSealedAnswer(t *testing.T) {
	r, alice := startEncrypted(t)
	room := r.sealedRoom()
	restarted := make(chan struct{})
	r.onCut = func() {
		defer close(restarted)
		_ = r.hs.Kill()
		_ = r.hs.Restart(context.Background())
	}
	r.cutPUT.Store(1)
	q, m := r.askSealed(room, alice, plain())
	<-restarted
	r.eventually("the question counts as posted", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		return q.Delivery.State == bridge.Posted && string(q.Delivery.Message) == m
	})
	all, err := r.alice.Messages(within(r.t), room)
	noError(r.t, err)
	sent := 0
	for _, e := range all {
		if e.Sender == string(r.Bot()) && e.Type == "m.room.encrypted" {
			sent++
		}
	}
	if sent != 1 {
		r.t.Errorf("sent %d times", sent)
	}
}

// testRevoked: the homeserver takes the token of the bot's device back, as it does when that logs in elsewhere. It logs in
// again, and goes on: as the same device. (What is written while a device is deleted is for nobody there, so that would be
// no test of this.)
func testRevoked(r *real, alice *sealedclient.Client) {
	room := r.sealedRoom()
	r.converses(room, alice)
	before := r.published()
	for range 2 {
		noError(r.t, (&testserver.User{Server: r.hs, AccessToken: r.reg.AppToken}).Do(within(r.t), testserver.Request{
			Method: "POST", Path: "/_matrix/client/v3/login", Body: map[string]any{
				"type": "m.login.application_service", "device_id": r.cipher.device().cli.DeviceID,
				"identifier": map[string]any{"type": "m.id.user", "user": r.Bot()},
			},
		}, nil))
		room = r.sealedRoom() // with keys of its own, both ways
		r.converses(room, alice)
	}
	for device := range before.Devices {
		if _, same := r.published().Devices[device]; !same {
			r.t.Error("it is another device")
		}
	}
	r.nothingClear(room)
}

// testUnlisted: an answer from a device that its sender is not known to have is none.
func testUnlisted(r *real, alice *sealedclient.Client) {
	room := r.sealedRoom()
	second, err := r.hs.Login(within(r.t), r.alice.ID, r.alice.Password)
	noError(r.t, err)
	hide := func(path string, body []byte) []byte {
		var answer map[string]map[string]map[string]any
		if !strings.HasSuffix(path, "/keys/query") || json.Unmarshal(body, &answer) != nil {
			return body
		}
		delete(answer["device_keys"][r.alice.ID], second.DeviceID)
		hidden, _ := json.Marshal(answer)
		return hidden
	}
	r.lie.Store(&hide)
	defer r.lie.Store(nil)
	stranger := r.member(second)
	q, m := r.askSealed(room, alice, plain())
	reply, err := stranger.ThreadReply(within(r.t), room, m, "1")
	noError(r.t, err)
	r.eventually("the reply is passed over", func() bool {
		handled, err := r.handled(reply)
		noError(r.t, err)
		return handled
	})
	now, err := r.db.Question(within(r.t), q.ID)
	noError(r.t, err)
	if now.State != bridge.Pending {
		r.t.Errorf("answered by a stranger: %+v", now.Answer)
	}
	_, err = alice.ThreadReply(within(r.t), room, m, "2")
	noError(r.t, err)
	if end := r.hears(alice, room, ends(q)); end.Field(outcomeKey, "option_id") != "skip" {
		r.t.Errorf("the outcome is %s", end.Content)
	}
}

// handled says whether an event was handled for good: read, or passed over.
func (r *real) handled(id string) (bool, error) {
	locked, err := r.db.IsLocked(r.t.Context(), bridge.InteractionID(id))
	if err != nil || locked {
		return false, err
	}
	var state string
	err = r.db.Database().QueryRow(r.t.Context(), `SELECT COALESCE((SELECT state FROM inbox WHERE id = $1), '')`, id).Scan(&state)
	return state == "handled", err
}

// testSealedCarrier: a carrier posts its own question encrypted, somebody answers, and the carrier reads the outcome.
func testSealedCarrier(r *real, alice *sealedclient.Client) {
	ctx := within(r.t)
	pod := r.member(r.pod)
	room := r.sealedRoom(r.pod.ID)
	_, err := r.pod.Join(ctx, room)
	noError(r.t, err)
	noError(r.t, pod.WaitForRoom(ctx, room, string(r.Bot()), r.alice.ID))
	content := v2Content(r.t, map[string]any{"elicitation_id": "elc_sealed"})
	m, err := pod.Say(ctx, room, content)
	noError(r.t, err)
	_, err = alice.WaitFor(ctx, room, func(e sealedclient.Event) bool { return e.ID == m })
	noError(r.t, err)
	_, err = alice.ThreadReply(ctx, room, m, "2")
	noError(r.t, err)
	end := r.hears(pod, room, func(e sealedclient.Event) bool { return e.Field(outcomeKey, "elicitation_id") == "elc_sealed" })
	if end.Field(outcomeKey, "state") != "answered" {
		r.t.Errorf("the outcome is %s", end.Content)
	}
	r.nothingClear(room)
}

// failing is a store that fails to finish the first messages between devices, as one does that dies before it commits; or to
// store anything that they bring.
type failing struct {
	Store
	left, writes atomic.Int32
}

// handling is the key, in the ctx of a transaction, of whether it stores nothing; nil while that is open.
type handling struct{}

func (f *failing) Atomically(ctx context.Context, do func(ctx context.Context) error) error {
	full, within := ctx.Value(handling{}).(**bool)
	if !within {
		return f.Store.Atomically(context.WithValue(ctx, handling{}, new(*bool)), do)
	}
	if *full == nil {
		*full = new(f.writes.Add(-1) >= 0)
	}
	if **full {
		return errors.New("the disk is full")
	}
	return f.Store.Atomically(ctx, do)
}

func (f *failing) FinishInteraction(ctx context.Context, id bridge.InteractionID) error {
	if strings.HasPrefix(string(id), "key:") && f.left.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return f.Store.FinishInteraction(ctx, id)
}

// A key whose handling did not come to its end is handled again, as if it never was before.
func TestKeyHandledAgain(t *testing.T) {
	var store *failing
	r := setup{change: encrypts, between: func(real Store) Store {
		store = &failing{Store: real}
		return store
	}}.start(t)
	alice := r.member(r.alice)
	for _, fails := range []*atomic.Int32{&store.left, &store.writes} {
		room := r.sealedRoom()
		fails.Store(2)
		r.converses(room, alice)
		if fails.Load() >= 0 {
			t.Error("nothing failed")
		}
		fails.Store(0)
	}
}
