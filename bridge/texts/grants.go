package texts

import (
	"fmt"
	"time"
)

// AdminsRevoke is said to somebody who may not take a grant back.
const AdminsRevoke = "Only workspace owners and admins can take this back, because only they could grant it. Please ask one of them."

// NotGrantedByYou is said to somebody who could not have granted something, for a reason, and so may not take it back.
func NotGrantedByYou(reason string) string {
	return "Only somebody who could have granted this can take it back. " + reason
}

// WeakRevoke says how to take back what somebody who signed in with a Matrix OpenID token may not.
func WeakRevoke(grant string) string {
	return "Signed in with a Matrix OpenID token, nobody can take back what only admins may grant. " +
		"In the room you can: !revoke " + grant
}

// Granted is a grant as the people of its room are told of it.
type Granted struct {
	ID, Label, Asker string
	By               string // who gave it
	Run              bool   // for its run, and otherwise always
	Since            time.Time
	Until            *time.Time // nil for no end
}

// Grants lists what was granted in a room and stands, one a line; more says that there are others.
func Grants(all []Granted, more bool) string {
	if len(all) == 0 {
		return "Nothing that was granted here stands."
	}
	lines := []string{"What was granted here, and stands:"}
	for _, g := range all {
		lines = append(lines, g.line())
	}
	return revocable(lines, all[0].ID, more)
}

func (g Granted) line() string {
	length := "always"
	if g.Run {
		length = "for one run"
	}
	line := fmt.Sprintf("%s: “%s” for %s, %s, by %s, since %s", g.ID, g.Label, g.Asker, length, g.By, day(g.Since))
	if g.Until != nil {
		line += ", until " + day(*g.Until)
	}
	return line
}

func day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// GrantRevoked says that a grant does not stand any more.
func (g Granted) GrantRevoked() string {
	return "“" + g.Label + "” (" + g.ID + ") is taken back. " + g.Asker + " is told where it listens for that."
}

// RevokedAlready says that somebody was faster.
func (g Granted) RevokedAlready(by string, at time.Time) string {
	return "“" + g.Label + "” (" + g.ID + ") was taken back by " + by + " on " + day(at) + " already."
}

// LapsedAlready says that there is nothing to take back.
func (g Granted) LapsedAlready() string {
	return "“" + g.Label + "” (" + g.ID + ") lapsed on " + day(*g.Until) + "."
}
