package bridge

import (
	"slices"
	"strconv"
	"strings"
)

// Matched is which option a reply names: one of [NoMatch], [OneMatch], [Ambiguous] and [OutOfRange].
type Matched interface{ matched() }

// NoMatch is talk: the text is no option.
type NoMatch struct{}

// OneMatch names exactly one option. Rest is what was typed behind it, for an option that takes a comment or an input;
// nil when the reply was the option alone.
type OneMatch struct {
	Index int
	Rest  *string
}

// Ambiguous names several options.
type Ambiguous struct{ Indexes []int }

// OutOfRange is a lone number that no option has.
type OutOfRange struct{ Number string }

func (NoMatch) matched()    {}
func (OneMatch) matched()   {}
func (Ambiguous) matched()  {}
func (OutOfRange) matched() {}

// maxReply bounds what is compared with options: no label, number and separator together are longer.
const maxReply = 4000

// Match says which of the options a reply names. The whole text must equal an option's number (from 1, optionally
// followed by one of ". ) :"), its label, its id, or number and label together where they agree; all compared as [Fold]
// leaves them, one trailing "." aside unless a label ends in one. "yes", "ok" and numbers inside a sentence are no
// answers. (DESIGN "What a reply means"; field cases A22, B6, B14, B15.)
func Match(options []Option, text string) Matched {
	names := namesOf(options)
	whole := Fold(text)
	if whole == "" || len(text) > maxReply*4 {
		return NoMatch{}
	}
	if found := names.whole(whole); len(found) > 0 {
		return named(found, nil)
	}
	if found, rest := names.withRest(options, text); len(found) > 0 {
		return named(found, &rest)
	}
	if n, ok := loneNumber(whole); ok {
		return OutOfRange{n}
	}
	return NoMatch{}
}

func named(found []int, rest *string) Matched {
	if len(found) > 1 {
		return Ambiguous{found}
	}
	return OneMatch{found[0], rest}
}

// optionNames is the folded label and id of each option.
type optionNames struct {
	labels, ids []string
	dotted      bool // a label ends in "."
}

func namesOf(options []Option) optionNames {
	n := optionNames{make([]string, len(options)), make([]string, len(options)), false}
	for i, o := range options {
		n.labels[i], n.ids[i] = Fold(o.Label), Fold(string(o.ID))
		n.dotted = n.dotted || strings.HasSuffix(n.labels[i], ".")
	}
	return n
}

// whole gives every option that the folded text names, in order. A number with another option's label names both.
func (n optionNames) whole(text string) []int {
	if t, ok := strings.CutSuffix(text, "."); ok && !n.dotted {
		text = strings.TrimSuffix(t, " ")
	}
	if text == "" {
		return nil
	}
	numbered, label := -1, ""
	if number, rest, ok := splitNumber(text); ok {
		numbered, label = n.index(number), rest
	}
	var found []int
	for i := range n.labels {
		byName := text == n.labels[i] || text == n.ids[i]
		byNumber := i == numbered && (label == "" || slices.Contains(n.labels, label))
		byLabel := numbered >= 0 && label != "" && label == n.labels[i]
		if byName || byNumber || byLabel {
			found = append(found, i)
		}
	}
	return found
}

// index is the option with the number, or -1. A number is written as we print it, without leading zeros.
func (n optionNames) index(number string) int {
	for i := range n.labels {
		if number == strconv.Itoa(i+1) {
			return i
		}
	}
	return -1
}

// splitNumber takes a leading number off: "2", "2.", "2) skip them", "2 skip them".
func splitNumber(text string) (number, label string, ok bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == 0 {
		return "", "", false
	}
	number, label = text[:end], text[end:]
	if label != "" && strings.ContainsRune(".):", rune(label[0])) {
		label = label[1:]
	} else if label != "" && label[0] != ' ' {
		return "", "", false // "2nd"
	}
	return number, strings.TrimSpace(label), true
}

func loneNumber(text string) (string, bool) {
	number, label, ok := splitNumber(strings.TrimSuffix(text, "."))
	return number, ok && label == ""
}

// withRest finds an option that takes a comment or an input with one typed behind it: directly after the number, label
// or id stands ":", ")", "." or a line break, never a bare space. The longest name wins, so a label may hold a colon.
func (n optionNames) withRest(options []Option, text string) ([]int, string) {
	for i := len(text) - 1; i > 0; i-- {
		if !strings.ContainsRune(":).\n", rune(text[i])) {
			continue
		}
		rest := strings.TrimSpace(text[i+1:])
		if rest == "" {
			continue
		}
		name := Fold(text[:i])
		if name == "" || strings.HasSuffix(text[:i], " ") {
			continue
		}
		var found []int
		for j, o := range options {
			takes := o.NeedsComment || o.Input != nil
			if takes && (name == n.labels[j] || name == n.ids[j] || name == strconv.Itoa(j+1)) {
				found = append(found, j)
			}
		}
		if len(found) > 0 {
			return found, rest
		}
	}
	return nil, ""
}
