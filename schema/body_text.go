package schema

import (
	"fmt"
	"strings"
)

// TextBody renders the plain fallback body that belongs to the event: paragraphs joined by an empty line, with no
// newline at either end. It takes no notice of the event's own body. (Document question.v2, its eight valid cases.)
func (e *Elicitation) TextBody() string {
	var paragraphs []string
	for _, b := range e.blocks() {
		paragraphs = append(paragraphs, textOf(b))
	}
	return strings.Join(paragraphs, "\n\n")
}

func textOf(b block) string {
	var out strings.Builder
	switch b := b.(type) {
	case prose:
		for _, s := range b {
			switch s.kind {
			case code:
				out.WriteString("`" + s.text + "`")
			case link:
				out.WriteString("[" + s.text + "](" + s.href + ")")
			default:
				out.WriteString(s.text)
			}
		}
	case numbered:
		for i, o := range b {
			if i > 0 {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "%d. %s", o.Number, o.Label)
		}
	case named:
		if b.label != "" {
			out.WriteString(b.label + ": ")
		}
		out.WriteString(b.value)
	case fenced:
		if b.label != "" {
			out.WriteString(b.label + ":\n")
		}
		fence := fenceFor(b.text)
		out.WriteString(fence + "\n" + b.text + "\n" + fence)
	}
	return out.String()
}

// fenceFor is a run of backticks longer than any in the text, so the text cannot end its own fence.
func fenceFor(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
