package matrix

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzEnvelope: the one pass over an event reads what decoding all of it would give.
func FuzzEnvelope(f *testing.F) {
	for _, raw := range []string{
		`{"event_id":"$x","room_id":"!r","sender":"@m:e","type":"m.room.message","content":{"body":"2"},"origin_server_ts":1793534400000,"unsigned":{"age":1}}`,
		`{"event_id":"$x","room_id":"!r","sender":"@m:e","type":"m.room.member","state_key":"a\u0000b","content":{}}`,
		`{"event_id":"$x","event_id":7,"room_id":"!r","sender":"@m:e","type":"t","content":{}}`,
		`{"event\u005fid":"$\ud800","room_id":"!r\u0000","sender":null,"redacts":"$y","state_key":null,"content":[]}`,
		` {"content" : {} } `, `{"a":1}x`, `{"a":01}`, `{"a":"` + "\xff" + `"}`, `null`, ``,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := readEnvelope(raw)
		o := readObject(raw)
		if o == nil || !utf8.Valid(raw) {
			if ok || got.ID != "" {
				t.Errorf("%q is no object, and gives %+v", raw, got)
			}
			return
		}
		for name, value := range map[string]string{
			"event_id": got.ID, "room_id": got.Room, "sender": got.Sender, "type": got.Type, "redacts": got.redacts,
			"content": string(got.RawContent), "unsigned": string(got.unsigned), "origin_server_ts": string(got.sentAt),
		} {
			want := o.string(name)
			if name == "content" || name == "unsigned" || name == "origin_server_ts" {
				want = string(o[name])
			}
			if value != want {
				t.Errorf("%q: %s is %q, want %q", raw, name, value, want)
			}
		}
		key, isText := o.text("state_key")
		if (got.StateKey != nil) != isText || isText && *got.StateKey != key {
			t.Errorf("%q: the state key is %v, want %q", raw, got.StateKey, key)
		}
		if _, decoded := decodeEvent(json.RawMessage(raw)); decoded != ok {
			t.Errorf("%q: it decodes: %v; its envelope: %v", raw, decoded, ok)
		}
	})
}
