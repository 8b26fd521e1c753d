package httpapi

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

var update = flag.Bool("update", false, "write docs/errors.md anew")

const errorsPage = "../../docs/errors.md"

// TestTheErrorsPage wants docs/errors.md to be made of kinds and of problems.json. To write it anew:
//
//	go test ./internal/httpapi -run TestTheErrorsPage -update
func TestTheErrorsPage(t *testing.T) {
	want := errorsText(t)
	if *update {
		if err := os.WriteFile(errorsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(errorsPage)
	if err != nil || string(have) != want {
		t.Errorf("docs/errors.md is not made of kinds and problems.json (%v); write it with: go test ./internal/httpapi -run TestTheErrorsPage -update", err)
	}
}

func errorsText(t *testing.T) string {
	t.Helper()
	texts := openapiPart[map[bridge.Code]problemText]("problems")
	codes := slices.SortedFunc(maps.Keys(kinds), func(a, b bridge.Code) int {
		return cmp.Or(cmp.Compare(kinds[a].status, kinds[b].status), cmp.Compare(a, b))
	})
	var page, inRooms strings.Builder
	page.WriteString(`# Errors

A request that fails is answered with a problem, ` + "`application/problem+json`" + ` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)):

` + "```json" + `
{
  "type": "https://superpipeline.dev/problems/invalid_question", "title": "Invalid question", "status": 422,
  "code": "invalid_question", "detail": "/options has more than 4 items.",
  "errors": [{"rule": "schema", "instance_location": "/options", "keyword": "maxItems", "limit": 4, "reason": "has more than 4 items"}]
}
` + "```" + `

Programs look at ` + "`code`" + `, which is stable; ` + "`detail`" + ` is for people. ` + "`errors`" + ` names what was sent wrongly, by JSON pointers, and never
repeats a value. Which operation has which codes is in ` + "`/openapi.json`" + `, which the server serves.

| status | code | title | what it means | what to do |
| --- | --- | --- | --- | --- |
`)
	for _, code := range codes {
		text, kind := texts[code], kinds[code]
		if text.Means == "" || text.Do == "" {
			t.Errorf("problems.json says too little about %s", code)
		}
		if text.Told == "room" {
			fmt.Fprintf(&inRooms, "| `%s` | %s | %s |\n", code, text.Means, text.Do)
			continue
		}
		fmt.Fprintf(&page, "| %d | `%s` | %s | %s | %s |\n", kind.status, code, kind.title, text.Means, text.Do)
	}
	for code := range texts {
		if kinds[code].status == 0 {
			t.Errorf("problems.json has the code %s, which is not in kinds", code)
		}
	}
	page.WriteString(`
## Told in rooms alone

Whoever answers in a room is told in its thread why an answer is none. Most reasons have a code of the table above; these are for rooms alone:

| code | what it means | what to do |
| --- | --- | --- |
` + inRooms.String())
	return page.String()
}
