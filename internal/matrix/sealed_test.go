package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// fakeCipher hides contents behind numbers, for what the rest of the channel does with encryption; that the real one
// encrypts, the tests with real clients show.
type fakeCipher struct {
	mu      sync.Mutex
	began   chan struct{}
	sealed  map[string]sealing // by ciphertext
	keys    map[string]bool    // sessions whose keys we have
	trusted map[bridge.UserID]bool
	worth   map[string]error // what open says of a ciphertext
	devices map[bridge.UserID]bool
	fails   error // of reaches and seal
	hs      *homeserver
	store   Store
	changed []bridge.UserID
	count   int
	taken   int // messages between devices
}

func (f *fakeCipher) begin(context.Context) error           { return nil }
func (f *fakeCipher) relogin(context.Context, string) error { return nil }
func (f *fakeCipher) begun() <-chan struct{}                { return f.began }
func (f *fakeCipher) device() *homeserver                   { return f.hs }

func (f *fakeCipher) seal(_ context.Context, s sealing) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	return json.RawMessage(f.hide("ours", s)), nil
}

// hide makes the content of an encrypted event.
func (f *fakeCipher) hide(session string, s sealing) string {
	name := fmt.Sprintf("c%d", len(f.sealed))
	f.sealed[name] = s
	outside := map[string]any{"algorithm": "m.megolm.v1.aes-sha2", "session_id": session, "ciphertext": name}
	if r, ok := s.content["m.relates_to"]; ok {
		outside["m.relates_to"] = r
	}
	raw, _ := json.Marshal(outside)
	return string(raw)
}

func (f *fakeCipher) open(_ context.Context, e event) (event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := e.Content.string("ciphertext")
	if session := e.Content.string("session_id"); session != "ours" && !f.keys[session] {
		return e, &errLocked{session}
	}
	if err := f.worth[name]; err != nil {
		return e, err
	}
	inside := f.sealed[name]
	raw, _ := json.Marshal(inside.content)
	e.Type, e.RawContent, e.Content = inside.kind, raw, readObject(raw)
	e.seal = &seal{crossSigned: f.trusted[bridge.UserID(e.Sender)]}
	return e, nil
}

func (f *fakeCipher) holds(_ context.Context, _ bridge.ConversationID, session string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys[session], nil
}

func (f *fakeCipher) reaches(_ context.Context, people []bridge.UserID) (map[bridge.UserID]bool, error) {
	return f.devices, f.fails
}

func (f *fakeCipher) take(ctx context.Context, ev bridge.InboxEvent) ([]session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := readObject(ev.Raw).object("content").string("session_id")
	f.keys[key] = true
	f.taken++
	return []session{{room, key}}, f.store.FinishInteraction(ctx, ev.ID)
}

func (f *fakeCipher) outdated(_ context.Context, people []bridge.UserID) error {
	f.changed = append(f.changed, people...)
	return nil
}

func (f *fakeCipher) supply(_ context.Context, count int) error {
	f.count = count
	return nil
}

// newSealedRig is a rig whose room is encrypted.
func newSealedRig(t *testing.T) (*rig, *fakeCipher) {
	t.Helper()
	r := newRig(t, nil)
	return r, r.encrypts()
}

// encrypts gives the bridge a cipher, and makes the room one that needs it.
func (r *rig) encrypts() *fakeCipher {
	f := &fakeCipher{
		began: make(chan struct{}), sealed: map[string]sealing{}, keys: map[string]bool{}, worth: map[string]error{},
		trusted: map[bridge.UserID]bool{}, devices: map[bridge.UserID]bool{"@dana:ex.org": true, "@sam:ex.org": true}, hs: r.hs, store: r.db,
	}
	close(f.began)
	r.Service.cipher, r.sends.cipher = f, f
	r.cfg.Encryption = &Encryption{Trust: TrustKnown}
	server := r.server.rooms[room]
	server.state = append(server.state, r.server.stateEvent("m.room.encryption", "", "@root:ex.org", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}))
	return f
}

// whispers is an encrypted message of somebody, with a session.
func (r *rig) whispers(f *fakeCipher, who, session, content string) string {
	var c map[string]any
	noError(r.t, json.Unmarshal([]byte(content), &c))
	return r.says(who, "m.room.encrypted", f.hide(session, sealing{kind: "m.room.message", content: c}))
}

// told gives the notices that were sent, decrypted.
func (f *fakeCipher) told() (bodies []string) {
	for i := range len(f.sealed) {
		if s := f.sealed[fmt.Sprintf("c%d", i)]; s.content["msgtype"] == "m.notice" && s.content["m.new_content"] == nil {
			bodies = append(bodies, fmt.Sprint(s.content["body"]))
		}
	}
	return bodies
}

// Field case A15: an encrypted reply without its key is no answer and holds nobody up. After a grace time its sender is
// told once how else to answer; a reaction answers meanwhile.
func TestA15(t *testing.T) {
	r, f := newSealedRig(t)
	q, m := r.ask(plain())
	r.put("1", r.whispers(f, "@dana:ex.org", "s1", threadReply(m, "2")), r.whispers(f, "@dana:ex.org", "s1", threadReply(m, "1")))
	r.work()
	r.clock.Move(keyWait + time.Second)
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if told := f.told(); len(told) != 0 {
		t.Errorf("told at once: %q", told)
	}
	r.clock.Move(time.Minute)
	r.pump()
	if told := f.told(); len(told) != 1 || told[0] != texts.Unreadable(string(q.ID)) {
		t.Errorf("told %q", told)
	}
	r.put("2", r.says("@dana:ex.org", "m.reaction", fmt.Sprintf(`{"m.relates_to":{"rel_type":"m.annotation","event_id":%q,"key":"2️⃣"}}`, m)))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	// The key that comes now has no effect.
	r.key("s1")
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// key gives the bot the key of a session, the way a sync does.
func (r *rig) key(session string) {
	r.t.Helper()
	var news deviceNews
	news.ToDevice.Events = []json.RawMessage{json.RawMessage(`{"type":"m.room.encrypted","sender":"@dana:ex.org","content":{"session_id":"` + session + `"}}`)}
	noError(r.t, r.keepKeys(r.t.Context(), r.engine, news))
}

// Field case A15: a key that comes late lets the reply count, in its old place, and nobody hears of a trouble that is over.
func TestA15LateKey(t *testing.T) {
	r, f := newSealedRig(t)
	q, m := r.ask(plain())
	r.put("1", r.whispers(f, "@dana:ex.org", "s1", threadReply(m, "2")), r.whispers(f, "@sam:ex.org", "s2", threadReply(m, "1")))
	r.work()
	r.clock.Move(keyWait + time.Second)
	r.work()
	r.key("s2")
	r.key("s1")
	r.work()
	r.expect(q.ID, "answered run_them by @sam:ex.org")
	r.clock.Move(time.Minute)
	r.pump()
	for _, body := range f.told() {
		if body == texts.Unreadable(string(q.ID)) {
			t.Errorf("told: %s", body)
		}
	}
}

// A key that comes at the very moment when its event is set aside is not missed.
func TestKeyWhileLocking(t *testing.T) {
	r, f := newSealedRig(t)
	q, m := r.ask(plain())
	r.put("1", r.whispers(f, "@dana:ex.org", "s1", threadReply(m, "2")))
	r.clock.Move(keyWait + time.Second)
	r.Service.store = keyComes{r.db, func() { f.keys["s1"] = true }}
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// keyComes is a store during whose LockEvent the key comes.
type keyComes struct {
	Store
	now func()
}

func (k keyComes) LockEvent(ctx context.Context, id bridge.InteractionID, session string) error {
	k.now()
	return k.Store.LockEvent(ctx, id, session)
}

// What is inside an encrypted event is believed only as far as its sender could have said it in clear.
func TestSealedTricks(t *testing.T) {
	r, f := newSealedRig(t)
	q := plain()
	q.Items[0].Options[0].Meaning = bridge.Approve
	q, m := r.ask(q)
	other, m2 := r.ask(plain())
	inside := func(kind, content string) string {
		var c map[string]any
		noError(t, json.Unmarshal([]byte(content), &c))
		return f.hide("ours", sealing{kind: kind, content: c})
	}
	structured := func(id, to string) string {
		return fmt.Sprintf(`{"msgtype":"m.text","body":"2","suite_event_type":%q,"elicitation_id":%q,"option_id":"skip","m.relates_to":{"rel_type":"m.reference","event_id":%q}}`, answerType, id, to)
	}
	repointed := strings.Replace(inside("m.room.message", threadReply(m, "2")), m, m2, -1)
	clearRelation := strings.Replace(inside("m.room.message", structured(q.ElicitationID, m)), m, m2, -1)
	f.sealed[strings.Split(strings.Split(clearRelation, `"ciphertext":"`)[1], `"`)[0]].content["m.relates_to"] = nil
	delete(f.sealed[strings.Split(strings.Split(clearRelation, `"ciphertext":"`)[1], `"`)[0]].content, "m.relates_to")
	forged := inside("m.room.message", threadReply(m, "2"))
	f.worth[strings.Split(strings.Split(forged, `"ciphertext":"`)[1], `"`)[0]] = &errWorthless{errors.New("unknown device")}
	r.put("1",
		r.says("@dana:ex.org", "m.room.encrypted", inside("m.room.redaction", `{"redacts":"`+m+`"}`)), // no homeserver has allowed that
		r.says("@dana:ex.org", "m.room.encrypted", inside("m.room.member", `{"membership":"ban"}`)),
		r.says("@dana:ex.org", "m.room.encrypted", repointed),                                                        // a homeserver points it at another question
		r.says("@dana:ex.org", "m.room.encrypted", clearRelation),                                                    // or a structured answer without a relation inside
		r.says("@dana:ex.org", "m.room.encrypted", forged),                                                           // from a device that is not dana's
		r.says("@dana:ex.org", "m.room.encrypted", inside("m.room.message", threadReply(m, "2")+" ")),                // and this one counts
		r.says("@sam:ex.org", "m.room.encrypted", inside("m.room.message", structured(other.ElicitationID, m2)+" ")), // so does this
	)
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	r.expect(other.ID, "answered skip by @sam:ex.org")
	if d := r.question(q.ID).Delivery; d.State != bridge.Posted {
		t.Errorf("delivery is %+v", d)
	}
}

// Where a room demands it, an approving answer must come from a device that is cross-signed; any other answer need not.
func TestDeviceTrust(t *testing.T) {
	for name, c := range map[string]struct {
		trust   Trust
		room    map[string]Trust
		signed  bool
		approve bool
	}{
		"known":                        {TrustKnown, nil, false, true},
		"not signed":                   {TrustCrossSigned, nil, false, false},
		"signed":                       {TrustCrossSigned, nil, true, true},
		"not signed, for this room":    {TrustKnown, map[string]Trust{room: TrustCrossSigned}, false, false},
		"not signed, for another room": {TrustKnown, map[string]Trust{"!other:ex.org": TrustCrossSigned}, false, true},
		"allowed, for this room":       {TrustCrossSigned, map[string]Trust{room: TrustKnown}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newSealedRig(t)
			r.cfg.Encryption.Trust, r.cfg.Encryption.RoomTrust = c.trust, c.room
			f.trusted["@dana:ex.org"] = c.signed
			q := plain()
			q.Items[0].Options[0].Meaning = bridge.Approve
			q, m := r.ask(q)
			r.put("1", r.whispers(f, "@dana:ex.org", "ours", threadReply(m, "1")))
			r.work()
			r.pump()
			if c.approve {
				r.expect(q.ID, "answered run_them by @dana:ex.org")
				return
			}
			r.expect(q.ID, "pending")
			if told := f.told(); len(told) != 1 || told[0] != texts.DeviceUntrusted {
				t.Errorf("told %q", told)
			}
			r.put("2", r.whispers(f, "@dana:ex.org", "ours", threadReply(m, "2")))
			r.work()
			r.expect(q.ID, "answered skip by @dana:ex.org")
		})
	}
}

// While it cannot be encrypted, it is not sent.
func TestNothingWithoutTheCipher(t *testing.T) {
	r, f := newSealedRig(t)
	f.fails = errNotBegun
	q := r.asked(plain())
	r.pump()
	if d := r.question(q.ID).Delivery; d.State != bridge.Queued || d.Reason != bridge.ReasonNotBegun {
		t.Errorf("delivery is %+v", d)
	}
	f.fails = nil
	f.devices = map[bridge.UserID]bool{bot: true}
	r.clock.Move(time.Hour / 2)
	r.pump()
	if d := r.question(q.ID).Delivery; d.State != bridge.Queued || d.Reason != bridge.ReasonNoKeys {
		t.Errorf("delivery is %+v", d)
	}
	if sent := r.server.rooms[room].events; len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
	f.devices = map[bridge.UserID]bool{"@sam:ex.org": true}
	var news deviceNews
	news.DeviceLists.Changed = []bridge.UserID{"@sam:ex.org"}
	noError(t, r.keepKeys(t.Context(), r.engine, news)) // which wakes what waits for it
	r.pump()
	if d := r.question(q.ID).Delivery; d.State != bridge.Posted {
		t.Errorf("delivery is %+v", d)
	}
	for _, e := range r.server.rooms[room].events {
		if e["type"] != "m.room.encrypted" {
			t.Errorf("in clear: %v", e)
		}
	}
}

// An encrypted room has less room for a question.
func TestSealedLimit(t *testing.T) {
	r, _ := newSealedRig(t)
	q := asV2(t, v2Content(t, map[string]any{"extra": strings.Repeat("x", 50000)}))
	q.Conversation = room
	noError(t, r.Check(t.Context(), q))
	noError(t, r.db.SetEncrypted(t.Context(), room))
	if err := r.Check(t.Context(), q); bridge.CodeOf(err) != bridge.CodeInvalidQuestion {
		t.Errorf("50,000 bytes: %v", err)
	}
}
