// Package apitest holds what the API answers against its description, which it serves at /openapi.json: so that the
// description stays true, and complete. Tests alone use it.
package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"superpipeline.dev/question-bridge/internal/httpapi"
)

// object is a JSON object.
type object = map[string]any

// at is a part of the description and its JSON pointer.
type at struct {
	object
	pointer string
}

// description is the document, its schemas closed (see closed), with an index of its operations.
type description struct {
	root       object
	operations map[string]at // by method and path, as a pattern of a route
	routes     *http.ServeMux
	compiler   *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by pointer
	seen     map[string]bool               // see Unseen
}

var described = sync.OnceValue(func() *description {
	d := &description{
		operations: map[string]at{}, routes: http.NewServeMux(), compiled: map[string]*jsonschema.Schema{}, seen: map[string]bool{},
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(httpapi.OpenAPI()))
	if err != nil {
		panic(err)
	}
	d.root = tree.(object)
	closed{d.root}.document()
	d.compiler = newCompiler(d.root)
	for path, item := range d.root["paths"].(object) {
		for method, operation := range item.(object) {
			if operation, ok := operation.(object); ok {
				pattern := strings.ToUpper(method) + " " + path
				d.operations[pattern] = at{operation, pointer("paths", path, method)}
				d.routes.Handle(pattern, http.NotFoundHandler())
			}
		}
	}
	return d
})

// documentURL is what the document calls itself while it is compiled.
const documentURL = "https://superpipeline.dev/openapi.json"

func newCompiler(document object) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(documentURL, document); err != nil {
		panic(err)
	}
	return c
}

func pointer(steps ...string) string {
	var p strings.Builder
	for _, s := range steps {
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	return p.String()
}

// operation finds the operation that a request is for.
func (d *description) operation(method string, u *url.URL) (pattern string, op at, ok bool) {
	_, pattern = d.routes.Handler(&http.Request{Method: method, URL: u, Host: u.Host})
	op, ok = d.operations[pattern]
	return pattern, op, ok
}

// get gives a part of a part, wherever a $ref leads to.
func (d *description) get(from at, steps ...string) (at, bool) {
	for _, s := range steps {
		next, ok := from.object[s].(object)
		if !ok {
			return at{}, false
		}
		from = at{next, from.pointer + pointer(s)}
		if to, ok := next["$ref"].(string); ok && len(next) == 1 {
			from = d.follow(to)
		}
	}
	return from, true
}

func (d *description) follow(reference string) at {
	place := strings.TrimPrefix(reference, "#")
	here := d.root
	for _, step := range strings.Split(place, "/")[1:] {
		here = here[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)].(object)
	}
	return at{here, place}
}

// validate holds a value against the schema at a pointer.
func (d *description) validate(schema at, value any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	compiled, ok := d.compiled[schema.pointer]
	if !ok {
		var err error
		if compiled, err = d.compiler.Compile(documentURL + "#" + (&url.URL{Path: schema.pointer}).EscapedPath()); err != nil {
			return err
		}
		d.compiled[schema.pointer] = compiled
	}
	return compiled.Validate(value)
}

// Unseen lists what the description has and no response of this process was: "GET /readyz 503 not_ready", or without a
// code where the response is no problem.
func Unseen() []string {
	d := described()
	d.mu.Lock()
	defer d.mu.Unlock()
	var missing []string
	for pattern, op := range d.operations {
		for status := range op.object["responses"].(object) {
			for _, code := range d.codes(op, status) {
				if key := seenKey(pattern, status, code); !d.seen[key] {
					missing = append(missing, key)
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// codes are those of the problems with a status; one that is empty, if it is no problem's.
func (d *description) codes(op at, status string) (codes []string) {
	code, ok := d.get(op, "responses", status, "content", problemType, "schema", "properties", "code")
	if !ok {
		return []string{""}
	}
	for _, c := range code.object["enum"].([]any) {
		codes = append(codes, c.(string))
	}
	return codes
}

func seenKey(pattern, status, code string) string {
	return strings.TrimSpace(pattern + " " + status + " " + code)
}

func (d *description) saw(pattern string, status int, code string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[seenKey(pattern, fmt.Sprint(status), code)] = true
}

// codeOf reads the code of a problem; "" where there is none.
func codeOf(body []byte) string {
	var p struct{ Code string }
	_ = json.Unmarshal(body, &p)
	return p.Code
}
