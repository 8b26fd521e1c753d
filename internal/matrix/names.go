package matrix

import (
	"strings"
	"unicode"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// personName names somebody for everybody: by their display name and their Matrix id, which nobody else can take.
func personName(r bridge.Responder) string {
	if name := schema.ShownLine(r.DisplayName); strings.TrimSpace(name) != "" {
		return name + " (" + string(r.ID) + ")"
	}
	return string(r.ID)
}

// shortName names somebody to the people in a room: by their display name alone where that can be taken for nobody
// else's there.
func (v view) shortName(r bridge.Responder) string {
	if !plainName(r.DisplayName) {
		return personName(r)
	}
	like := looks(r.DisplayName)
	for who, m := range v.members {
		if who != r.ID && (looks(m.displayName) == like || looks(localpart(who)) == like) {
			return personName(r)
		}
	}
	return r.DisplayName
}

// lookalikes are scripts with letters that are drawn like Latin ones.
var lookalikes = []*unicode.RangeTable{
	unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Deseret, unicode.Osage,
}

// longestName is how much of a display name a sentence repeats.
const longestName = 60

// plainName is true of a name that reads as nothing but a name: words of letters and digits, in letters that are not
// drawn like those of another script.
func plainName(name string) bool {
	letters := 0
	for _, r := range name {
		switch {
		case unicode.In(r, lookalikes...):
			return false
		case unicode.IsLetter(r):
			letters++
		case !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .-'’", r):
			return false
		}
	}
	return letters > 0 && len([]rune(name)) <= longestName && schema.ShownLine(name) == name
}

// looks gives names the same form that are easily taken for each other.
func looks(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("i1|!ıǀ", r):
			return 'l'
		case r == '0':
			return 'o'
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1
	}, bridge.Fold(name))
}

func localpart(who bridge.UserID) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(string(who), "@"), ":")
	return name
}
