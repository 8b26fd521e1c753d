package schema_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// textOfHTML reads a formatted body with a real parser's tokens and gives the plain body that it stands for. It fails on
// any tag but the few that bodies use, on any attribute but the target of a link, and on tags out of balance.
func textOfHTML(t *testing.T, formatted string) string {
	t.Helper()
	r := htmlReader{t: t, from: formatted, tokens: html.NewTokenizer(strings.NewReader(formatted))}
	for r.next() {
		switch r.tok.Type {
		case html.StartTagToken:
			r.start()
		case html.EndTagToken:
			r.end()
		case html.TextToken:
			r.text()
		default:
			r.failf("a %s", r.tok.Type)
		}
	}
	if len(r.open) > 0 {
		r.failf("<%s> is not closed", r.open[len(r.open)-1])
	}
	return strings.Join(r.paragraphs, "\n\n")
}

type htmlReader struct {
	t          *testing.T
	from       string
	tokens     *html.Tokenizer
	tok        html.Token
	open       []string
	href       string
	now        strings.Builder // the paragraph being read
	paragraphs []string
	labelled   bool // the paragraph is nothing but the label of the text that follows
}

func (r *htmlReader) failf(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("html: "+format+"\n%s", append(args, r.from)...)
}

func (r *htmlReader) next() bool {
	if r.tokens.Next() == html.ErrorToken {
		return false
	}
	r.tok = r.tokens.Token()
	return true
}

func (r *htmlReader) inside() string { return strings.Join(r.open, " ") }

// places says where each tag may stand.
var places = map[string][]string{
	"p": {""}, "pre": {""}, "br": {"p", "p code"}, "strong": {"p"}, "a": {"p"}, "code": {"p", "pre"},
}

func (r *htmlReader) start() {
	name := r.tok.Data
	allowed := false
	for _, place := range places[name] {
		allowed = allowed || place == r.inside()
	}
	if !allowed {
		r.failf("<%s> inside %q", name, r.inside())
	}
	switch {
	case name == "a" && len(r.tok.Attr) == 1 && r.tok.Attr[0].Key == "href":
		r.href = r.tok.Attr[0].Val
		if scheme := strings.ToLower(r.href); !strings.HasPrefix(scheme, "http://") && !strings.HasPrefix(scheme, "https://") || strings.ContainsAny(r.href, " ()\"<>\n") {
			r.failf("a link to %q", r.href)
		}
		r.now.WriteString("[")
	case len(r.tok.Attr) > 0 || name == "a":
		r.failf("<%s> with attributes %v", name, r.tok.Attr)
	case name == "br":
		r.now.WriteString("\n")
		return
	case r.inside() == "p" && name == "code":
		r.now.WriteString("`")
	}
	r.labelled = false
	r.open = append(r.open, name)
}

func (r *htmlReader) end() {
	if len(r.open) == 0 || r.open[len(r.open)-1] != r.tok.Data {
		r.failf("</%s> inside %q", r.tok.Data, r.inside())
	}
	r.open = r.open[:len(r.open)-1]
	switch r.tok.Data {
	case "a":
		r.now.WriteString("](" + r.href + ")")
	case "strong":
		r.labelled = true
	case "code":
		if r.inside() == "p" {
			r.now.WriteString("`")
		}
	case "p":
		text := r.now.String()
		r.now.Reset()
		if r.labelled {
			text = "\x00" + text // waits for the text that it is the label of
		}
		r.paragraphs = append(r.paragraphs, text)
	case "pre":
		r.fence()
	}
}

// fence writes the text inside <pre> as the plain body does, below its label if it has one.
func (r *htmlReader) fence() {
	text := r.now.String()
	r.now.Reset()
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	block := ticks + "\n" + text + "\n" + ticks
	if last := len(r.paragraphs) - 1; last >= 0 && strings.HasPrefix(r.paragraphs[last], "\x00") {
		r.paragraphs[last] = r.paragraphs[last][1:] + "\n" + block
		return
	}
	r.paragraphs = append(r.paragraphs, block)
}

func (r *htmlReader) text() {
	if place := r.inside(); place == "" || place == "pre" {
		r.failf("text %q outside a paragraph", r.tok.Data)
	}
	if r.inside() == "p" {
		r.labelled = false
	}
	r.now.WriteString(r.tok.Data)
}

// plainBody takes out what HTML cannot keep apart or keeps in other characters: kinds of line break, tabs, and spaces that
// would collapse.
func plainBody(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\t", "    ")
	return strings.ReplaceAll(s, "\u00a0", " ")
}
