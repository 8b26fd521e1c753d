package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// writeWhole prints everything that there is to decide a question by. Text from outside never begins a line, and nothing
// of it is hidden.
func writeWhole(w io.Writer, q *client.Question, now time.Time) {
	fmt.Fprintf(w, "Asked by %s in %s:\n", oneLine(orDash(q.AskedBy)), oneLine(roomName(q)))
	writeQuoted(w, q.Prompt)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(table, "  %s\t%s\n", name, oneLine(text))
		}
	}
	row("id", q.ID)
	if q.Context != nil {
		row("context", *q.Context)
	}
	if q.TargetUserID != nil {
		row("asks", *q.TargetUserID)
	} else {
		row("asks", "anyone in the room")
	}
	row("approval", q.ApprovalRequestID)
	row("state", stateSummary(q, now))
	row("expires at", instant(q.ExpiresAt))
	table.Flush()
	if q.Subject != nil {
		writeSubject(w, q.Subject)
	}
	if len(q.Items) == 0 {
		writeOptions(w, q.Options, q.TextInput)
	}
	for i, item := range q.Items {
		fmt.Fprintf(w, "\nPart %d of %d: %s\n", i+1, len(q.Items), oneLine(item.Header))
		writeQuoted(w, item.Prompt)
		if item.Multiple {
			fmt.Fprintln(w, "  (more than one may be chosen: 1,3)")
		}
		writeOptions(w, item.Options, item.TextInput)
	}
}

// writeQuoted prints text of several lines, each behind a bar.
func writeQuoted(w io.Writer, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "  | %s\n", oneLine(line))
	}
}

// writeSubject prints the whole of what an approval is of.
func writeSubject(w io.Writer, s *schema.Subject) {
	fmt.Fprint(w, "\nIt is about exactly this:\n")
	lapses := "never"
	if s.ExpiresAt != nil {
		lapses = instant(*s.ExpiresAt)
	}
	complete := "complete"
	if incomplete(s) {
		complete = "INCOMPLETE: not all of it is shown, so nobody can approve it. It can only be declined"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"subject", s.ID}, {"digest", s.Digest}, {"schema", s.Schema}, {"revision", fmt.Sprint(s.Revision)}, {"lapses at", lapses}, {"preview", complete},
	} {
		fmt.Fprintf(table, "  %s\t%s\n", row[0], oneLine(row[1]))
	}
	table.Flush()
	for _, item := range s.Preview {
		switch item.Type {
		case "text":
			if item.Label != "" {
				writeQuoted(w, item.Label+":")
			}
			writeQuoted(w, item.Text)
		case "field":
			fmt.Fprintf(w, "  | %s: %s\n", oneLine(item.Label), oneLine(item.Value))
		case "link":
			fmt.Fprintf(w, "  | %s: %s (what is there is not shown here)\n", oneLine(item.Label), oneLine(item.URL))
		default:
			fmt.Fprintf(w, "  (an item of the kind %q, which this program cannot show)\n", oneLine(item.Type))
		}
	}
}

func incomplete(s *schema.Subject) bool { return !s.PreviewComplete || len(s.Preview) == 0 }

// unshowable says whether a newer server shows what this program cannot.
func unshowable(s *schema.Subject) bool {
	return slices.ContainsFunc(s.Preview, func(item schema.PreviewItem) bool {
		return item.Type != "text" && item.Type != "field" && item.Type != "link"
	})
}

func writeOptions(w io.Writer, options []schema.QuestionOption, text *schema.TextInput) {
	fmt.Fprintln(w)
	for i, o := range options {
		fmt.Fprintf(w, "  %d. %s%s\n", i+1, oneLine(optionSummary([]schema.QuestionOption{o})), optionTerms(o))
	}
	if text != nil {
		hint := ""
		if text.Placeholder != "" {
			hint = ": " + oneLine(text.Placeholder)
		}
		fmt.Fprintf(w, "  Text of up to %d characters%s\n", text.MaxLength, hint)
	}
}

// optionTerms is what choosing an option means and takes.
func optionTerms(o schema.QuestionOption) string {
	var terms []string
	say := func(is bool, format string, args ...any) {
		if is {
			terms = append(terms, fmt.Sprintf(format, args...))
		}
	}
	say(o.Meaning == schema.Approve, "approves")
	say(o.Meaning == schema.Reject, "declines")
	say(o.Scope != "", "%s", oneLine(o.Scope))
	say(o.Requires != "", "only for admins")
	say(o.NeedsComment, "with --comment")
	if in := o.Input; in != nil {
		kind := map[string]string{"url": "a web address"}[in.Kind]
		if kind == "" {
			kind = "text"
		}
		say(in.Required, "with --input: %s, %s of up to %d characters", oneLine(in.Label), kind, in.MaxLength)
		say(!in.Required, "maybe with --input: %s, %s of up to %d characters", oneLine(in.Label), kind, in.MaxLength)
	}
	if len(terms) == 0 {
		return ""
	}
	return " — " + strings.Join(terms, "; ")
}
