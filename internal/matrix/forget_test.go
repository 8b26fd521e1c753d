package matrix

import (
	"encoding/json"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

func TestSaidBy(t *testing.T) {
	const ada bridge.UserID = "@ada:example.org"
	const event = `{"event_id":"$1","room_id":"!r:example.org","origin_server_ts":1,`
	for raw, want := range map[string]bool{
		event + `"type":"m.room.message","sender":"@ada:example.org","content":{"body":"x"}}`:                     true,
		event + `"type":"m.reaction","sender":"\u0040ada:example.org","content":{}}`:                              true,
		event + `"type":"m.room.message","sender":"@bob:example.org","content":{"body":"@ada:example.org"}}`:      false,
		event + `"type":"m.room.member","sender":"@ada:example.org","state_key":"@ada:example.org","content":{}}`: false,
		`{"type":"m.room.message","sender":"@ada:example.org"`:                                                    true,
		`{"type":"m.room.message","sender":"@bob:example.org"`:                                                    false,
	} {
		if got := SaidBy(json.RawMessage(raw), ada); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

func TestPresent(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"membership":"join","displayname":"A"}`: true, `{"membership":"invite"}`: true, `{"membership":"leave"}`: false,
		`{"membership":"ban"}`: false, `{"membership":1}`: false, `{}`: false, `null`: false, ``: false,
	} {
		if got := Present(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

// What is waited for of a person is forgotten alone; what was typed for the steps of a set, where they ended it.
func TestForgetProgress(t *testing.T) {
	const before = `{"step":1,"picks":[{"Header":"","Selected":null,"Text":"Ada typed"}],"waiting":{"@ada:example.org":{"option":"a","chosen":"$1","input":"Ada types"},"@bob:example.org":{"option":"b","chosen":"$2"}}}`
	for _, tt := range []struct {
		who   bridge.UserID
		ended bool
		want  string
	}{
		{"@ada:example.org", true, `{"step":1,"picks":[{"Header":"","Selected":null,"Text":"[erased]"}],"waiting":{"@bob:example.org":{"option":"b","chosen":"$2"}}}`},
		{"@ada:example.org", false, `{"step":1,"picks":[{"Header":"","Selected":null,"Text":"Ada typed"}],"waiting":{"@bob:example.org":{"option":"b","chosen":"$2"}}}`},
		{"@cleo:example.org", true, `{"step":1,"picks":[{"Header":"","Selected":null,"Text":"[erased]"}],"waiting":{"@ada:example.org":{"option":"a","chosen":"$1","input":"Ada types"},"@bob:example.org":{"option":"b","chosen":"$2"}}}`},
		{"@cleo:example.org", false, before},
	} {
		got, changed := ForgetProgress(json.RawMessage(before), tt.who, tt.ended)
		if string(got) != tt.want || changed != (tt.want != before) {
			t.Errorf("%s, %t: %t\n%s", tt.who, tt.ended, changed, got)
		}
		if again, changed := ForgetProgress(got, tt.who, tt.ended); changed || string(again) != tt.want {
			t.Errorf("%s, %t, again: %s", tt.who, tt.ended, again)
		}
	}
	for _, none := range []string{"", "null", `{"step":0}`} {
		if got, changed := ForgetProgress(json.RawMessage(none), "@ada:example.org", true); changed || string(got) != none {
			t.Errorf("%q became %q", none, got)
		}
	}
}
