package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// push gives the bridge a transaction and its answer's status.
func (r *rig) push(txn, body string) int {
	req := httptest.NewRequest(http.MethodPut, "/_matrix/app/v1/transactions/"+txn, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+r.reg.ServerToken)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w.Code
}

// What a homeserver pushes of encryption is taken from its transactions, under the names of every stage of its proposals:
// once, though the sync brings it too, and of the bot's own device alone. Then nothing is synced any more.
func TestPushedKeys(t *testing.T) {
	for _, names := range [][3]string{
		{"to_device", "device_lists", "device_one_time_keys_count"},
		{"de.sorunome.msc2409.to_device", "org.matrix.msc3202.device_lists", "org.matrix.msc3202.device_one_time_keys_count"},
		{"de.sorunome.msc2409.to_device", "org.matrix.msc3202.device_lists", "org.matrix.msc3202.device_one_time_key_counts"},
	} {
		r, f := newSealedRig(t)
		f.hs.cli.DeviceID = "QBDEVICE"
		q, m := r.ask(plain())
		r.put("1", r.whispers(f, "@dana:ex.org", "s1", threadReply(m, "2")))
		r.clock.Move(keyWait + time.Second)
		r.work()
		key := func(session, more string) string {
			return fmt.Sprintf(`{"type":"m.room.encrypted","sender":"@dana:ex.org","content":{"session_id":%q}%s}`, session, more)
		}
		body := fmt.Sprintf(`{"events":[],%q:[%s,%s,%s],%q:{"changed":["@dana:ex.org"],"left":[]},%q:{%q:{"QBDEVICE":{"signed_curve25519":7},"OTHER":{"signed_curve25519":1}}}}`,
			names[0], key("s1", `,"to_user_id":"`+bot+`","to_device_id":"QBDEVICE"`), key("s2", `,"to_user_id":"`+bot+`","to_device_id":"OTHER"`),
			key("s3", `,"to_user_id":"@else:ex.org","to_device_id":"QBDEVICE"`), names[1], names[2], bot)
		if code := r.push("2", body); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
		var synced syncAnswer
		noError(t, json.Unmarshal([]byte(`{"to_device":{"events":[`+key("s1", "")+`]}}`), &synced))
		noError(t, r.keepKeys(t.Context(), r.engine, synced.deviceNews))
		r.work()
		r.expect(q.ID, "answered skip by @dana:ex.org")
		if len(f.keys) != 1 || f.taken != 1 {
			t.Errorf("keys %v, taken %d times", f.keys, f.taken)
		}
		if fmt.Sprint(f.changed) != "[@dana:ex.org]" || f.count != 0 {
			t.Errorf("changed %v, and %d uploaded before the answer", f.changed, f.count)
		}
		noError(t, r.heedKeys(t.Context(), r.engine, r.pushes.next()))
		if f.count != 7 {
			t.Errorf("keys left: %d", f.count)
		}
		noError(t, r.db.SetValue(t.Context(), valueRedactionsPushed, "yes"))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r.sync(ctx, r.engine)
		if ctx.Err() != nil {
			t.Error("still syncing")
		}
	}
}

// A homeserver that pushes messages alone is synced for the rest.
func TestSomePushedKeys(t *testing.T) {
	r, _ := newSealedRig(t)
	noError(t, r.db.SetValue(t.Context(), valueRedactionsPushed, "yes"))
	r.push("1", `{"events":[],"to_device":[{"type":"m.room_key_request","sender":"@dana:ex.org","content":{}}]}`)
	if needed, err := r.needsSync(t.Context()); err != nil || !needed {
		t.Errorf("needed: %v, %v", needed, err)
	}
}

// What is pushed before the bot's device is logged in is pushed again; the events beside it are not handled twice.
func TestPushedTooEarly(t *testing.T) {
	r, f := newSealedRig(t)
	began := f.began
	f.began = make(chan struct{})
	body := `{"events":[],"to_device":[{"type":"m.room.encrypted","sender":"@dana:ex.org","content":{"session_id":"s1"}}]}`
	if code := r.push("1", body); code == http.StatusOK {
		t.Error("taken")
	}
	f.began = began
	if code := r.push("1", body); code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	r.work()
	if !f.keys["s1"] {
		t.Error("the key is lost")
	}
}

// What does not decode holds no transaction up.
func TestPushedNonsense(t *testing.T) {
	r, _ := newSealedRig(t)
	for i, value := range []string{`7`, `{}`, `[7]`, `"x"`, `null`, `[{"to_user_id":7}]`, `{"@questions:ex.org":7}`} {
		for _, name := range []string{"to_device", "device_lists", "device_one_time_keys_count"} {
			if code := r.push(fmt.Sprint(name, i), fmt.Sprintf(`{"events":[],%q:%s}`, name, value)); code != http.StatusOK {
				t.Errorf("%s: %s: status %d", name, value, code)
			}
		}
	}
	r.work()
}
