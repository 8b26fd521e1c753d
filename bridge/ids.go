package bridge

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// Ids are opaque: nothing here splits or parses one.
type (
	// QuestionID is ours, made by [NewQuestionID].
	QuestionID string
	// AgentID names an asker, as the operator configured it.
	AgentID string
	// ConversationID names a place that questions are asked in; in Matrix, a room id.
	ConversationID string
	// UserID names a person, or a program that speaks like one; in Matrix, a user id.
	UserID string
	// MessageID names a message of a conversation; in Matrix, an event id.
	MessageID string
	// InteractionID names something that somebody did; in Matrix, an event id.
	InteractionID string
	// OptionID is an option's machine value, which round-trips exactly.
	OptionID string
)

var lowerBase32 = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewQuestionID makes an unguessable id: "q_" and 26 characters.
func NewQuestionID() QuestionID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read crashes the program instead
	return QuestionID("q_" + strings.ToLower(lowerBase32.EncodeToString(b[:])))
}
