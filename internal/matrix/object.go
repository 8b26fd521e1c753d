package matrix

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object read leniently: names are exact, and a value of another type than asked for counts as absent.
// People's clients send all sorts of things, and none of it may stop us.
type object map[string]json.RawMessage

// readObject gives nil for what is no object.
func readObject(raw json.RawMessage) object {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) has(name string) bool { _, ok := o[name]; return ok }

func (o object) object(name string) object { return readObject(o[name]) }

// text gives what a person wrote, without U+0000, which not every database keeps; ok is false for what is no string.
func (o object) text(name string) (s string, ok bool) {
	raw := bytes.TrimSpace(o[name])
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return strings.ReplaceAll(s, "\x00", ""), true
}

// string gives a string that must be taken exactly, such as an id; "" for anything else, U+0000 inside it included.
func (o object) string(name string) string {
	var s string
	raw := bytes.TrimSpace(o[name])
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil || strings.ContainsRune(s, 0) {
		return ""
	}
	return s
}

func (o object) isTrue(name string) bool { return string(bytes.TrimSpace(o[name])) == "true" }

// integer gives a whole number; ok is false for text, fractions and everything else.
func (o object) integer(name string) (n int64, ok bool) { return readInteger(o[name]) }

func readInteger(raw json.RawMessage) (n int64, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || (raw[0] != '-' && (raw[0] < '0' || raw[0] > '9')) {
		return 0, false
	}
	return n, json.Unmarshal(raw, &n) == nil
}

// list gives the elements of an array, or nil.
func (o object) list(name string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(o[name], &l) != nil {
		return nil
	}
	return l
}
