package texts

import (
	"fmt"
	"strings"
	"time"
)

// Why somebody may not see or revoke what others decided.
const (
	AdminsDecisions = "Only workspace admins can see what others decided."
	WeakDecisions   = "Signed in with a Matrix OpenID token, nobody can see what others decided. With a responder token of your own you can."
)

// Remembered is a decision as its person is told of it.
type Remembered struct {
	ID, Requester, Purpose string
	Approved               bool
	Since                  time.Time
	Used                   int
}

// Decisions lists what a person decided and what is remembered, one a line; more says that there are others.
func Decisions(all []Remembered, more bool) string {
	if len(all) == 0 {
		return "Nothing that you decided is remembered."
	}
	lines := []string{"What you decided, and is remembered:"}
	for _, r := range all {
		lines = append(lines, r.line())
	}
	return revocable(lines, all[0].ID, more)
}

// revocable ends a list of what can be taken back, whose first one has this id; more says that there are others.
func revocable(lines []string, first string, more bool) string {
	if more {
		lines = append(lines, "There are more, older ones.")
	}
	return strings.Join(append(lines, "To take one back, write !revoke and its id, such as: !revoke "+first), "\n")
}

func (r Remembered) line() string {
	decided := "declined"
	if r.Approved {
		decided = "approved"
	}
	used := "never used"
	switch {
	case r.Used == 1:
		used = "used once"
	case r.Used > 1:
		used = fmt.Sprintf("used %d times", r.Used)
	}
	return fmt.Sprintf("%s: %s for %s, “%s”, since %s, %s", r.ID, decided, r.Requester, r.Purpose, r.Since.UTC().Format(time.DateOnly), used)
}

// DecisionRevoked says that a decision is not remembered any more.
func DecisionRevoked(id string) string {
	return "What you decided under " + id + " is forgotten. You will be asked again."
}
