package httpapi

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"superpipeline.dev/question-bridge/bridge"
)

// The folder openapi describes this API, in files that are merged into one OpenAPI 3.1 document: every route, and what
// it answers. Three things are filled in:
//
//   - the schemas of package schema, as far as they are referred to, under components/schemas: a definition of the core
//     protocol by its own name, the event as question.v2, a definition of the queries as queries.NAME and of the Question Queue as
//     queue.NAME
//   - for the codes in an operation's x-problems, the responses with their statuses, headers and meanings
//   - what problems.json says of each code; docs/errors.md is made of it too
//
//go:embed openapi
var openapiFiles embed.FS

// OpenAPI is the description of this API as GET /openapi.json gives it: one OpenAPI 3.1 document that refers to nothing
// outside itself. Every response of the test suite is held against it (package apitest).
var OpenAPI = sync.OnceValue(func() []byte {
	raw, err := json.MarshalIndent(describe(), "", "  ")
	if err != nil {
		panic(err) // it was read from JSON
	}
	return append(raw, '\n')
})

var openapiTag = sync.OnceValue(func() string {
	sum := sha256.Sum256(OpenAPI())
	return `"` + hex.EncodeToString(sum[:16]) + `"`
})

// openapiFresh is how long a copy of the document may be used, in seconds.
const openapiFresh = "300"

func (s *server) openapi(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age="+openapiFresh)
	w.Header().Set("ETag", openapiTag())
	if strings.Contains(r.Header.Get("If-None-Match"), openapiTag()) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	w.Header().Set("Content-Type", documentType)
	_, _ = w.Write(OpenAPI()) // the client is gone, if this fails
	return nil
}

// problemText is what problems.json says of a code.
type problemText struct {
	Means   string   `json:"means"`
	Do      string   `json:"do"`
	Headers []string `json:"headers"` // that come with every problem of the code
	Told    string   `json:"told"`    // "room" for what only people in a room are told, and no client of this API
}

// object is a JSON object.
type object = map[string]any

// describe builds the document. Its parts are ours and constant, so a fault in them is a programming error.
func describe() object {
	document := object{}
	for _, part := range []string{"document", "asker", "decisions", "gates", "grants", "host", "queue", "responder", "server", "webhooks"} {
		merge(document, openapiPart[object](part))
	}
	components := document["components"].(object)
	p := problemSheet{openapiPart[map[bridge.Code]problemText]("problems"), components["headers"].(object)}
	for where, item := range document["paths"].(object) {
		for method, operation := range item.(object) {
			if operation, ok := operation.(object); ok { // and not the parameters of the path
				p.fill(operation, method+" "+where)
			}
		}
	}
	s := schemas{components["schemas"].(object)}
	s.fill(document, "")
	return document
}

func openapiPart[T any](name string) (part T) {
	raw, err := openapiFiles.ReadFile("openapi/" + name + ".json")
	if err == nil {
		err = decodeKeepingNumbers(raw, &part)
	}
	if err != nil {
		panic(fmt.Sprintf("openapi/%s.json: %v", name, err))
	}
	return part
}

func decodeKeepingNumbers(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

// merge adds what another part of the document has.
func merge(into, from object) {
	for name, value := range from {
		have, ok := into[name]
		if !ok {
			into[name] = value
			continue
		}
		a, ok1 := have.(object)
		b, ok2 := value.(object)
		if !ok1 || !ok2 {
			panic("openapi: two parts have " + name)
		}
		merge(a, b)
	}
}

// problemSheet is what there is to say of problems.
type problemSheet struct {
	texts   map[bridge.Code]problemText
	headers object // of the document's components
}

// fill makes the responses of an operation's x-problems, one for each status.
func (p problemSheet) fill(operation object, where string) {
	byStatus := map[int][]bridge.Code{}
	for _, named := range operation["x-problems"].([]any) {
		code := bridge.Code(named.(string))
		if _, ok := p.texts[code]; !ok || kinds[code].status == 0 {
			panic(fmt.Sprintf("openapi: %s has the problem %s, which is not both in kinds and in problems.json", where, code))
		}
		byStatus[kinds[code].status] = append(byStatus[kinds[code].status], code)
	}
	delete(operation, "x-problems")
	responses := operation["responses"].(object)
	for status, codes := range byStatus {
		problem, at := p.response(status, codes), strconv.Itoa(status)
		if document, ok := responses[at].(object); ok { // a response of the status is no problem, or one
			maps.Copy(problem["content"].(object), document["content"].(object))
			problem["description"] = document["description"].(string) + "\n\n" + problem["description"].(string)
		}
		responses[at] = problem
	}
}

// response is that of some codes with one status. A header that comes with every one of them is required.
func (p problemSheet) response(status int, codes []bridge.Code) object {
	counts, means := map[string]int{}, make([]string, 0, len(codes))
	for _, code := range codes {
		means = append(means, fmt.Sprintf("`%s`: %s", code, p.texts[code].Means))
		for _, header := range p.texts[code].Headers {
			counts[header]++
		}
	}
	headers := object{}
	for name, n := range counts {
		header := maps.Clone(p.headers[name].(object))
		header["required"] = n == len(codes)
		headers[name] = header
	}
	return object{
		"description": http.StatusText(status) + ".\n\n" + strings.Join(means, "\n\n"),
		"headers":     headers,
		"content": object{problemType: object{"schema": object{
			"$ref":       schemaPlace + "problem",
			"properties": object{"status": object{"const": status}, "code": object{"enum": codes}},
		}}},
	}
}
