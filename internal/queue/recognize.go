package queue

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
)

// Recognition is what a reply to a candidate is: one of [Chosen], [Deflected] and [Unrecognized].
type Recognition interface{ recognition() }

// Chosen names exactly one option, by its place from 0.
type Chosen struct{ Option int }

// Deflected declines to answer ("not sure").
type Deflected struct{}

// Unrecognized is anything else, also a reply that names several options.
type Unrecognized struct{}

func (Chosen) recognition()       {}
func (Deflected) recognition()    {}
func (Unrecognized) recognition() {}

// Recognize says what a reply means. A deflection goes first, so that a reply which is no answer never counts as one;
// then what [bridge.Match] reads as exactly one option, as everywhere; then the one option whose label or number equals
// the reply but for punctuation. (Question Queue, "Answer recognition".)
func Recognize(options []Option, reply string) Recognition {
	if Deflects(reply) {
		return Deflected{}
	}
	switch m := bridge.Match(labelled(options), reply).(type) {
	case bridge.OneMatch:
		return Chosen{m.Index}
	case bridge.Ambiguous:
		return Unrecognized{}
	}
	said, named := normalized(reply), -1
	for i, o := range options {
		if said == "" || said != normalized(o.Label) && said != strconv.Itoa(i+1) {
			continue
		}
		if named >= 0 {
			return Unrecognized{}
		}
		named = i
	}
	if named < 0 {
		return Unrecognized{}
	}
	return Chosen{named}
}

func labelled(options []Option) []bridge.Option {
	out := make([]bridge.Option, len(options))
	for i, o := range options {
		out[i].Label = o.Label // an empty id names nothing
	}
	return out
}

// SameText is what two question texts are compared by: case, punctuation and white space do not count.
func SameText(text string) string { return normalized(text) }

// normalized is a text in lower case without ASCII punctuation, its white space collapsed. What belongs to a number stays,
// since 1.5 is not 15 and -1 is not 1. (Question Queue, "Answer recognition".)
func normalized(text string) string {
	text = bridge.Fold(strings.ReplaceAll(text, "’", "'"))
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

// Deflects says whether a text is a phrase that declines to answer, which no option may be called.
func Deflects(text string) bool { return deflections[normalized(text)] }

// deflections are the replies that decline to answer, normalized.
var deflections = func() map[string]bool {
	set := map[string]bool{}
	for _, phrase := range []string{
		"skip", "pass", "next", "not sure", "unsure", "no idea", "dunno", "i don't know", "don't know", "idk", "rather not say",
		"i'd rather not say", "i'd rather not", "prefer not to say", "no comment", "never mind", "nevermind", "ask me later",
		"later", "not now",
	} {
		set[normalized(phrase)] = true
	}
	return set
}()
