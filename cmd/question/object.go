package main

import (
	"bytes"
	"encoding/json"
	"errors"
)

// object is a JSON object read one level deep. Its values keep the bytes they came in, because a corpus exists to show
// the decoder under test what no other decoder may touch first.
type object struct {
	names    []string // in the order of the file
	values   map[string]json.RawMessage
	repeated string // a name that is given twice, or ""
}

var (
	errNotJSON   = errors.New("is not JSON")
	errNotObject = errors.New("is not an object")
)

func readObject(raw []byte) (object, error) {
	o := object{values: map[string]json.RawMessage{}}
	if !json.Valid(raw) {
		return o, errNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return o, errNotObject
	}
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return o, errNotJSON
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return o, errNotJSON
		}
		if o.has(name) {
			o.repeated = name
		}
		o.names = append(o.names, name)
		o.values[name] = value
	}
	return o, nil
}

func (o object) has(name string) bool {
	_, ok := o.values[name]
	return ok
}

// text reads a member that is text. An absent one and null are "".
func (o object) text(name string) (string, error) {
	if !o.has(name) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(o.values[name], &s); err != nil {
		return "", errors.New(name + " is not text")
	}
	return s, nil
}
