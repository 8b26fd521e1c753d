package queue

import (
	"slices"
	"strings"

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
// then what [bridge.Match] reads as exactly one option; then the one option whose label equals the reply but for
// punctuation. Numbers are read before punctuation is taken away: "1.5" is not 15. (Question Queue, "Answer recognition".)
func Recognize(options []Option, reply string) Recognition {
	if IsDeflection(reply) {
		return Deflected{}
	}
	switch m := bridge.Match(labelled(options), reply).(type) {
	case bridge.OneMatch:
		return Chosen{m.Index}
	case bridge.Ambiguous, bridge.OutOfRange:
		return Unrecognized{}
	}
	said, chosen := normalized(reply), -1
	for i, o := range options {
		if said == "" || normalized(o.Label) != said {
			continue
		}
		if chosen >= 0 {
			return Unrecognized{}
		}
		chosen = i
	}
	if chosen < 0 {
		return Unrecognized{}
	}
	return Chosen{chosen}
}

func labelled(options []Option) []bridge.Option {
	out := make([]bridge.Option, len(options))
	for i, o := range options {
		out[i].Label = o.Label // an empty id names nothing
	}
	return out
}

// IsDeflection says whether a text, normalized, declines to answer.
func IsDeflection(text string) bool { return deflections[normalized(text)] }

// normalized is a text in lower case without ASCII punctuation, its white space collapsed.
func normalized(text string) string {
	bare := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r) {
			return -1
		}
		return r
	}, bridge.Fold(strings.ReplaceAll(text, "’", "'")))
	return strings.Join(strings.Fields(bare), " ")
}

// Deflections are the replies that decline to answer, in the order of the document's public implementation.
var Deflections = []string{
	"skip", "pass", "next", "not sure", "unsure", "no idea", "dunno", "i don't know", "don't know", "idk", "rather not say",
	"i'd rather not say", "i'd rather not", "prefer not to say", "no comment", "never mind", "nevermind", "ask me later",
	"later", "not now",
}

var deflections = func() map[string]bool {
	set := map[string]bool{}
	for phrase := range slices.Values(Deflections) {
		set[normalized(phrase)] = true
	}
	return set
}()
