package schema_test

import (
	"fmt"
	"strings"
)

// mutatedField is a place of a question.v2 event and the JSON texts worth putting there.
type mutatedField struct {
	at     string
	values []string
}

// mutatedFields covers every property that the schema describes, with both sides of every limit. In a pointer, "*" is any item.
var mutatedFields = []mutatedField{
	{"/msgtype", words("m.text", "m.notice")},
	{"/body", join(anything, lengths(0, 65000), spaced("body"))},
	{"/suite_event_type", words("dev.superpipeline.question.v2", "dev.superpipeline.question.v1")},
	{"/schema_version", numbers(1)},
	{"/elicitation_id", join(anything, lengths(1, 512))},
	{"/board_id", anything},
	{"/card_id", join(anything, []string{`""`, `" "`, `"crd_1"`, `"\u0000"`, `"\u200b"`})},
	{"/run_id", join(anything, []string{`""`, `"run_1"`})},
	{"/stage_key", join(anything, []string{`""`, `"build"`})},
	{"/card_title", anything},
	{"/asked_by", anything},
	{"/question", join(anything, lengths(0, 4000))},
	{"/options", join(anything, counts(`{"id":"o%d","label":"Option","meaning":"choose","needs_comment":false}`, 0, 20))},
	{"/options/*", anything},
	{"/options/*/id", join(anything, lengths(1, 200))},
	{"/options/*/label", join(anything, lengths(0, 200))},
	{"/options/*/meaning", words("approve", "reject", "revise", "choose", "defer")},
	{"/options/*/needs_comment", anything},
	{"/options/*/scope", words("once", "run", "always")},
	{"/options/*/requires", words("workspace-admin", "workspace-owner")},
	{"/options/*/input", join(anything, []string{inputText})},
	{"/options/*/input/kind", words("text", "url")},
	{"/options/*/input/label", join(anything, lengths(0, 200))},
	{"/options/*/input/required", anything},
	{"/options/*/input/max_length", numbers(1, 4000)},
	{"/free_text", join(anything, []string{`{"max_length":2000}`})},
	{"/free_text/max_length", numbers(1, 2000)},
	{"/approval_request_id", join(anything, lengths(1, 512))},
	{"/deep_link", join(anything, urls)},
	{"/deadline", join(anything, []string{`{"remind_at":"2026-11-02T09:00Z"}`})},
	{"/deadline/remind_at", join(times, lengths(40))},
	{"/deadline/escalate_at", join(times, lengths(40))},
	{"/subject", anything},
	{"/subject/id", join(anything, lengths(1, 512))},
	{"/subject/digest", join(anything, lengths(1, 512))},
	{"/subject/schema", join(anything, lengths(1, 200), words("stk-capability/v1", "salaam-operation/v1"))},
	{"/subject/revision", numbers(0)},
	{"/subject/expires_at", join(times, lengths(200))},
	{"/subject/preview", join(anything, counts(`{"type":"text","text":"%d"}`, 0, 20))},
	{"/subject/preview/*", join(anything, previews)},
	{"/subject/preview/*/type", words("text", "field", "link", "image")},
	{"/subject/preview/0/label", join(anything, lengths(0, 200))},
	{"/subject/preview/0/text", join(anything, lengths(0, 4000))},
	{"/subject/preview/1/label", join(anything, lengths(0, 200))},
	{"/subject/preview/1/value", join(anything, lengths(0, 200))},
	{"/subject/preview/2/label", join(anything, lengths(0, 200))},
	{"/subject/preview/2/url", join(urls, urlLengths(4000))},
	{"/subject/preview_complete", anything},
}

const inputText = `{"kind":"text","label":"Why?","required":true,"max_length":500}`

var previews = []string{
	`{"type":"text","text":"What it does"}`,
	`{"type":"field","label":"File","value":"app.js"}`,
	`{"type":"link","label":"Diff","url":"https://example.org/d"}`,
}

// anything has one of each JSON type, and the values that parsers mistake for another.
var anything = []string{
	`null`, `true`, `false`, `0`, `1`, `-0`, `1.0`, `1.5`, `""`, `" "`, `"x"`, `"1"`, `"true"`, `"null"`, `[]`, `{}`, `[[]]`,
	`[null]`, `["x"]`, `{"":{}}`, `{"__proto__":{"type":"text"}}`, `{"constructor":1,"toString":2,"length":3,"valueOf":null}`,
}

// integers are spelled in every way a JSON number can be.
var integers = []string{
	`0`, `-0`, `0.0`, `-0.0`, `0e0`, `0e30`, `1`, `1.0`, `1e0`, `1E+0`, `1e-0`, `10e-1`, `0.1e1`, `1.5`, `0.5`,
	`-1`, `-1.0`, `2e3`, `20e2`,
	`9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740991`, `-9007199254740993`, `9007199254740993.0`,
	`1.0000000000000000000000000001`, `0.99999999999999999999`, `4000.0000000000000001`, `2000.00000000000000000001`,
	`1e30`, `1e31`, `1e-30`, `1e-31`, `1E+30`, `1E+31`, `1e030`, `1e0000000031`, `123456789e30`, `1e400`, `-1e400`, `1e-400`,
	`1e1000000`, `1e999999999999999999999`, `12345678901234567890123456789012`, `123456789012345678901234567890123`,
	`1.000000000000000000000000000000`, `1.0000000000000000000000000000000`, `0.0000000000000000000000000000001`,
	`01`, `1.`, `.5`, `+1`, `0x10`, `1e`, `NaN`, `Infinity`, `1_000`, "\u0661",
}

func numbers(limits ...int) []string {
	values := join(anything, integers)
	for _, n := range limits {
		for _, near := range []int{n - 1, n, n + 1} {
			for _, spelling := range []string{"%d", "%d.0", "%d0e-1", "%d.5", `"%d"`} {
				values = append(values, fmt.Sprintf(spelling, near))
			}
		}
	}
	return values
}

// lengths has strings on both sides of each limit, of characters that take one, two and four bytes, two UTF-16 units, a
// surrogate pair's escape, and a base letter with its accent apart.
func lengths(limits ...int) []string {
	var values []string
	for _, limit := range limits {
		for _, n := range []int{limit - 1, limit, limit + 1} {
			for _, unit := range []string{"a", "é", "😀", `\ud83d\ude00`, "👩‍💻", "e\u0301", `\u0000`} {
				size := len([]rune(unquote(quote1(unit))))
				if n < 0 || n*len(unit)/size > 60000 {
					continue
				}
				values = append(values, quote1(strings.Repeat("b", n%size)+strings.Repeat(unit, n/size)))
			}
		}
	}
	return values
}

func urlLengths(limit int) []string {
	var values []string
	for _, text := range lengths(limit) {
		const scheme = "https://"
		if rest := []rune(unquote(text)); len(rest) > len(scheme) {
			values = append(values, quote(scheme+string(rest[len(scheme):])))
		}
	}
	return values
}

// quote1 puts quotes round text whose escapes are already written.
func quote1(text string) string { return `"` + text + `"` }

// counts has lists on both sides of each limit; item has a %d for its number.
func counts(item string, limits ...int) []string {
	var values []string
	for _, limit := range limits {
		for _, n := range []int{limit - 1, limit, limit + 1} {
			if n < 0 {
				continue
			}
			items := make([]string, n)
			for i := range items {
				items[i] = fmt.Sprintf(item, i)
			}
			values = append(values, "["+strings.Join(items, ",")+"]")
		}
	}
	return values
}

// words has each allowed word and its neighbours.
func words(allowed ...string) []string {
	values := append([]string(nil), anything...)
	for _, w := range allowed {
		for _, near := range []string{
			w, strings.ToUpper(w), strings.ToUpper(w[:1]) + w[1:], w + "s", w + " ", " " + w, w + "\n", w[1:], w[:len(w)-1],
			strings.ReplaceAll(w, "s", "\u017f"), strings.ReplaceAll(w, "e", "\u0435"), w + "\u0000", w + "\ufeff", w + "\u0301",
		} {
			values = append(values, quote(near))
		}
		values = append(values, quote1(escaped(w)), "["+quote(w)+"]")
	}
	return values
}

// escaped spells every character of a string as a \u escape.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// spaces are ECMA-262's white space and line terminators, and characters that others call white space.
var spaces = []string{
	"\t", "\n", "\v", "\f", "\r", " ", "\u00a0", "\u1680", "\u2000", "\u2003", "\u200a", "\u2028", "\u2029",
	"\u202f", "\u205f", "\u3000", "\ufeff",
	"\u0085", "\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\u001c", "\u001f", "\u0000", "\u2007", "\u00ad",
	"\ufffe", "\ufffd",
}

func spaced(text string) []string {
	var values []string
	for _, s := range spaces {
		values = append(values, quote(s), quote(text+s), quote(s+text), quote(text[:2]+s+text[2:]))
	}
	return values
}

var urls = join(anything, spaced("https://example.org/a"), spaced("https://"), quoted(
	"https://example.org", "http://a", "https://", "http://", "HTTPS://example.org", "hTTp://a", "http\u017f://a",
	"https:/a", "https:a", "//a", "ftp://a", "httpss://a",
	"javascript:alert(1)", "xhttps://a", "https://a<b", "https://a>b", "https://<", `https://a"b`, "https://😀",
	"https://\U0010ffff", "https://é",
	"https://a b", "https://a\u0301", "https://a#%00", "https://[::1]", "https://a/(b)", "https://a\nhttps://b",
	"x\nhttps://b", "https://a|b`c\\d",
))

// times is how people and programs write a moment.
var times = join(anything, spaced("2026-11-07T10:30:00Z"), quoted(
	"2026-11-07T10:30:00Z", "2026-11-07T10:30:00.000Z", "2026-11-07T10:30Z", "2026-11-07T10:30:00", "2026-11-07",
	"2026-11-07T", "10:30:00Z", "",
	"2026-11-07t10:30:00Z", "2026-11-07T10:30:00z", "2026-11-07t10:30:00z", "2026-11-07 10:30:00Z",
	"2026-11-07_10:30:00Z", "2026-11-07\u202810:30:00Z",
	"2026-11-07T10:30:00+01:30", "2026-11-07T10:30:00-23:59", "2026-11-07T10:30:00+24:00",
	"2026-11-07T10:30:00+00:60", "2026-11-07T10:30:00-00:00",
	"2026-11-07T10:30:00+0130", "2026-11-07T10:30:00+01", "2026-11-07T10:30:00+1:30", "2026-11-07T+1:30:00Z",
	"2026-11-07T10:30:00\u221201:00", "2026-11-07T10:30:00UTC",
	"2026-11-07T10:30:00 Z", "2026-11-07T10:30:00Z\n", "\n2026-11-07T10:30:00Z", "2026-11-07T10:30:00ZZ",
	"2026-11-07T10:30:00ZT",
	"2026-12-31T23:59:60Z", "2026-06-30T23:59:60Z", "2026-12-31T23:59:61Z", "2026-12-31T22:59:60Z",
	"2026-12-31T22:59:60-01:00", "2026-12-31T15:59:60-08:00", "2026-12-31T23:59:60.5Z",
	"2026-11-07T24:00:00Z", "2026-11-07T23:60:00Z", "2026-11-07T23:59:59Z", "2026-11-07T25:00:00Z", "2026-11-07T00:00:00Z",
	"2026-02-28T00:00:00Z", "2026-02-29T00:00:00Z", "2026-02-30T00:00:00Z", "2024-02-29T00:00:00Z",
	"2000-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
	"2400-02-29T00:00:00Z", "0000-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "0004-02-29T00:00:00Z",
	"0100-02-29T00:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
	"-001-01-01T00:00:00Z", "+2026-01-01T00:00:00Z",
	"2026-04-30T00:00:00Z", "2026-04-31T00:00:00Z", "2026-06-31T00:00:00Z", "2026-09-31T00:00:00Z",
	"2026-11-31T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-00T00:00:00Z", "2026-00-01T00:00:00Z",
	"2026-13-01T00:00:00Z",
	"2026-11-07T10:30:00.1Z", "2026-11-07T10:30:00.123456789Z", "2026-11-07T10:30:00.1234567891Z",
	"2026-11-07T10:30:00.12345678901234567890Z", "2026-11-07T10:30:00.Z", "2026-11-07T10:30:00,5Z", "2026-11-07T10:30.5Z",
	"2026-11-07T10:30:00."+strings.Repeat("1", 179)+"Z", "2026-11-07T10:30:00."+strings.Repeat("1", 180)+"Z",
	"2026-11-07T10:30:00.123456789+01:00", "2026-11-07T10:30:00.1234567890123456789012Z",
	"\uff12\uff10\uff12\uff16-11-07T10:30:00Z", "2026-11-07T10:30:0\u0660Z", "2026-11-07T10:30:00.\u0663Z", "2026-13-45T99:99Z",
	"2026-11-7T10:30:00Z", "26-11-07T10:30:00Z", "2026-1107T10:30:00Z", "20261107T103000Z", "2026-W45-6T10:30:00Z",
	"2026-311T10:30:00Z",
	"7 November 2026", "now", "1793788200",
))

func quoted(texts ...string) []string {
	values := make([]string, len(texts))
	for i, s := range texts {
		values[i] = quote(s)
	}
	return values
}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
