package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// difference is one way in which we and ajv may disagree. docs/validation.md gives the same list with the reasons.
type difference struct {
	name string
	// example is a document on which it shows.
	example string
	// explains says whether it accounts for a disagreement, judging by the document itself and not by our word for it.
	explains func(disagreement) bool
}

// differences is the whole list: any other disagreement is a failure. The first seven refuse what
// ajv accepts; the others are about what is reported of a document that both refuse.
var differences = []difference{
	{
		"duplicate names",
		`{"body":"a","body":"a"}`,
		func(d disagreement) bool { return d.cannotRead("duplicate") && repeatsName(d.doc) },
	},
	{
		"half a surrogate pair",
		`{"body":"\ud83d"}`,
		func(d disagreement) bool {
			return d.cannotRead("utf8") && utf8.Valid(d.doc) && anySurrogate.Match(withoutPairs(d.doc))
		},
	},
	{
		"long numbers",
		`{"schema_version":100000000000000000000000000000000}`,
		func(d disagreement) bool { return d.cannotRead("number") && hasNumber(d.doc, tooLong) },
	},
	{
		"large exponents",
		`{"schema_version":1e31}`,
		func(d disagreement) bool { return d.cannotRead("number") && hasNumber(d.doc, exponentTooLarge) },
	},
	{
		"deep nesting",
		strings.Repeat("[", 65) + strings.Repeat("]", 65),
		func(d disagreement) bool { return d.cannotRead("depth") && deepestNesting(d.doc) > 64 },
	},
	{
		"large documents",
		`{"body":"` + strings.Repeat("x", 65536-10) + `"}`,
		func(d disagreement) bool { return d.cannotRead("size") && len(d.doc) > 65536 },
	},
	{
		"rounded numbers",
		`{"schema_version":1.0000000000000000000000000001}`,
		func(d disagreement) bool {
			switch d.leaf.keyword {
			case "type", "minimum", "maximum":
				return d.kind != ajvRefuses && isRounded(valueAt(d.doc, d.leaf.location))
			case "x-uniqueBy":
				return d.kind == ajvReports && isRounded(optionIDs(d.doc))
			}
			return false
		},
	},
	{
		"type first",
		`{"schema_version":0.5}`,
		func(d disagreement) bool {
			limit := d.leaf.keyword == "minimum" || d.leaf.keyword == "maximum"
			return d.kind == ajvReports && (limit || d.leaf.location == "") && d.ours.leaves[leaf{d.leaf.location, "type"}]
		},
	},
	{
		"date-time beside its pattern",
		`{"subject":{"expires_at":"2026-11-07 10:30:00Z"}}`,
		func(d disagreement) bool {
			pattern := leaf{"/subject/expires_at", "pattern"}
			return d.leaf == leaf{"/subject/expires_at", "format"} && d.ours.leaves[pattern] && d.ajv.reports(pattern)
		},
	},
	{
		"likely shapes",
		`{"subject":{"preview":[{"type":"text"}]}}`,
		func(d disagreement) bool {
			item := previewItem.FindString(d.leaf.location)
			shape := leaf{item, "oneOf"}
			return d.kind == ajvReports && item != "" && d.ours.leaves[shape] && d.ajv.reports(shape)
		},
	},
	{
		"if",
		`{"card_id":""}`,
		func(d disagreement) bool { return d.kind == ajvReports && d.leaf.keyword == "if" },
	},
	{
		"fifty faults",
		`{"options":[` + strings.Repeat(`{},`, 50) + `{}]}`,
		func(d disagreement) bool { return d.kind == ajvReports && d.ours.refusal.More > 0 },
	},
}

// explained finds the difference that accounts for a disagreement.
func explained(d disagreement) (name string, ok bool) {
	for _, known := range differences {
		if known.explains(d) {
			return known.name, true
		}
	}
	return "", false
}

func (d disagreement) cannotRead(keyword string) bool {
	return d.kind == weCannotRead && d.leaf.keyword == keyword
}

var previewItem = regexp.MustCompile(`^/subject/preview/\d+`)

// repeatsName looks for an object with a name twice, by the standard library's reader.
func repeatsName(doc []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var value func() bool
	value = func() bool {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		open, _ := tok.(json.Delim)
		repeats, seen := false, map[string]bool{}
		for open != 0 && dec.More() {
			if open == '{' {
				name, err := dec.Token()
				if err != nil {
					return repeats
				}
				repeats = repeats || seen[name.(string)]
				seen[name.(string)] = true
			}
			repeats = value() || repeats
		}
		if open != 0 {
			_, _ = dec.Token()
		}
		return repeats
	}
	return value()
}

var (
	surrogatePair = regexp.MustCompile(`(?i)\\u(d[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}`)
	anySurrogate  = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
	scalarTokens  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\d[-+.0-9eE]*`)
)

// withoutPairs takes out escaped backslashes and then whole surrogate pairs, which leaves the halves.
func withoutPairs(doc []byte) []byte {
	return surrogatePair.ReplaceAll(bytes.ReplaceAll(doc, []byte(`\\`), nil), nil)
}

func hasNumber(doc []byte, match func(string) bool) bool {
	for _, token := range scalarTokens.FindAll(doc, -1) {
		if token[0] != '"' && match(string(token)) {
			return true
		}
	}
	return false
}

func tooLong(number string) bool { return len(number) > 32 }

func exponentTooLarge(number string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits := strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	n, err := strconv.Atoi(digits)
	return digits != "" && (err != nil || n > 30)
}

func deepestNesting(doc []byte) (deepest int) {
	open := 0
	for _, c := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAll(doc, nil) {
		switch c {
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}

// lookup finds the value at a location made of names that need no escape.
func valueAt(doc []byte, location string) any {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v)
	for _, part := range strings.Split(location, "/")[1:] {
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func optionIDs(doc []byte) (ids []any) {
	options, _ := valueAt(doc, "/options").([]any)
	for i := range options {
		ids = append(ids, valueAt(doc, fmt.Sprintf("/options/%d/id", i)))
	}
	return ids
}

// isRounded says whether a value is, or holds, a number that a float64 cannot hold exactly.
func isRounded(v any) bool {
	switch v := v.(type) {
	case json.Number:
		exact, ok := new(big.Rat).SetString(string(v))
		float, err := v.Float64()
		return ok && err == nil && new(big.Rat).SetFloat64(float).Cmp(exact) != 0
	case []any:
		for _, item := range v {
			if isRounded(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if isRounded(item) {
				return true
			}
		}
	}
	return false
}
