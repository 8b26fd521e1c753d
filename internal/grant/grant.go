// Package grant keeps the grants that approving answers give (question.v2, an option's scope): which there are, and who
// took one back. The bridge never answers a question from a grant. What it covers is for its sender to say and to
// enforce, who reads here whether it still stands.
package grant

import (
	"crypto/rand"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// ID names a grant, to people too: they type it. It never changes, whatever else there is.
type ID string

// idLetters leaves out what is taken for something else: 0 and o, 1, i and l.
const idLetters = "23456789abcdefghjkmnpqrstuvwxyz"

const idPrefix, idLength = "g", 5

// newID makes an id: "g" and five characters. It may be taken already.
func newID() ID {
	var b strings.Builder
	b.WriteString(idPrefix)
	var random [1]byte
	for b.Len() < len(idPrefix)+idLength {
		_, _ = rand.Read(random[:])
		if n := int(random[0]); n < 256/len(idLetters)*len(idLetters) { // so that each is as likely
			b.WriteByte(idLetters[n%len(idLetters)])
		}
	}
	return ID(b.String())
}

// ParseID reads an id as somebody typed it; ok is false for what can be none.
func ParseID(typed string) (id ID, ok bool) {
	id = ID(strings.ToLower(typed))
	rest, ok := strings.CutPrefix(string(id), idPrefix)
	return id, ok && len(rest) == idLength && strings.Trim(rest, idLetters) == ""
}

// State says whether a grant stands.
type State string

// The states.
const (
	Active  State = "active"
	Revoked State = "revoked"
	Lapsed  State = "lapsed" // its Until has come
)

// Grant is what one answer granted, for longer than once.
type Grant struct {
	bridge.Granted
	ID        ID
	Question  bridge.Question // whose answer gave it
	RevokedAt *time.Time
	RevokedBy bridge.UserID // "" while nobody has
}

// State is how the grant stands at a time. What was revoked before it lapsed stays revoked.
func (g Grant) State(now time.Time) State {
	switch {
	case g.RevokedAt != nil:
		return Revoked
	case g.Until != nil && !now.Before(*g.Until):
		return Lapsed
	}
	return Active
}

// Place is where the grant stands in a list, which is newest first.
func (g Grant) Place() bridge.Place {
	return bridge.Place{CreatedAt: g.At, ID: bridge.QuestionID(g.ID)}
}

// Retention is how long a grant is kept, with its question, after it lapsed or was revoked. One of run goes with its
// question, which is kept 90 days after it was asked: no run is longer. One of always that never lapses stays.
const Retention = 90 * 24 * time.Hour

// Never is when a question may be forgotten that stays. Its year has four digits, as every time that is written.
var Never = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// keptUntil is when the question of a grant may be forgotten.
func (g Grant) keptUntil() time.Time {
	end := g.RevokedAt
	if end == nil {
		end = g.Until
	}
	switch {
	case end != nil:
		return end.Add(Retention)
	case g.Granted.Grant == bridge.GrantAlways:
		return Never
	}
	return g.Question.ForgetAfter
}
