package bridge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Fold brings what a person typed and what they were shown to one form: canonical composition, width and case folded,
// format characters and variation selectors dropped, decimal digits of any script and keycaps as ASCII digits, white
// space collapsed. It never uses compatibility composition: ² is not 2.
func Fold(s string) string {
	if isASCII(s) {
		s = strings.ToLower(s) // which is all that the lines below would do to it
	} else {
		s = strings.Map(visible, s) // first: what they hold apart is composed
		s = norm.NFC.String(width.Fold.String(norm.NFC.String(s)))
		s = norm.NFC.String(cases.Fold().String(s))
	}
	var b strings.Builder
	space, digit := false, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			digit = false
			continue
		case r == keycap && digit: // and another one behind it, or the fold would not be for good
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if unicode.Is(unicode.Cherokee, r) {
			r = unicode.ToUpper(r) // its large letters are the folded ones; x/text takes each for the other
		}
		d, ok := decimal(r)
		digit = ok
		if ok {
			b.WriteByte(byte('0' + d))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// visible drops format characters and variation selectors.
func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
		return -1
	}
	return r
}

const keycap = '\u20e3'

// decimal gives the value of a decimal digit of any script. Unicode lays every set of ten out in order from its zero.
func decimal(r rune) (int, bool) {
	if r >= '0' && r <= '9' {
		return int(r - '0'), true
	}
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return int(r-rune(t.Lo)) % 10, true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return int(r-rune(t.Lo)) % 10, true
		}
	}
	return 0, false
}
