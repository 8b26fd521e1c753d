package queue

import (
	"regexp"
	"slices"
	"strings"
)

var cueToken = regexp.MustCompile(`[a-z0-9]{3,}`)

// CueTokens gives what a question is recognized as relevant by: runs of three or more ASCII letters and digits of the
// texts in lower case, without stop words, sorted, each once; never nil. (Question Queue, "Data model", cue_tokens.)
func CueTokens(texts ...string) []string {
	tokens := []string{}
	for _, text := range texts {
		for _, token := range cueToken.FindAllString(strings.ToLower(text), -1) {
			if !stopWords[token] {
				tokens = append(tokens, token)
			}
		}
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// Relevant says whether a candidate shares a token with what the turn is about. Nil cues turn the question off: then
// everything is. Cues without any token match nothing. (Question Queue, "Relevance timing".)
func (c Candidate) Relevant(cues []string) bool {
	return cues == nil || slices.ContainsFunc(cues, func(cue string) bool {
		_, found := slices.BinarySearch(c.CueTokens, cue)
		return found
	})
}

// stopWords are words of three letters or more that say nothing about what a question is about; the last line has those
// that our own producers write into every question.
var stopWords = func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(`
		about above after again against all and any are because been before being below between both but can could did
		does doing down during each few for from further had has have having her here hers herself him himself his how
		into its itself just more most myself nor not now off once only other our ours ourselves out over own same she
		should some such than that the their theirs them themselves then there these they this those through too under
		until very was were what when where which while who whom why will with would you your yours yourself yourselves
		fit know option right still sure things together two yes`) {
		words[word] = true
	}
	return words
}()
