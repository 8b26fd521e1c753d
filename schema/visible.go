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
		return i == 0 || unicode.IsSpace(runes[i-1]) || unicode.Is(unicode.Variation_Selector, runes[i-1]) || isHidden(runes[i-1])
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
	isPictograph := func(r rune) bool { return unicode.Is(unicode.So, r) && r != '\u2800' }
	skinTone := before >= 0x1f3fb && before <= 0x1f3ff
	joinsEmoji := before == '\ufe0f' && i >= 2 && isPictograph(runes[i-2]) || isPictograph(before) || skinTone
	return runes[i] == '\u200d' && joinsEmoji && (isPictograph(after) || after == '\u2640' || after == '\u2642')
}
