package main

import (
	"errors"
	"fmt"
	"strings"

	"superpipeline.dev/question-bridge/schema"
)

// judge decodes the document of a case and says why the case fails; "" when it passes.
func judge(c testCase, bodies bool) string {
	kind, _ := schema.KindNamed(c.kind)
	doc, err := kind.Decode(c.content)
	if err == nil {
		if c.refusedBy != "" {
			return fmt.Sprintf("accepted, should be refused by %s", c.refusedBy)
		}
		if event, ok := doc.(*schema.Elicitation); ok && bodies {
			return judgeBodies(event)
		}
		return ""
	}
	var refusal *schema.Refusal
	switch {
	case !errors.As(err, &refusal):
		return "could not be checked"
	case c.refusedBy == "":
		return refusal.Error()
	case refusal.Rule() != c.refusedBy:
		return fmt.Sprintf("should be refused by %s, was %s", c.refusedBy, refusal.Error())
	case c.expect != nil:
		return c.expect.judge(refusal)
	}
	return ""
}

func judgeBodies(event *schema.Elicitation) string {
	if d := bodyDifference(event); d != "" {
		return d
	}
	if d := formattedDifference(event); d != absent {
		return d
	}
	return ""
}

// judge looks for one fault that has both the location and the keyword.
func (e *expectation) judge(refusal *schema.Refusal) string {
	var found []string
	for _, f := range refusal.Faults {
		if (e.location == nil || *e.location == f.Location) && (e.keyword == nil || *e.keyword == f.Keyword) {
			return ""
		}
		found = append(found, fmt.Sprintf("%s at %q", f.Keyword, f.Location))
	}
	const shown = 5
	if more := len(found) + refusal.More - shown; more > 0 {
		found = append(found[:min(shown, len(found))], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("no fault is %s; the faults are %s", e, strings.Join(found, ", "))
}

func (e *expectation) String() string {
	keyword, at := "anything", "anywhere"
	if e.keyword != nil {
		keyword = *e.keyword
	}
	if e.location != nil {
		at = fmt.Sprintf("at %q", *e.location)
	}
	return keyword + " " + at
}
