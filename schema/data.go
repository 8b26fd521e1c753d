package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// echoing is a document with an asker's data in it. That is only kept and given back, so its numbers may be any that JSON
// can write: nothing computes with them.
type echoing interface {
	echoes(at jsontext.Pointer) bool
}

func echoedIn(doc any) func(at jsontext.Pointer) bool {
	if d, ok := doc.(echoing); ok {
		return d.echoes
	}
	return nil
}

func (*GateOpening) echoes(at jsontext.Pointer) bool    { return inData(at) }
func (*QueryAsk) echoes(at jsontext.Pointer) bool       { return inData(at) }
func (*Question) echoes(at jsontext.Pointer) bool       { return inData(at) }
func (*AnswerEnvelope) echoes(at jsontext.Pointer) bool { return inData(at) }
func (*WebhookEvent) echoes(at jsontext.Pointer) bool   { return inData(at) }

func (*Questions) echoes(at jsontext.Pointer) bool {
	list, rest, _ := strings.Cut(strings.TrimPrefix(string(at), "/"), "/")
	_, rest, ok := strings.Cut(rest, "/")
	return ok && list == "questions" && inData(jsontext.Pointer("/"+rest))
}

func inData(at jsontext.Pointer) bool { return strings.HasPrefix(string(at), "/data/") }

// Fingerprint is a hash of what an ask body says, whichever way it is written: white space, the order of properties and
// escapes make no difference, the digits of a number do. The error is a [*Refusal], as [DecodeAsk] gives it for what is
// not one well-formed JSON text.
func Fingerprint(raw []byte) ([sha256.Size]byte, error) {
	tree, err := read(raw, inData)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	compact, err := CompactJSON(tree)
	return sha256.Sum256(compact), err
}

// CompactJSON writes a value without white space, with its names in order, no escapes that JSON does not need, and numbers
// with the digits they came with.
func CompactJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}
