package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of every document, checked while its bytes are read and before anything is validated.
const (
	MaxBytes       = 65536 // bytes of one document; a Matrix event holds no more
	MaxDepth       = 64    // nested objects and arrays
	MaxNumberChars = 32    // characters of one number token
	MaxExponent    = 30    // a number's exponent, either way; 1e1000000 is nine bytes and megabytes of work
)

// read turns the bytes of one JSON text into a tree of map[string]any, []any, string, json.Number, bool and nil.
// It refuses what two parsers could read differently: duplicate keys, invalid UTF-8, lone surrogates, a second value
// behind the first. Numbers keep their text. echoed says where they may be any that JSON can write; it may be nil.
func read(raw []byte, echoed func(at jsontext.Pointer) bool) (any, error) {
	if len(raw) > MaxBytes {
		return nil, refuse([]Fault{jsonFault("", "size", MaxBytes, fmt.Sprintf("is larger than %d bytes", MaxBytes))})
	}
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(raw)), echoed}
	tree, fault := r.value()
	if fault == nil {
		if _, err := r.dec.ReadToken(); err != io.EOF {
			f := jsonFault("", "syntax", nil, "has something behind the JSON value")
			fault = &f
		}
	}
	if fault != nil {
		return nil, refuse([]Fault{*fault})
	}
	return tree, nil
}

type reader struct {
	dec    *jsontext.Decoder
	echoed func(at jsontext.Pointer) bool
}

func (r reader) value() (any, *Fault) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, r.syntax(err)
	}
	switch tok.Kind() {
	case '"':
		return tok.String(), nil
	case '0':
		return r.number(tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	case '{':
		return r.object()
	case '[':
		return r.array()
	default:
		return nil, nil
	}
}

func (r reader) object() (any, *Fault) {
	if f := r.tooDeep(); f != nil {
		return nil, f
	}
	obj := make(map[string]any)
	for r.dec.PeekKind() != '}' {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return nil, r.syntax(err)
		}
		name := tok.String()
		v, f := r.value()
		if f != nil {
			return nil, f
		}
		obj[name] = v
	}
	return obj, r.close()
}

func (r reader) array() (any, *Fault) {
	if f := r.tooDeep(); f != nil {
		return nil, f
	}
	arr := []any{}
	for r.dec.PeekKind() != ']' {
		v, f := r.value()
		if f != nil {
			return nil, f
		}
		arr = append(arr, v)
	}
	return arr, r.close()
}

func (r reader) close() *Fault {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(err)
	}
	return nil
}

func (r reader) tooDeep() *Fault {
	if r.dec.StackDepth() <= MaxDepth {
		return nil
	}
	f := jsonFault("", "depth", MaxDepth, fmt.Sprintf("nests deeper than %d levels", MaxDepth))
	return &f
}

func (r reader) number(text string) (any, *Fault) {
	limit, reason := costly(text)
	if reason == "" || r.echoed != nil && r.echoed(r.dec.StackPointer()) {
		return json.Number(text), nil
	}
	f := jsonFault(r.here(), "number", limit, reason)
	return nil, &f
}

// costly says why a number is not read where somebody may compute with it, and the limit that it is beyond.
func costly(text string) (limit int, reason string) {
	if len(text) > MaxNumberChars {
		return MaxNumberChars, fmt.Sprintf("is a number of more than %d characters", MaxNumberChars)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(text[i+1:]); err != nil || exp > MaxExponent || exp < -MaxExponent {
			return MaxExponent, fmt.Sprintf("is a number with an exponent beyond ±%d", MaxExponent)
		}
	}
	return 0, ""
}

func (r reader) here() string { return shortPointer(r.dec.StackPointer()) }

// syntax words a reading error ourselves: the decoder's own text quotes the input.
func (r reader) syntax(err error) *Fault {
	at := ""
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		at = shortPointer(syn.JSONPointer)
	}
	f := jsonFault(at, "syntax", nil, "is not well-formed JSON")
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f = jsonFault(at, "duplicate", nil, "is given twice in the same object")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.Reason = "ends before the JSON value does"
	case syn != nil && isUTF8Error(syn):
		f = jsonFault(at, "utf8", nil, "is not valid UTF-8, or holds half of a surrogate pair")
	}
	return &f
}

func isUTF8Error(err *jsontext.SyntacticError) bool {
	text := err.Err.Error()
	return strings.Contains(text, "UTF-8") || strings.Contains(text, "surrogate")
}

func shortPointer(p jsontext.Pointer) string {
	var tokens []string
	for t := range p.Tokens() {
		tokens = append(tokens, t)
	}
	return pointer(tokens...)
}

func jsonFault(location, keyword string, limit any, reason string) Fault {
	return Fault{Rule: RuleJSON, Location: location, Keyword: keyword, Limit: limit, Reason: reason}
}
