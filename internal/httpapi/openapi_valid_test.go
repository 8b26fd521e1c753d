package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func readTree(t *testing.T, raw []byte) any {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The description is a document of OpenAPI 3.1 by the schema of its specification, and each schema in it one of JSON Schema
// 2020-12.
func TestTheDescriptionIsOpenAPI(t *testing.T) {
	raw, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	const of, with = "https://spec.openapis.org/oas/3.1/schema", "https://example.org/with-schema-objects"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	for url, text := range map[string]string{
		of: string(raw),
		with: `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "` + of + `",
			"$defs": {"schema": {"$dynamicAnchor": "meta", "$ref": "https://json-schema.org/draft/2020-12/schema"}}}`,
	} {
		if err := c.AddResource(url, readTree(t, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	valid := c.MustCompile(with)
	if err := valid.Validate(readTree(t, httpapi.OpenAPI())); err != nil {
		t.Error(err)
	}
	for was, is := range map[string]string{
		`"openapi": "3.1.1"`: `"openapi": "3.0.3"`, `"in": "query"`: `"in": "queries"`, `"maxLength": 500`: `"maxLength": -1`,
	} {
		broken := strings.ReplaceAll(string(httpapi.OpenAPI()), was, is)
		if valid.Validate(readTree(t, []byte(broken))) == nil {
			t.Errorf("a document with %s passes", is)
		}
	}
}

// descriptionCompiler compiles the schemas of the description, by their place in it.
func descriptionCompiler(t *testing.T) func(pointer string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { // \S leaves out all white space of ECMA-262
		return regexp.Compile(strings.ReplaceAll(pattern, `\S`, `[^\t-\r\x{2028}\x{2029}\x{FEFF}\p{Zs}]`))
	})
	if err := c.AddResource("https://example.org/openapi.json", readTree(t, httpapi.OpenAPI())); err != nil {
		t.Fatal(err)
	}
	return func(pointer string) *jsonschema.Schema {
		return c.MustCompile("https://example.org/openapi.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	}
}

// Every example in the description is valid by the schema beside it.
func TestExamplesOfTheDescription(t *testing.T) {
	compile, examples := descriptionCompiler(t), 0
	check := func(at string, value any) {
		examples++
		if err := compile(at + "/schema").Validate(value); err != nil {
			t.Error(err)
		}
	}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		if _, ok := object["schema"]; ok {
			if example, ok := object["example"]; ok {
				check(at, example)
			}
			named, _ := object["examples"].(map[string]any)
			for _, example := range named {
				check(at, example.(map[string]any)["value"])
			}
		}
		for name, inner := range object {
			walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), inner)
		}
	}
	walk("", readTree(t, httpapi.OpenAPI()))
	if examples < 10 {
		t.Errorf("only %d examples were found", examples)
	}
}

// The description of a request takes and refuses what the server takes and refuses, as far as a schema alone can say: a
// value that stands twice, and a size in bytes, are for other rules.
func TestRequestsAreDescribed(t *testing.T) {
	var corpus map[string]struct {
		Valid, Refused []struct {
			Case      string
			RefusedBy string `json:"refused_by"`
			Content   json.RawMessage
		}
	}
	for _, file := range []string{"api", "webhook", "queue", "queries"} { // the kinds of one are not in the other
		raw, err := os.ReadFile("../../fixtures/" + file + "/examples.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &corpus); err != nil {
			t.Fatal(err)
		}
	}
	compile := descriptionCompiler(t)
	const body = "/post/requestBody/content/application~1json/schema"
	for kind, place := range map[string]string{
		"question-protocol-1.1/ask":           "/paths/~1api~1agent~1rooms~1{room}~1questions" + body,
		"question-protocol-1.1/answer":        "/paths/~1api~1questions~1{id}~1answer" + body,
		"question-protocol-1.1/webhook-event": "/components/pathItems/settled" + body,
		"2026-07-30/gate-opening":             "/paths/~1api~1agent~1rooms~1{room}~1gates" + body,
		"2026-07-30/response":                 "/paths/~1api~1queries~1{id}~1responses" + body,
		"2026-07-30/gate-event":               "/components/pathItems/gateMoved" + body,
		"question-protocol-1.1/grant-event":   "/components/pathItems/grantRevoked" + body,
		"question-queue/proposal":             "/paths/~1api~1agent~1queue~1propose" + body,
		"question-queue/next":                 "/paths/~1api~1agent~1queue~1next" + body,
		"question-queue/reply":                "/paths/~1api~1agent~1queue~1candidates~1{id}~1answer" + body,
		"question-queue/keys-at-turn":         "/paths/~1api~1agent~1queue~1use" + body,
		"question-queue/at-turn":              "/paths/~1api~1agent~1queue~1prune" + body,
		"question-queue/callback":             "/paths/~1api~1agent~1queue~1callback" + strings.Replace(body, "post", "put", 1),
	} {
		described := compile(place)
		for _, c := range corpus[kind].Valid {
			if err := described.Validate(readTree(t, c.Content)); err != nil {
				t.Errorf("%s: %v", c.Case, err)
			}
		}
		refused := 0
		for _, c := range corpus[kind].Refused {
			if c.RefusedBy != string(schema.RuleSchema) {
				continue
			}
			if refused++; described.Validate(readTree(t, c.Content)) == nil {
				t.Errorf("%s: %s is not refused", kind, c.Case)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no case is refused by the schema", kind)
		}
	}
	event, ask := corpusContent(t, 0), compile("/paths/~1api~1agent~1rooms~1{room}~1questions"+body)
	for content, want := range map[string]bool{
		event: true, strings.Replace(event, "{", `{"ttl":60,"data":{},`, 1): true, strings.Replace(event, "{", `{"ttl":"60",`, 1): false,
		strings.Replace(event, `"meaning":`, `"means":`, 1): false,
	} {
		if err := ask.Validate(readTree(t, []byte(content))); (err == nil) != want {
			t.Errorf("%.60s: %v", content, err)
		}
	}
}
