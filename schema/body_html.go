package schema

import (
	"fmt"
	"html"
	"strings"
)

// HTMLBody renders the formatted_body that belongs to the event: the text of [Elicitation.TextBody] as HTML of the tags
// that Matrix allows, with everything from outside escaped. Options are lines with their number in the text, because
// some clients draw every ordered list from 1.
func (e *Elicitation) HTMLBody() string {
	var out strings.Builder
	for _, b := range e.blocks() {
		writeHTML(&out, b)
	}
	return out.String()
}

func writeHTML(out *strings.Builder, b block) {
	switch b := b.(type) {
	case prose:
		out.WriteString("<p>")
		for _, s := range b {
			switch s.kind {
			case code:
				out.WriteString("<code>" + escape(s.text) + "</code>")
			case link:
				fmt.Fprintf(out, `<a href="%s">%s</a>`, html.EscapeString(s.href), escape(s.text))
			default:
				out.WriteString(escape(s.text))
			}
		}
		out.WriteString("</p>")
	case numbered:
		out.WriteString("<p>")
		for i, o := range b {
			if i > 0 {
				out.WriteString("<br>")
			}
			fmt.Fprintf(out, "%d. %s", o.Number, escape(o.Label))
		}
		out.WriteString("</p>")
	case named:
		out.WriteString("<p>")
		if b.label != "" {
			fmt.Fprintf(out, "<strong>%s:</strong> ", escape(b.label))
		}
		out.WriteString(escape(b.value) + "</p>")
	case fenced:
		if b.label != "" {
			fmt.Fprintf(out, "<p><strong>%s:</strong></p>", escape(b.label))
		}
		out.WriteString("<pre><code>" + escapeMarkup(b.text) + "</code></pre>")
	}
}

// escape writes text into a paragraph so that it is seen as it is: runs of spaces and line breaks would otherwise
// collapse, and two different values could look the same.
func escape(text string) string {
	var b strings.Builder
	collapses := true // a space here would not be drawn
	for _, r := range text {
		switch r {
		case ' ':
			if collapses {
				r = '\u00a0'
			}
			b.WriteRune(r)
		case '\t':
			b.WriteString("\u00a0\u00a0\u00a0\u00a0")
		case '\n':
			b.WriteString("<br>")
		case '\r': // the other half of a line break: a lone one is written out
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		default:
			b.WriteRune(r)
		}
		collapses = r == ' ' || r == '\n'
	}
	return b.String()
}

func escapeMarkup(text string) string { return markup.Replace(text) }

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
