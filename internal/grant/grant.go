// Package grant keeps the grants that approving answers give (question.v2, an option's scope): which there are, and who
// took one back. The bridge never answers a question from a grant. What it covers is for its sender to say and to
// enforce, who reads here whether it still stands.
package grant

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/shortid"
)

// ID names a grant, to people too: they type it. It never changes, whatever else there is.
type ID string

const idPrefix = 'g'

// newID makes one, "g" and five characters, which may be taken already.
func newID() ID { return ID(shortid.New(idPrefix)) }

// ParseID reads an id as somebody typed it; ok is false for what can be none.
func ParseID(typed string) (ID, bool) {
	id, ok := shortid.Parse(idPrefix, typed)
	return ID(id), ok
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
	ID       ID
	Question bridge.Question // whose answer gave it
	// Conversation is where it stands: where its question was asked, or in what has replaced that since.
	Conversation bridge.ConversationID
	RevokedAt    *time.Time
	RevokedBy    bridge.UserID // "" while nobody has
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
