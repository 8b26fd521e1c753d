package bridge

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Why a rationed question was cancelled.
const (
	ReasonCooled    = "cooled"   // its reply named no option
	ReasonElsewhere = "answered" // outside of the room
	ReasonIgnored   = "ignored"  // nobody replied in time
	ReasonGone      = "expired"  // it is about something that is no more
)

// Named says which option a direct reply to a rationed question names, by its place from 0. A deflection goes first, so
// that a reply which is no answer never counts as one; then what [Match] reads as exactly one option, as everywhere; then
// the one option whose label or number equals the reply but for punctuation. ok is false for everything else, also for a
// reply that names several options. (Question Queue, "Answer recognition".)
func Named(options []Option, reply string) (index int, ok bool) {
	if Deflects(reply) {
		return 0, false
	}
	switch m := Match(options, reply).(type) {
	case OneMatch:
		return m.Index, true
	case Ambiguous:
		return 0, false
	}
	said, named := Plain(reply), -1
	for i, o := range options {
		if said == "" || said != Plain(o.Label) && said != strconv.Itoa(i+1) {
			continue
		}
		if named >= 0 {
			return 0, false
		}
		named = i
	}
	return max(named, 0), named >= 0
}

// Plain is a text in lower case without ASCII punctuation, its white space collapsed. What belongs to a number stays,
// since 1.5 is not 15 and -1 is not 1. (Question Queue, "Answer recognition".)
func Plain(text string) string {
	text = Fold(strings.ReplaceAll(text, "’", "'"))
	var b strings.Builder
	before := ' '
	for i, r := range text {
		if !isPunctuation(r) || ofNumber(before, r, text[i+1:]) {
			b.WriteRune(r)
		}
		before = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func isPunctuation(r rune) bool {
	return strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r)
}

// ofNumber says whether a punctuation mark belongs to the number behind it: it stands between two digits, or is a sign or
// point in front of one and part of no word.
func ofNumber(before, mark rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return isDigit(next) && (isDigit(before) || strings.ContainsRune("+-.,", mark) && !unicode.IsLetter(before))
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' } // the fold leaves no others

// Deflects says whether a text is a phrase that declines to answer, which no option of a rationed question may be called.
// (Question Queue, "Answer recognition".)
func Deflects(text string) bool { return deflections[Plain(text)] }

// deflections are the replies that decline to answer, as [Plain] leaves them.
var deflections = func() map[string]bool {
	set := map[string]bool{}
	for _, phrase := range []string{
		"skip", "pass", "next", "not sure", "unsure", "no idea", "dunno", "i don't know", "don't know", "idk", "rather not say",
		"i'd rather not say", "i'd rather not", "prefer not to say", "no comment", "never mind", "nevermind", "ask me later",
		"later", "not now",
	} {
		set[Plain(phrase)] = true
	}
	return set
}()
