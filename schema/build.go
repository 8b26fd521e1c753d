package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// How large the content of a question may be, formatted_body included, in bytes of canonical JSON. A Matrix event holds
// 65,536 bytes with its envelope, and encryption adds a third.
const (
	MaxClearBytes     = 60000
	MaxEncryptedBytes = 45000
)

// BuildOptions is what the room decides about an event.
type BuildOptions struct {
	Mentions []string // Matrix ids for m.mentions; none means that nobody is notified
	MaxBytes int      // MaxClearBytes, unless set
}

// Build makes the content of the event to send: the elicitation with its body rendered, its formatted_body and
// m.mentions. Properties that the elicitation does not name ride along, save format, formatted_body and everything that
// starts with "m.", which are ours to set. An elicitation that was decoded is built from the tree it was decoded from.
//
// Besides every rule of [Decode], an event that we build has no blank option label, no deep link but http and https, no
// U+0000, no number that a Matrix event cannot carry, no deadline that is not a time, and fits into the room. Nothing
// is ever cut to fit. The error is a [*Refusal]. A size is blamed on the longest text.
func (e *Elicitation) Build(o BuildOptions) (map[string]any, error) {
	content, err := e.Content()
	if err != nil {
		return nil, err
	}
	for name := range content {
		if strings.HasPrefix(name, "m.") || name == "format" || name == "formatted_body" {
			delete(content, name)
		}
	}
	content["body"] = e.TextBody()
	if err := refuse(validate(elicitationSchema(), content)); err != nil {
		return nil, err
	}
	faults := append(e.checkMeaning(), e.checkBuildable()...)
	content, travels := travelling(content, nil)
	if err := refuse(append(faults, travels...)); err != nil {
		return nil, err
	}
	content["format"] = "org.matrix.custom.html"
	content["formatted_body"] = e.HTMLBody()
	mentions := map[string]any{}
	if len(o.Mentions) > 0 {
		mentions["user_ids"] = o.Mentions
	}
	content["m.mentions"] = mentions
	return content, refuse(checkSize(content, o))
}

// Content is a copy, one level deep, of what the elicitation says: the tree it was decoded from, with the properties
// that it does not name, or its fields when it was never decoded. Numbers are json.Number.
func (e *Elicitation) Content() (map[string]any, error) {
	if e.tree != nil {
		return maps.Clone(e.tree), nil
	}
	raw, err := jsonv2.Marshal(e.withLists()) // unlike encoding/json it refuses text that is not UTF-8
	if err != nil {
		at := ""
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			at = shortPointer(syntax.JSONPointer)
		}
		return nil, refuse([]Fault{jsonFault(at, "utf8", nil, "is not valid UTF-8")})
	}
	tree, fault := reader{dec: jsontext.NewDecoder(bytes.NewBuffer(raw))}.value() // of any size: that is checked of the whole
	if fault != nil {
		return nil, refuse([]Fault{*fault})
	}
	return tree.(map[string]any), nil
}

// withLists is the elicitation with lists where the schema demands them, though a program may leave them nil.
func (e *Elicitation) withLists() *Elicitation {
	c := *e
	if c.Options == nil {
		c.Options = []Option{}
	}
	if c.Subject != nil && c.Subject.Preview == nil {
		s := *c.Subject
		s.Preview = []PreviewItem{}
		c.Subject = &s
	}
	return &c
}

func (e *Elicitation) checkBuildable() []Fault {
	var faults []Fault
	for i, o := range e.Options {
		if isBlank(o.Label) {
			faults = append(faults, ruleFault(RuleLabel, pointer("options", strconv.Itoa(i), "label"), "is blank"))
		}
	}
	if e.DeepLink != "" {
		if _, ok := linkTarget(e.DeepLink); !ok {
			faults = append(faults, ruleFault(RuleDeepLink, "/deep_link", "must be an http or https address"))
		}
	}
	if d := e.Deadline; d != nil {
		for name, at := range map[string]*Timestamp{"remind_at": d.RemindAt, "escalate_at": d.EscalateAt} {
			if at == nil {
				continue
			}
			if _, err := at.Time(); err != nil {
				faults = append(faults, ruleFault(RuleDeadline, pointer("deadline", name), "is not a time that exists"))
			}
		}
	}
	return faults
}

// travelling copies a tree as a Matrix event carries it: integers in their plain form, nothing else for a number, no
// U+0000.
func travelling(obj map[string]any, at []string) (map[string]any, []Fault) {
	w := traveller{}
	return w.value(obj, at).(map[string]any), w.faults
}

type traveller struct{ faults []Fault }

func (w *traveller) value(v any, at []string) any {
	switch v := v.(type) {
	case string:
		w.text(v, at)
		return v
	case json.Number:
		n, ok := integer(v)
		if !ok {
			w.faults = append(w.faults, integerFault(pointer(at...)))
		}
		return n
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = w.value(item, append(at[:len(at):len(at)], strconv.Itoa(i)))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			here := append(at[:len(at):len(at)], name)
			w.text(name, here)
			out[name] = w.value(item, here)
		}
		return out
	default:
		return v
	}
}

func (w *traveller) text(s string, at []string) {
	if strings.ContainsRune(s, 0) {
		w.faults = append(w.faults, ruleFault(RuleNUL, pointer(at...), "holds the character U+0000"))
	}
}

func checkSize(content map[string]any, o BuildOptions) []Fault {
	limit := o.MaxBytes
	if limit == 0 {
		limit = MaxClearBytes
	}
	if atMost(content) <= limit {
		return nil
	}
	canonical, err := CanonicalJSON(content)
	if err == nil && len(canonical) <= limit {
		return nil
	}
	f := ruleFault(RuleSize, longestText(content), fmt.Sprintf("makes the event larger than %d bytes", limit))
	f.Limit = limit
	return []Fault{f}
}

// atMost is a size that the canonical JSON of a travelling tree does not exceed, found without writing it.
func atMost(v any) int {
	switch v := v.(type) {
	case string:
		return 6*len(v) + 2 // every byte as \u00xx
	case []string:
		size := 2
		for _, s := range v {
			size += atMost(s) + 1
		}
		return size
	case []any:
		size := 2
		for _, item := range v {
			size += atMost(item) + 1
		}
		return size
	case map[string]any:
		size := 2
		for name, item := range v {
			size += atMost(name) + atMost(item) + 2
		}
		return size
	default:
		return 20 // an integer, true, false or null
	}
}

// longestText points at the longest text of what the asker gave, in bytes.
func longestText(content map[string]any) string {
	longest, at := 0, ""
	var visit func(v any, path []string)
	visit = func(v any, path []string) {
		switch v := v.(type) {
		case string:
			if here := pointer(path...); len(v) > longest || len(v) == longest && here < at {
				longest, at = len(v), here
			}
		case []any:
			for i, item := range v {
				visit(item, append(path[:len(path):len(path)], strconv.Itoa(i)))
			}
		case map[string]any:
			for name, item := range v {
				if len(path) == 0 && (name == "body" || name == "formatted_body") {
					continue
				}
				visit(item, append(path[:len(path):len(path)], name))
			}
		}
	}
	visit(content, nil)
	return at
}

// CanonicalJSON writes a value as RFC 8785 canonical JSON: sorted names, no space, the shortest escapes. For content
// whose numbers are integers within ±MaxInteger it has the length of Matrix canonical JSON.
func CanonicalJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("make canonical: %w", err)
	}
	return value, nil
}
