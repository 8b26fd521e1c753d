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
	w := paragraphWriter{out, true}
	switch b := b.(type) {
	case prose:
		out.WriteString("<p>")
		for _, s := range b {
			switch s.kind {
			case code:
				out.WriteString("<code>")
				w.text(s.text)
				out.WriteString("</code>")
			case link:
				fmt.Fprintf(out, `<a href="%s">`, html.EscapeString(s.href))
				w.text(s.text)
				out.WriteString("</a>")
			case strong:
				w.strong(s.text)
			default:
				w.text(s.text)
			}
		}
		out.WriteString("</p>")
	case numbered:
		out.WriteString("<p>")
		for i, o := range b {
			if i > 0 {
				w.text("\n")
			}
			w.text(fmt.Sprintf("%d. %s", o.Number, o.Label))
		}
		out.WriteString("</p>")
	case named:
		out.WriteString("<p>")
		if b.label != "" {
			w.strong(b.label + ":")
			w.text(" ")
		}
		w.text(b.value)
		out.WriteString("</p>")
	case fenced:
		if b.label != "" {
			out.WriteString("<p>")
			w.strong(b.label + ":")
			out.WriteString("</p>")
		}
		out.WriteString("<pre><code>" + markup.Replace(b.text) + "</code></pre>")
	}
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// paragraphWriter writes text into a paragraph so that it is seen as it is: runs of spaces and line breaks would
// otherwise collapse, and two different values could look the same.
type paragraphWriter struct {
	out       *strings.Builder
	collapses bool // a space here would not be drawn
}

func (w *paragraphWriter) text(s string) {
	for _, r := range s {
		switch r {
		case ' ':
			if w.collapses {
				r = '\u00a0'
			}
			w.out.WriteRune(r)
		case '\t':
			w.out.WriteString("\u00a0\u00a0\u00a0\u00a0")
		case '\n':
			w.out.WriteString("<br>")
		case '\r': // the other half of a line break: a lone one is written out
		case '&':
			w.out.WriteString("&amp;")
		case '<':
			w.out.WriteString("&lt;")
		case '>':
			w.out.WriteString("&gt;")
		default:
			w.out.WriteRune(r)
		}
		w.collapses = r == ' ' || r == '\n'
	}
}

func (w *paragraphWriter) strong(s string) {
	w.out.WriteString("<strong>")
	w.text(s)
	w.out.WriteString("</strong>")
}
