package texts

import "strings"

// Why somebody may not take a grant back.
const AdminsRevoke = "Only workspace owners and admins can take this back, because only they could grant it. Please ask one of them."

// WeakRevoke says how to take back what somebody who signed in with a Matrix OpenID token may not.
func WeakRevoke(grant string) string {
	return "Signed in with a Matrix OpenID token, nobody can take back what only admins may grant. " +
		"In the room you can: !revoke " + grant
}

// NoGrants is said where nothing stands that could be taken back.
const NoGrants = "Nothing that was granted here still stands."

// Grants lists what stands in a room, and says how to take it back. More says that there is more than that.
func Grants(lines []string, more bool) string {
	all := append([]string{"What was granted here and still stands; !revoke and the id takes it back:"}, lines...)
	if more {
		all = append(all, "… and older ones.")
	}
	return strings.Join(all, "\n")
}

// Granted is one line of such a list. How long is "for its run" or "always", asker and by are names, and times are as
// people read them; until is "" for no end.
type Granted struct{ ID, Label, HowLong, Asker, By, At, Until string }

func (g Granted) String() string {
	line := g.ID + ": “" + g.Label + "”, " + g.HowLong + ", for " + g.Asker + ", by " + g.By + " on " + g.At
	if g.Until != "" {
		line += ", until " + g.Until
	}
	return line
}

// How long a grant lasts.
const (
	ForItsRun = "for its run"
	Always    = "always"
)

// What became of a wish to take a grant back.
func GrantRevoked(id, label, asker string) string {
	return "Taken back: " + id + ", “" + label + "”, granted to " + asker + "."
}

// RevokedAlready says that somebody was faster.
func RevokedAlready(id, by, at string) string {
	return id + " was taken back by " + by + " on " + at + " already."
}

// LapsedAlready says that there is nothing to take back.
func LapsedAlready(id, at string) string { return id + " lapsed on " + at + "." }
