package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
)

// asked is what makes two asks equal. Not in it: everything that we make (ids, times, warnings), how long the asker is
// ready to wait, which shrinks when an ask is repeated, and a body that we render.
type asked struct {
	Dialect       bridge.Dialect
	Conversation  bridge.ConversationID
	Scope         bridge.ResponderScope
	Target        bridge.UserID
	CorrelationID *string
	ReplyTo       *string
	Data          json.RawMessage
	Content       map[string]any `json:",omitempty"` // of a v2 question
	Title, Prompt string         `json:",omitempty"` // from here on, of a core one
	Items         []bridge.Item  `json:",omitempty"`
	Dismissible   bool           `json:",omitempty"`
}

// digest is the SHA-256, in hexadecimal, of what was asked.
func digest(q bridge.Question) (string, error) {
	a := asked{
		Dialect: q.Dialect, Conversation: q.Conversation, Scope: q.Scope, Target: q.Target,
		CorrelationID: q.CorrelationID, ReplyTo: q.ReplyTo, Data: q.Data,
	}
	if q.Dialect == bridge.V2 {
		if err := decodeNumbers(q.Content, &a.Content); err != nil {
			return "", fmt.Errorf("read the content to digest: %w", err)
		}
		if q.Carried == nil {
			delete(a.Content, "body")
		}
	} else {
		a.Title, a.Prompt, a.Items, a.Dismissible = q.Title, q.Prompt, q.Items, q.Dismissible
	}
	raw, err := json.Marshal(a) // struct fields in their order, map keys sorted
	if err != nil {
		return "", fmt.Errorf("encode what was asked: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
