package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

const uniqueByKeyword = "x-uniqueBy"

// uniqueByVocabulary gives the validator the keyword x-uniqueBy: a list of paths whose values must not repeat. A path is
// property names joined by ".", each followed by "[]" where it means every item of that list: "a", "a.b", "a[].b",
// "a[].b[].c". The values of one path are compared with each other across all lists, as JSON Schema compares (1 is
// 1.0). A value that is absent takes no part.
func uniqueByVocabulary() *jsonschema.Vocabulary {
	const url = "https://superpipeline.dev/vocab/unique-by"
	c := jsonschema.NewCompiler()
	meta := map[string]any{"properties": map[string]any{uniqueByKeyword: map[string]any{
		"type":  "array",
		"items": map[string]any{"type": "string", "pattern": `^[^.\[\]]+(\[\])?(\.[^.\[\]]+(\[\])?)*$`},
	}}}
	if err := c.AddResource(url, meta); err != nil {
		panic(err) // the schema above is a constant
	}
	return &jsonschema.Vocabulary{
		URL:    url,
		Schema: c.MustCompile(url),
		Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
			paths, ok := obj[uniqueByKeyword].([]any)
			if !ok {
				return nil, nil
			}
			var ext uniqueBy
			for _, p := range paths {
				ext = append(ext, parseUniquePath(p.(string)))
			}
			return ext, nil
		},
	}
}

type uniquePath struct {
	text  string
	steps []uniqueStep
}

type uniqueStep struct {
	name string
	each bool // every item of the list found there
}

func parseUniquePath(text string) uniquePath {
	p := uniquePath{text: text}
	for part := range strings.SplitSeq(text, ".") {
		name, each := strings.CutSuffix(part, "[]")
		p.steps = append(p.steps, uniqueStep{name, each})
	}
	return p
}

type uniqueBy []uniquePath

func (u uniqueBy) Validate(ctx *jsonschema.ValidatorContext, v any) {
	for _, path := range u {
		seen := make(map[string]bool)
		path.visit(v, path.steps, nil, func(value any, at []string) {
			key := string(appendKey(nil, value))
			if seen[key] {
				ctx.AddErr(&jsonschema.ValidationError{
					InstanceLocation: slices.Concat(ctx.ValueLocation(), at),
					ErrorKind:        repeated{path.text},
				})
			}
			seen[key] = true
		})
	}
}

func (p uniquePath) visit(v any, steps []uniqueStep, at []string, found func(any, []string)) {
	if len(steps) == 0 {
		found(v, at)
		return
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return
	}
	next, ok := obj[steps[0].name]
	if !ok {
		return
	}
	at = append(slices.Clip(at), steps[0].name)
	if !steps[0].each {
		p.visit(next, steps[1:], at, found)
		return
	}
	items, _ := next.([]any)
	for i, item := range items {
		p.visit(item, steps[1:], append(slices.Clip(at), strconv.Itoa(i)), found)
	}
}

// appendKey writes a value so that two values have the same key when JSON Schema calls them equal.
func appendKey(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(b, v)
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return append(b, r.RatString()...)
		}
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendKey(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for _, name := range names {
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(appendKey(b, v[name]), ',')
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

// repeated is the validator's error for a value that x-uniqueBy saw before; its location is the later one.
type repeated struct{ path string }

func (repeated) KeywordPath() []string { return []string{uniqueByKeyword} }

func (r repeated) LocalizedString(*message.Printer) string {
	return fmt.Sprintf("repeats a value of %s", r.path)
}
