package apitest

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const problemType = "application/problem+json"

// exchange is a request and what was answered.
type exchange struct {
	method string
	url    *url.URL
	status int
	header http.Header
	body   []byte
}

// check says in what a response is not as it is described.
func (d *description) check(e exchange) error {
	head := e.method == http.MethodHead
	if head {
		e.method = http.MethodGet
	}
	if isProblem, err := d.unmatched(e); isProblem {
		return e.fault(err)
	}
	pattern, op, ok := d.operation(e.method, e.url)
	if !ok {
		return e.fault(fmt.Errorf("the route is not described"))
	}
	response, ok := d.get(op, "responses", strconv.Itoa(e.status))
	if !ok {
		return e.fault(fmt.Errorf("%s does not have the status", pattern))
	}
	code := ""
	if !head {
		var err error
		if code, err = d.body(response, e); err != nil {
			return e.fault(err)
		}
	}
	if err := d.headers(response, e.header); err != nil {
		return e.fault(err)
	}
	d.saw(pattern, e.status, code)
	return nil
}

func (e exchange) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s is answered with %d, which is not as /openapi.json describes it: %w\n%s", e.method, e.url.Path, e.status, err, e.body)
}

// unmatched checks the two problems that belong to no operation.
func (d *description) unmatched(e exchange) (isProblem bool, err error) {
	code := codeOf(e.body)
	switch {
	case e.status == http.StatusNotFound && code == "not_found":
	case e.status == http.StatusMethodNotAllowed && code == "method_not_allowed":
		if e.header.Get("Allow") == "" {
			return true, fmt.Errorf("the header Allow is missing")
		}
	default:
		return false, nil
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.body))
	if err != nil {
		return true, err
	}
	return true, d.validate(d.follow("#/components/schemas/problem"), tree)
}

// body checks a body against its media type's schema, and gives its code where it is a problem.
func (d *description) body(response at, e exchange) (code string, err error) {
	if _, ok := d.get(response, "content"); !ok {
		if len(e.body) > 0 {
			return "", fmt.Errorf("it has a body")
		}
		return "", nil
	}
	media, _, err := mime.ParseMediaType(e.header.Get("Content-Type"))
	if err != nil {
		return "", fmt.Errorf("content type %q: %w", e.header.Get("Content-Type"), err)
	}
	if _, ok := d.get(response, "content", media); !ok {
		return "", fmt.Errorf("%s is not described", media)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.body))
	if err != nil {
		return "", err
	}
	if media == problemType {
		code = codeOf(e.body)
	}
	schema := at{pointer: response.pointer + pointer("content", media, "schema")}
	return code, d.validate(schema, tree)
}

// plainHeaders are those that any response of any server may have.
var plainHeaders = map[string]bool{
	"Content-Type": true, "Content-Length": true, "Date": true, "Connection": true, "Cache-Control": true, "X-Content-Type-Options": true,
}

func (d *description) headers(response at, have http.Header) error {
	listed, _ := d.get(response, "headers")
	for name := range listed.object {
		header, _ := d.get(response, "headers", name)
		value := have.Get(name)
		if value == "" {
			if header.object["required"] == true {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		if err := d.validate(at{pointer: header.pointer + pointer("schema")}, value); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	known := http.Header{}
	for name := range listed.object {
		known.Set(name, "listed")
	}
	for name := range have {
		if !plainHeaders[name] && known.Get(name) == "" {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	return nil
}
