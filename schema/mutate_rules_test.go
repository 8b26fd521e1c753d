package schema_test

import (
	"fmt"
	"slices"
	"strings"
)

// cardOrApproval moves a document to and fro over the line between a card question and an approval request.
func (g *mutator) cardOrApproval(doc *node) bool {
	if !doc.isObject() {
		return false
	}
	for range 1 + g.IntN(3) {
		switch g.IntN(7) {
		case 0:
			doc.set("/card_id", &node{text: g.pick([]string{`""`, `"crd_1"`, `" "`, `null`, `0`, `"\u200b"`})})
		case 1:
			doc.set("/approval_request_id", &node{text: g.pick([]string{`"apr_1"`, `""`, `null`})})
		case 2:
			doc.set("/deep_link", &node{text: g.pick([]string{`"https://example.org"`, `""`, `null`, `1`})})
		case 3:
			for _, name := range []string{"approval_request_id", "deep_link", "subject", "card_id"} {
				if i := doc.index(name); i >= 0 && g.IntN(2) == 0 {
					doc.remove(i)
				}
			}
		case 4:
			doc.set("/subject/schema", &node{text: g.pick(words("stk-capability/v1"))})
		case 5:
			doc.set(g.where(doc, "/options/*/requires"), &node{text: g.pick([]string{`"workspace-admin"`, `"workspace-owner"`, `null`})})
		default:
			doc.set(g.where(doc, "/options/*/meaning"), &node{text: g.pick(words("approve", "reject"))})
		}
	}
	return true
}

func (g *mutator) optionsOrFreeText(doc *node) bool {
	if !doc.isObject() {
		return false
	}
	switch g.IntN(4) {
	case 0:
		doc.set("/options", parseNode("[]"))
	case 1:
		doc.set("/free_text", parseOrText(g.pick([]string{
			`{"max_length":1}`, `{"max_length":2001}`, `{}`, `null`, `{"maxLength":5}`, `[]`,
		})))
	case 2:
		doc.set("/options", parseNode("[]"))
		doc.set("/free_text", parseNode(`{"max_length":2000}`))
	default:
		if i := doc.index("free_text"); i >= 0 {
			doc.remove(i)
		} else {
			return false
		}
	}
	return true
}

// optionIDs makes ids that are equal, or that only look equal.
func (g *mutator) optionIDs(doc *node) bool {
	options := doc.get("options")
	if options == nil || !options.isArray() || len(options.kids) < 2 {
		return false
	}
	i, j := g.IntN(len(options.kids)), g.IntN(len(options.kids))
	a, b := options.kids[i], options.kids[j]
	if !a.isObject() || !b.isObject() {
		return false
	}
	pairs := [][2]string{
		{`"same"`, `"same"`}, {`"same"`, `"\u0073ame"`}, {`"é"`, `"e\u0301"`}, {`"a"`, `"A"`}, {`"a"`, `"a "`},
		{`1`, `1.0`}, {`1`, `"1"`}, {`10`, `1e1`},
		{`0`, `-0`}, {`9007199254740992`, `9007199254740993`}, {`{"a":1,"b":[]}`, `{"b":[],"a":1.0}`},
		{`[1,2]`, `[2,1]`}, {`[1]`, `[1.0]`},
		{`null`, `null`}, {`null`, `false`}, {`true`, `true`}, {`""`, `""`}, {`"__proto__"`, `"__proto__"`},
		{`{}`, `[]`}, {`"1,2"`, `"1"`}, {`["a,b"]`, `["a","b"]`},
		{`"\u0000"`, `"\u0000"`}, {`"😀"`, `"\ud83d\ude00"`},
	}
	pair := pairs[g.IntN(len(pairs))]
	if g.IntN(2) == 0 {
		pair = pairs[g.IntN(2)]
	}
	a.set("/id", parseOrText(pair[0]))
	b.set("/id", parseOrText(pair[1]))
	return true
}

// makeTime composes a moment of parts that are each right or slightly wrong.
func (g *mutator) makeTime(doc *node) bool {
	year := []string{"2026", "2024", "2000", "1900", "0000", "0001", "9999", "2100", "0400"}
	sep := []string{"T", "T", "T", "T", "t", " ", "\u00a0", "_"}
	frac := []string{"", "", "", ".0", ".5", ".123456789", ".1234567890", ",5", "."}
	zone := []string{"Z", "Z", "Z", "z", "+00:00", "-00:00", "+14:00", "+23:59", "-24:00", "+0100", "+01", "", " Z"}
	text := fmt.Sprintf("%s-%02d-%02d%s%02d:%02d:%02d%s%s",
		g.pick(year), g.IntN(14), g.IntN(33), g.pick(sep), g.IntN(26), g.near60(), g.near60(), g.pick(frac), g.pick(zone))
	at := g.pick([]string{"/subject/expires_at", "/subject/expires_at", "/deadline/remind_at", "/deadline/escalate_at"})
	if strings.HasPrefix(at, "/deadline") && doc.isObject() && doc.get("deadline") == nil {
		doc.set("/deadline", parseNode("{}"))
	}
	return doc.set(at, &node{text: quote(text)})
}

func (g *mutator) near60() int { return []int{0, 1, 30, 58, 59, 60, 61}[g.IntN(7)] }

// makeNumber writes a number of random digits where an integer belongs.
func (g *mutator) makeNumber(doc *node) bool {
	var b strings.Builder
	if g.IntN(3) == 0 {
		b.WriteByte('-')
	}
	fmt.Fprint(&b, 1+g.IntN(9))
	for range g.IntN(34) {
		b.WriteByte(byte('0' + g.IntN(10)))
	}
	if g.IntN(2) == 0 {
		b.WriteByte('.')
		for range 1 + g.IntN(20) {
			b.WriteByte("000000000000009"[g.IntN(15)])
		}
	}
	if g.IntN(2) == 0 {
		fmt.Fprintf(&b, "e%d", g.IntN(70)-35)
	}
	at := g.pick([]string{
		"/schema_version", "/subject/revision", "/free_text/max_length", "/options/*/input/max_length", "/options/*/id",
	})
	return doc.set(g.where(doc, at), &node{text: b.String()})
}

// grow makes the document as large as it may be, give or take a byte.
func (g *mutator) grow(doc *node) bool {
	if !doc.isObject() {
		return false
	}
	room := 65536 - len(doc.bytes()) - len(`,"pad":""`) + g.IntN(3) - 1
	if room < 0 {
		return false
	}
	doc.insert(len(doc.kids), `"pad"`, &node{text: quote(strings.Repeat("p", room))})
	return true
}

// mutateBytes changes the bytes with no regard for JSON, and says how.
func (g *mutator) mutateBytes(raw []byte) ([]byte, string) {
	raw = slices.Clone(raw)
	at := g.IntN(len(raw) + 1)
	switch g.IntN(9) {
	case 0:
		if at < len(raw) {
			raw[at] ^= 1 << g.IntN(8)
		}
		return raw, "a bit flipped"
	case 1:
		return raw[:at], "cut short"
	case 2:
		return slices.Insert(raw, at, byte(g.IntN(256))), "a byte put in"
	case 3:
		if at < len(raw) {
			raw = slices.Delete(raw, at, at+1)
		}
		return raw, "a byte taken out"
	case 4:
		bad := g.pick([]string{
			"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf8\x88\x80\x80\x80",
			"\xed\xa0\xbd\xed\xb8\x80",
		})
		return slices.Insert(raw, g.inString(raw), []byte(bad)...), "invalid UTF-8"
	case 5:
		half := g.pick([]string{
			`\ud800`, `\uDFFF`, `\udc00\ud800`, `\ud800x`, `\ud800\ud800\udc00`, `\ud800\n`, `\uD83D\uDE00`, `\ud83d\\ude00`,
			`\ud83d\u0041`,
		})
		return slices.Insert(raw, g.inString(raw), []byte(half)...), "surrogates"
	case 6:
		front := g.pick([]string{"\ufeff", "\u00a0", " \t\r\n", "\v", "\xff\xfe", ",", "//\n", "\u2028"})
		return append([]byte(front), raw...), "something before"
	case 7:
		back := g.pick([]string{" ", "\n", "\x00", "{}", "}", "null", ",", "// end", "\ufeff", "\u00a0", "\x1a"})
		return append(raw, back...), "something behind"
	default:
		odd := g.pick([]string{`\x41`, `\'`, `\u12`, "\n", "\t", "\x00", "\x1f", "\x7f", `\/`, `\b\f`, `"`, `'`, `\`})
		return slices.Insert(raw, g.inString(raw), []byte(odd)...), "odd characters"
	}
}

// inString finds a place right behind a quotation mark, which is often the inside of a string.
func (g *mutator) inString(raw []byte) int {
	var places []int
	for i, c := range raw {
		if c == '"' {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return g.IntN(len(raw) + 1)
	}
	return places[g.IntN(len(places))]
}
