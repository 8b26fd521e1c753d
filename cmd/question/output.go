package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeDocument prints a document of the server as it came, but laid out, and harmless on a terminal.
func writeDocument(w io.Writer, raw json.RawMessage) error {
	var laidOut bytes.Buffer
	if err := json.Indent(&laidOut, raw, "", "  "); err != nil {
		return err
	}
	_, err := io.WriteString(w, command.EscapedJSON(laidOut.String())+"\n")
	return err
}

// shortened makes text fit for a column: one line of at most so many characters.
func shortened(s string, most int) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > most {
		return oneLine(strings.TrimSpace(string(runes[:most-1]))) + "…"
	}
	return oneLine(string(runes))
}

// writeFaults prints one fault a line: rule, location, reason.
func writeFaults(w io.Writer, r *schema.Refusal) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Faults {
		at := f.Location
		if at == "" {
			at = "(the whole document)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Rule, oneLine(at), oneLine(f.Reason))
	}
	table.Flush()
	if r.More > 0 {
		fmt.Fprintf(w, "and %d more\n", r.More)
	}
}

// oneLine makes text from outside harmless in a line on a terminal: whatever is not printable is shown escaped.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%04X}`, r)
		}
	}
	return b.String()
}
