package schema

import (
	"fmt"
	"strings"
	"unicode"
)

// shownLine makes outside text fit for one line of a body: line breaks and control characters collapse to one space,
// and vanish at the ends, so a label cannot make a line of its own; characters that cannot be seen are written out.
func shownLine(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if isBreak(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	return writeHidden(b.String())
}

// shownText makes outside text of several lines fit for a body. It is printed as it is, but for characters that cannot
// be seen and control characters, which are written out. The text that is stored and digested is never changed.
func shownText(s string) string { return writeHidden(s) }

func isBreak(r rune) bool { return unicode.Is(unicode.Cc, r) || r == '\u2028' || r == '\u2029' }

func hasBreak(s string) bool { return strings.ContainsFunc(s, isBreak) }

// isBlank says whether text shows nothing at all.
func isBlank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !isBreak(r) && !isHidden(r) && !unicode.Is(unicode.Variation_Selector, r) {
			return false
		}
	}
	return true
}

// writeHidden writes each character that cannot be seen, or that turns the direction of the text around it, as
// \u{202E}.
func writeHidden(s string) string {
	clean := true
	for _, r := range s {
		if r < ' ' || r >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if mustWriteOut(runes, i) {
			fmt.Fprintf(&b, `\u{%X}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func mustWriteOut(runes []rune, i int) bool {
	r := runes[i]
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\r':
		return i+1 == len(runes) || runes[i+1] != '\n'
	case isBreak(r):
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return !selects(runes, i)
	case r == '\u200c' || r == '\u200d':
		return !joins(runes, i)
	default:
		return isHidden(r)
	}
}

// isHidden says whether a character is drawn as nothing or steers the text around it: format characters, bidirectional
// controls, fillers. The few format characters that are drawn are not hidden.
func isHidden(r rune) bool {
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800'
}

// joinerScripts are the scripts whose spelling uses the zero-width joiner and non-joiner.
var joinerScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// joins says whether the zero-width joiner at i does what it is for: spell a word of such a script, or make one emoji of
// several.
func joins(runes []rune, i int) bool {
	if i == 0 || i+1 == len(runes) {
		return false
	}
	before, after := runes[i-1], runes[i+1]
	if unicode.In(before, joinerScripts...) && unicode.In(after, joinerScripts...) {
		return true
	}
	skinTone := before >= 0x1f3fb && before <= 0x1f3ff
	joinsEmoji := before == emojiStyle && i >= 2 && isEmoji(runes[i-2]) || isEmoji(before) || skinTone
	return runes[i] == '\u200d' && joinsEmoji && isEmoji(after)
}

const (
	textStyle  = '\ufe0e'
	emojiStyle = '\ufe0f'
)

// selects says whether the variation selector at i does what it is for: choose how an emoji, a keycap or a Han
// character is drawn. Anywhere else it is a hidden mark.
func selects(runes []rune, i int) bool {
	if i == 0 {
		return false
	}
	base := runes[i-1]
	if runes[i] != textStyle && runes[i] != emojiStyle {
		return unicode.Is(unicode.Han, base)
	}
	isKeycap := i+1 < len(runes) && runes[i+1] == '\u20e3' && strings.ContainsRune("0123456789#*", base)
	return isEmoji(base) || isKeycap
}

// isEmoji says whether a character is drawn as a picture, roughly: the symbols of the blocks that hold emoji.
func isEmoji(r rune) bool {
	switch {
	case r == '\u203c' || r == '\u2049' || r == '\u3030' || r == '\u303d' || r == '\u00a9' || r == '\u00ae':
		return true
	case r >= 0x2100 && r <= 0x214f, r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x2460 && r <= 0x24ff,
		r >= 0x25a0 && r <= 0x27bf, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff, r >= 0x3200 && r <= 0x32ff, r >= 0x1f000:
		return unicode.In(r, unicode.So, unicode.Sm)
	}
	return false
}
