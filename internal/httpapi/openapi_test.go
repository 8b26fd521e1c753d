package httpapi_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
)

// neverSeen is what the description has and no test of this package can bring about, with the reason.
var neverSeen = map[string]string{}

// everythingSeen wants every response of the description seen, unless only some tests were run. It gives an exit code.
func everythingSeen() (code int) {
	for _, narrowed := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(narrowed).Value.String() != "" {
			return 0
		}
	}
	for _, response := range apitest.Unseen() {
		if neverSeen[response] == "" {
			fmt.Println("FAIL: /openapi.json has a response that no test was given:", response)
			code = 1
		}
	}
	return code
}

// Every route is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(httpapi.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range document.Paths {
		for method := range item {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	routes := httpapi.Routes()
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes\n%q\nare described as\n%q", routes, described)
	}
}

func TestTheDescriptionIsServed(t *testing.T) {
	h := newHouse(t)
	a := h.do("GET", "/openapi.json", "", "")
	if a.status != http.StatusOK || string(a.body) != string(httpapi.OpenAPI()) || a.header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for copied, want := range map[string]int{a.header.Get("ETag"): http.StatusNotModified, `"another"`: http.StatusOK} {
		req, _ := http.NewRequest("GET", h.url+"/openapi.json", nil)
		req.Header.Set("If-None-Match", copied)
		res, err := h.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with a copy %s: %d, want %d", copied, res.StatusCode, want)
		}
	}
}
