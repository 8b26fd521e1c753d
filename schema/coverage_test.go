package schema_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// elsewhere are the rules that no question.v2 case can reach, and where they are reached instead.
var elsewhere = map[schema.Rule]string{
	schema.RuleSize:         "TestA20TooLargeForTheRoom: stored it would be 60 KB of nothing",
	schema.RuleApproval:     "a rule of the query documents",
	schema.RuleContinuation: "a rule of the query documents",
}

func TestEveryRuleHasACase(t *testing.T) {
	reached := map[schema.Rule]bool{}
	for _, c := range append(readExamples(t).Refused, readBuilt(t).Refused...) {
		reached[c.RefusedBy] = true
	}
	rules := ruleConstants(t)
	if len(rules) < 13 {
		t.Fatalf("found only the rules %v", rules)
	}
	for _, rule := range rules {
		if reached[rule] == (elsewhere[rule] != "") {
			t.Errorf("rule %s: reached %t, exception %q", rule, reached[rule], elsewhere[rule])
		}
	}
}

// ruleConstants reads the names of the rules from their declaration, so that a new one cannot be forgotten here.
func ruleConstants(t *testing.T) []schema.Rule {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "refusal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rules []schema.Rule
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Rule" {
			value := spec.Values[0].(*ast.BasicLit).Value
			rules = append(rules, schema.Rule(strings.Trim(value, `"`)))
		}
		return true
	})
	return rules
}

// demand is one thing that the JSON Schema asks of one place: list items are written [].
type demand struct{ location, keyword, limit string }

// unreachable are demands that cannot be broken alone or at all.
var unreachable = map[demand]string{}

func TestEveryDemandOfTheSchemaHasACase(t *testing.T) {
	raw, err := schema.JSON("question.v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	wanted := map[demand]bool{}
	collect(doc, "", wanted)
	if len(wanted) < 120 {
		t.Fatalf("the schema makes only %d demands: the walk is broken", len(wanted))
	}

	stated := map[demand]bool{} // by a case's own expectation
	for _, c := range readExamples(t).Refused {
		_, err := decodeEvent(c.Content)
		if err == nil {
			continue // fails in TestExamples
		}
		for _, f := range faultsOf(t, err) {
			if f.Location == c.Expect.Location && f.Keyword == c.Expect.Keyword {
				for _, limit := range limits(t, f) {
					stated[demand{generalised(f.Location), f.Keyword, limit}] = true
				}
			}
		}
	}
	for _, d := range slices.SortedFunc(maps.Keys(wanted), func(a, b demand) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}) {
		if stated[d] == (unreachable[d] != "") {
			t.Errorf("%q %s %s: has a case %t, exception %q", d.location, d.keyword, d.limit, stated[d], unreachable[d])
		}
	}
	for d := range unreachable {
		if !wanted[d] {
			t.Errorf("%v is excepted and not in the schema", d)
		}
	}
}

// collect walks a schema. Conditions ("if") demand nothing.
func collect(s map[string]any, at string, out map[demand]bool) {
	for keyword, value := range s {
		switch keyword {
		case "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern", "const", "format", "x-uniqueBy":
			for _, limit := range asList(value) {
				out[demand{locationOf(keyword, at, limit), keyword, fmt.Sprint(limit)}] = true
			}
		case "required":
			for _, name := range value.([]any) {
				out[demand{at, keyword, fmt.Sprint(name)}] = true
			}
		case "enum", "type":
			out[demand{at, keyword, sorted(value)}] = true
		case "not":
			out[demand{at, keyword, ""}] = true
		case "oneOf", "allOf":
			if keyword == "oneOf" {
				out[demand{at, keyword, ""}] = true
			}
			for _, sub := range value.([]any) {
				collect(sub.(map[string]any), at, out)
			}
		case "then", "else":
			collect(value.(map[string]any), at, out)
		case "items":
			collect(value.(map[string]any), at+"/[]", out)
		case "properties":
			for name, sub := range value.(map[string]any) {
				collect(sub.(map[string]any), at+"/"+name, out)
			}
		case "if", "$schema", "$id", "title", "description":
		default:
			panic("a keyword that this test does not know: " + keyword)
		}
	}
}

// locationOf is where a keyword is reported: for x-uniqueBy the value that repeats.
func locationOf(keyword, at string, limit any) string {
	if keyword != "x-uniqueBy" {
		return at
	}
	return at + "/" + strings.NewReplacer("[].", "/[]/", ".", "/").Replace(limit.(string))
}

func asList(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func sorted(v any) string {
	var words []string
	for _, item := range asList(v) {
		words = append(words, fmt.Sprint(item))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

var itemIndex = regexp.MustCompile(`/\d+`)

func generalised(location string) string { return itemIndex.ReplaceAllString(location, "/[]") }

// limits gives the limit of a fault as collect writes it, one for each name that is missing.
func limits(t *testing.T, f schema.Fault) []string {
	t.Helper()
	raw, err := json.Marshal(f.Limit)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	switch f.Keyword {
	case "not", "oneOf":
		return []string{""}
	case "enum", "type":
		return []string{sorted(v)}
	}
	var out []string
	for _, l := range asList(v) {
		out = append(out, fmt.Sprint(l))
	}
	return out
}
