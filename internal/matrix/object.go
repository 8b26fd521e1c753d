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

// repeats is true of a JSON value in which some object has a name twice: readers differ in which of the two they take.
func repeats(raw json.RawMessage) bool {
	type level struct {
		names map[string]bool // nil in an array
		value bool            // a name's value comes next
	}
	var open []level
	tokens := json.NewDecoder(bytes.NewReader(raw))
	tokens.UseNumber()
	for {
		token, err := tokens.Token()
		if err != nil {
			return false // at its end, or no JSON
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open) - 1; n >= 0 && open[n].names != nil {
			if open[n].value = !open[n].value; open[n].value {
				name := token.(string)
				if open[n].names[name] {
					return true
				}
				open[n].names[name] = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		}
	}
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
