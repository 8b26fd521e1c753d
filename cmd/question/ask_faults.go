package main

import (
	"fmt"
	"strconv"
	"strings"

	"superpipeline.dev/question-bridge/schema"
)

// refusedArguments words the refusal of an ask by what was written on the command line, a line for each.
func refusedArguments(r *schema.Refusal) string {
	var lines []string
	for _, f := range r.Faults {
		lines = append(lines, argumentOf(f.Location)+" "+oneLine(f.Reason))
	}
	if r.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", r.More))
	}
	return strings.Join(lines, "\n")
}

// arguments are the parts of a command line, by the property of the ask that each becomes.
var arguments = map[string]string{
	"prompt": "PROMPT", "context": "--context", "options": "--option", "text_input": "--text", "target_user_id": "--to", "responder_scope": "--scope",
	"ttl": "--ttl", "correlation_id": "--correlation-id", "reply_to": "--reply-to", "data": "--data",
}

func argumentOf(location string) string {
	tokens := strings.Split(location, "/")
	if len(tokens) < 2 {
		return "the question"
	}
	name, ok := arguments[tokens[1]]
	if !ok {
		return oneLine(location)
	}
	if len(tokens) > 2 && tokens[1] == "options" {
		if i, err := strconv.Atoi(tokens[2]); err == nil {
			name = fmt.Sprintf("--option, number %d:", i+1)
			if len(tokens) > 3 {
				name += " its " + oneLine(tokens[3])
			}
		}
	}
	return name
}
