package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"superpipeline.dev/question-bridge/schema"
)

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeDocument prints a document of the server as it came, but laid out, and with every character that is not printable
// escaped. Such characters stand only within strings, where an escape means the same.
func writeDocument(w io.Writer, raw json.RawMessage) error {
	var laidOut bytes.Buffer
	if err := json.Indent(&laidOut, raw, "", "  "); err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range laidOut.String() {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
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
