package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// envelope is what stands around the content of an event. It is all that is read before a transaction is acknowledged.
type envelope struct {
	ID, Room, Sender, Type string
	StateKey               *string
	RawContent             json.RawMessage

	sentAt, unsigned json.RawMessage
	redacts          string
}

// maxID is the longest id that the Matrix specification allows, in bytes.
const maxID = 255

// readEnvelope reads an event in one pass, without decoding its content. ok is false for what is no event at all; the
// content is some object. A value of another type than it should have counts as absent, and of equal names the last
// counts, as with [readObject].
func readEnvelope(raw json.RawMessage) (e envelope, ok bool) {
	if !utf8.Valid(raw) {
		return envelope{}, false
	}
	err := members(newDecoder(raw), func(dec *jsontext.Decoder, name string) (err error) {
		switch name {
		case "event_id":
			e.ID, err = exactString(dec)
		case "room_id":
			e.Room, err = exactString(dec)
		case "sender":
			e.Sender, err = exactString(dec)
		case "type":
			e.Type, err = exactString(dec)
		case "redacts":
			e.redacts, err = exactString(dec)
		case "state_key":
			e.StateKey, err = maybeString(dec)
		case "content":
			e.RawContent, err = rawValue(dec)
		case "unsigned":
			e.unsigned, err = rawValue(dec)
		case "origin_server_ts":
			e.sentAt, err = rawValue(dec)
		default:
			err = dec.SkipValue()
		}
		return err
	})
	if err != nil {
		return envelope{}, false
	}
	if len(e.RawContent) == 0 || e.RawContent[0] != '{' {
		return e, false
	}
	for _, id := range []string{e.ID, e.Room, e.Sender, e.Type} {
		if id == "" || len(id) > maxID {
			return e, false
		}
	}
	return e, true
}

// readTransaction takes the list of events apart without decoding any of them, and what is pushed for encryption. Everything
// else in a transaction, such as typing notices, is passed over.
func readTransaction(body []byte) (events []json.RawMessage, news pushedNews, err error) {
	err = members(newDecoder(body), func(dec *jsontext.Decoder, name string) error {
		switch {
		case news.about(name):
			value, err := rawValue(dec)
			if err == nil {
				news.read(name, value)
			}
			return err
		case name != "events":
			return dec.SkipValue()
		}
		if err := token(dec, '['); err != nil {
			return err
		}
		for dec.PeekKind() != ']' {
			one, err := rawValue(dec)
			if err != nil {
				return err
			}
			events = append(events, one)
		}
		return token(dec, ']')
	})
	return events, news, err
}

// newDecoder reads the given bytes where they are. It takes whatever [json.Unmarshal] takes: people's clients send all
// sorts of things.
func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// members reads one object and nothing behind it. read takes the value of every member.
func members(dec *jsontext.Decoder, read func(dec *jsontext.Decoder, name string) error) error {
	if err := token(dec, '{'); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := read(dec, name.String()); err != nil {
			return err
		}
	}
	if err := token(dec, '}'); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("something behind the object")
	}
	return nil
}

func token(dec *jsontext.Decoder, want jsontext.Kind) error {
	got, err := dec.ReadToken()
	if err == nil && got.Kind() != want {
		err = fmt.Errorf("got %v, want %v", got.Kind(), want)
	}
	return err
}

func rawValue(dec *jsontext.Decoder) (json.RawMessage, error) {
	value, err := dec.ReadValue()
	return json.RawMessage(value), err
}

// maybeString gives what [object.text] gives: nil for what is no string.
func maybeString(dec *jsontext.Decoder) (*string, error) {
	if dec.PeekKind() != '"' {
		return nil, dec.SkipValue()
	}
	value, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	s := strings.ReplaceAll(value.String(), "\x00", "")
	return &s, nil
}

// exactString gives what [object.string] gives: "" for what is no string, or holds U+0000.
func exactString(dec *jsontext.Decoder) (string, error) {
	if dec.PeekKind() != '"' {
		return "", dec.SkipValue()
	}
	value, err := dec.ReadToken()
	if err != nil || strings.IndexByte(value.String(), 0) >= 0 {
		return "", err
	}
	return value.String(), nil
}
