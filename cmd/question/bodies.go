package main

import (
	"fmt"

	"superpipeline.dev/question-bridge/schema"
)

// bodyDifference says where the event's body first differs from the one that belongs to it; "" for nowhere.
func bodyDifference(e *schema.Elicitation) string {
	return firstDifference("body", e.Body, e.TextBody())
}

// absent is the answer of formattedDifference for an event that has no formatted_body.
const absent = "absent"

// formattedDifference says where the event's formatted_body first differs from the one that belongs to it.
func formattedDifference(e *schema.Elicitation) string {
	formatted, ok := e.Property("formatted_body")
	if !ok {
		return absent
	}
	text, ok := formatted.(string)
	if !ok {
		return "formatted_body is not text"
	}
	return firstDifference("formatted_body", text, e.HTMLBody())
}

// firstDifference names the line and the column, in characters from 1, at which two texts part. The characters there are
// given by their number too: some differ only in ways that nobody can see.
func firstDifference(what, event, rendered string) string {
	have, want := []rune(event), []rune(rendered)
	line, column, i := 1, 1, 0
	for ; i < len(have) && i < len(want) && have[i] == want[i]; i++ {
		column++
		if have[i] == '\n' {
			line, column = line+1, 1
		}
	}
	if i == len(have) && i == len(want) {
		return ""
	}
	return fmt.Sprintf("%s differs at line %d, column %d: the event has %s, rendered is %s",
		what, line, column, excerpt(have[i:]), excerpt(want[i:]))
}

const excerptLength = 40

func excerpt(rest []rune) string {
	if len(rest) == 0 {
		return "nothing more"
	}
	first, dots := rest[0], ""
	if len(rest) > excerptLength {
		rest, dots = rest[:excerptLength], "…"
	}
	return fmt.Sprintf("%q%s (U+%04X)", string(rest), dots, first)
}
