package matrix

import (
	"bytes"
	"encoding/json"

	"superpipeline.dev/question-bridge/bridge"
)

// SaidBy says whether an event, as it was pushed, is something that the person said or did. The state of a room is not: it
// is the room's. What is no event may be theirs if it names them.
func SaidBy(raw json.RawMessage, who bridge.UserID) bool {
	e, ok := readEnvelope(raw)
	if !ok {
		return bytes.Contains(raw, []byte(who))
	}
	return e.StateKey == nil && bridge.UserID(e.Sender) == who
}

// Present says whether the content of a membership is that of somebody who is in the room, or invited.
func Present(member json.RawMessage) bool {
	switch readObject(member).string("membership") {
	case "join", "invite":
		return true
	}
	return false
}

// ForgetProgress takes a person out of what the channel remembers of a question: what is waited for of them, and, where
// they ended it, what was typed on the way. changed is false where there is nothing of that.
func ForgetProgress(raw json.RawMessage, who bridge.UserID, ended bool) (cleared json.RawMessage, changed bool) {
	var g progress
	if json.Unmarshal(raw, &g) != nil {
		return raw, false
	}
	if _, waits := g.Waiting[who]; waits {
		g, changed = g.with(who, nil), true
	}
	if ended {
		for _, pick := range g.Picks {
			changed = changed || pick.Text != nil && *pick.Text != bridge.Erased
		}
		g.Picks = bridge.WithoutTexts(g.Picks)
	}
	if !changed {
		return raw, false
	}
	return g.encode(), true
}
