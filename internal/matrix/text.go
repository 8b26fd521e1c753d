package matrix

import (
	"html"
	"net/url"
	"regexp"
	"strings"
)

// spoken is the text of a message as its sender meant it: without the quote of the message it replies to, and without a
// leading mention of us. The quote comes off first: with it in front, the mention does not lead. (Field cases A1, A8.)
func spoken(content object, bot string, quoted bool) string {
	body, _ := content.text("body")
	formatted := ""
	if content.string("format") == "org.matrix.custom.html" {
		formatted, _ = content.text("formatted_body")
	}
	if quoted {
		body = withoutQuote(body)
		formatted = replyMarkup.ReplaceAllLiteralString(formatted, "")
	}
	return withoutMention(strings.TrimSpace(body), formatted, bot)
}

// withoutQuote takes off the leading run of "> " lines and the one empty line behind it. A body that is nothing but a
// quote is empty.
func withoutQuote(body string) string {
	body = strings.ReplaceAll(body, "\r\n", "\n")
	if !isQuote(body) {
		return body
	}
	for body != "" && isQuote(body) {
		_, body, _ = strings.Cut(body, "\n")
	}
	return strings.TrimPrefix(body, "\n")
}

func isQuote(body string) bool {
	line, _, _ := strings.Cut(body, "\n")
	return line == ">" || strings.HasPrefix(line, "> ")
}

var (
	replyMarkup = regexp.MustCompile(`(?s)^\s*<mx-reply>.*?</mx-reply>\s*`)
	leadingLink = regexp.MustCompile(`(?s)^\s*(?:<p>\s*)?<a\s[^>]*?href=(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)</a>`)
	anyTag      = regexp.MustCompile(`<[^>]*>`)
)

// withoutMention takes a mention of the bot off the front: its user id, or the text of its pill, which the HTML gives
// exactly. Anybody else's mention stays, and so does a name that is no mention.
func withoutMention(body, formatted, bot string) string {
	if rest, ok := strings.CutPrefix(body, bot); ok {
		if rest, ok := behindMention(rest, true); ok {
			return rest
		}
	}
	m := leadingLink.FindStringSubmatch(formatted)
	if m == nil || !linksTo(html.UnescapeString(m[1]+m[2]), bot) {
		return body
	}
	pill := strings.TrimSpace(html.UnescapeString(anyTag.ReplaceAllString(m[3], "")))
	for _, name := range []string{pill, "@" + pill, bot} {
		if rest, ok := strings.CutPrefix(body, name); ok && pill != "" {
			if rest, ok := behindMention(rest, false); ok {
				return rest
			}
		}
	}
	return body
}

// behindMention takes off what people and clients put behind a name. A user id goes on after a colon when a port
// follows, so the colon behind one needs a space.
func behindMention(rest string, isID bool) (string, bool) {
	if rest == "" {
		return "", true
	}
	trimmed := strings.TrimLeft(rest, ":, \t\n\u00a0")
	if strings.HasPrefix(rest, ":") && isID && trimmed == rest[1:] && trimmed != "" {
		return "", false
	}
	return strings.TrimSpace(trimmed), trimmed != rest
}

func linksTo(href, user string) bool {
	for _, prefix := range []string{"https://matrix.to/#/", "http://matrix.to/#/"} {
		if target, ok := strings.CutPrefix(href, prefix); ok {
			target, _, _ = strings.Cut(target, "?")
			plain, err := url.PathUnescape(target)
			return err == nil && plain == user
		}
	}
	target, ok := strings.CutPrefix(href, "matrix:u/")
	target, _, _ = strings.Cut(target, "?")
	plain, err := url.PathUnescape(target)
	return ok && err == nil && "@"+plain == user
}
