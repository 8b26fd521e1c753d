package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

const timeFormat = "2006-01-02 15:04:05Z"

// writeOutcome prints an answer on stdout, and on stderr how a question ended without one. With JSON, stdout has the
// question however it ended; its state and the exit code say how.
func writeOutcome(cmd *cobra.Command, o *client.Outcome, asJSON bool) error {
	if asJSON {
		if err := writeDocument(cmd.OutOrStdout(), o.Question.Raw); err != nil {
			return written(err)
		}
	}
	switch {
	case o.NoAnswer():
		return exitf(exitExpired, "%s", noAnswer(o.Question))
	case o.Withdrawn():
		return exitf(exitCancelled, "%s", withdrawn(o.Question))
	case !asJSON:
		writeAnswer(cmd.OutOrStdout(), o)
	}
	return nil
}

// writeAnswer prints what was answered, alone. A program gets a typed text as it was typed; a terminal gets it escaped.
func writeAnswer(w io.Writer, o *client.Outcome) {
	shown := func(s string) string { return s }
	if terminalWidth(w) > 0 {
		shown = oneLine
	}
	if value, ok := o.Value(); ok {
		fmt.Fprintln(w, shown(value))
	} else if text, ok := o.Text(); ok {
		fmt.Fprintln(w, shown(text))
	}
	for _, item := range o.Items() {
		fmt.Fprintln(w, itemLine(item))
	}
}

// itemLine is the answer to one item: its header, then the labels or the text.
func itemLine(item schema.AnswerItem) string {
	parts := item.Labels
	if item.Text != nil {
		parts = append(parts[:len(parts):len(parts)], *item.Text)
	}
	line := oneLine(strings.Join(parts, ", "))
	if item.Header != "" {
		line = oneLine(item.Header) + ": " + line
	}
	return line
}

func noAnswer(q *client.Question) string {
	text := fmt.Sprintf("no answer: question %s expired at %s", oneLine(q.ID), q.Expires().UTC().Format(timeFormat))
	if reason := undelivered(q); reason != "" {
		text += "; " + reason
	}
	return text
}

func withdrawn(q *client.Question) string {
	by := map[string]string{
		"asker": " by its asker", "responder": ": somebody dismissed it", "superseded": ": a newer question takes its place",
	}[q.CancelledBy]
	text := fmt.Sprintf("question %s was cancelled%s", oneLine(q.ID), by)
	if reason := undelivered(q); reason != "" {
		text += "; " + reason
	}
	return text
}

// undelivered says why nobody can have seen a question; "" when somebody can, or nothing is known.
func undelivered(q *client.Question) string {
	d := q.Delivery
	if d == nil || d.State == "posted" || d.State == "queued" && d.Reason == nil {
		return ""
	}
	text := map[string]string{
		"queued": "nobody can see the question yet", "failed": "the question could not be delivered",
		"unanswerable": "the question cannot be answered in its room",
	}[d.State]
	if text == "" {
		text = "delivery: " + oneLine(d.State)
	}
	if reason := deliveryReason(d); reason != nil {
		text += ": " + strings.TrimSuffix(oneLine(*reason), ".")
	}
	return text
}

// deliveryReason is why a question is not where people can answer it, as a sentence if the server says one; nil for no reason.
func deliveryReason(d *schema.Delivery) *string {
	if d.Detail != "" {
		return &d.Detail
	}
	return d.Reason
}

// answerSummary is an answer for a person to read: the label, or the typed text in quotes.
func answerSummary(o *client.Outcome) string {
	if label, ok := o.Label(); ok {
		return label
	}
	if value, ok := o.Value(); ok {
		return value
	}
	if text, ok := o.Text(); ok {
		return "“" + text + "”"
	}
	var lines []string
	for _, item := range o.Items() {
		lines = append(lines, itemLine(item))
	}
	return strings.Join(lines, "; ")
}
