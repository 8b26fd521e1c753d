package bridge

import (
	"encoding/json"
	"time"
)

// The records here cross between adapters: one declares the interface that keeps them, another implements it.

// Incoming is an event about to be stored in the inbox.
type Incoming struct {
	InboxEvent
	// Always is set for events that are kept in every conversation; the others are kept only where a question is stored.
	Always bool
	// Aside is set for an event that does not decode: it is kept for the operator and never handled. Why says why.
	Aside bool
	Why   string
}

// Send is one message that we send, once however often it is tried.
type Send struct {
	Key           string // derived from question, purpose, revision and sender
	Question      QuestionID
	Conversation  ConversationID
	TransactionID string
	FirstTry      time.Time
	Message       MessageID // "" while the result is unknown
}

// StateRecord is one piece of a conversation's state, as our own copy holds it.
type StateRecord struct {
	Conversation ConversationID
	Type         string
	Key          string
	Event        InteractionID
	Sender       UserID
	SentAt       time.Time
	Content      json.RawMessage
}

// Token lets a program act as an agent, or a person answer as themselves: exactly one of Agent and User is set. Only the
// hash of its secret is kept.
type Token struct {
	ID        string // shown in lists, not secret
	Agent     AgentID
	User      UserID
	Hash      [32]byte // SHA-256 of the secret
	Rooms     []string // room ids, aliases or codes, as granted; "*" for every room
	Scopes    []string // what it may do; empty for the usual
	Session   bool     // of a User who signed in with a Matrix OpenID token: see [ViaOpenID]
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
	UsedAt    *time.Time
}
