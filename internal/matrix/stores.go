// Package matrix is the Matrix channel: the application service that receives what people do and posts questions.
package matrix

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Inbox keeps pushed events from before they are acknowledged until they are handled.
type Inbox interface {
	// StoreEvents keeps a batch in one transaction. An event whose id is known is skipped, and so is one that is not
	// kept always in a conversation without a stored question, unless earlier events of it are still to be handled. It
	// returns how many were new.
	StoreEvents(ctx context.Context, events []bridge.Incoming) (int, error)
	// NextEvents gives unfinished due events in order of receipt, at most one of each conversation: the oldest
	// unfinished one, and none of a conversation whose oldest is postponed.
	NextEvents(ctx context.Context, now time.Time, limit int) ([]bridge.InboxEvent, error)
	// FinishInteraction marks an event as handled and erases its content.
	FinishInteraction(ctx context.Context, id bridge.InteractionID) error
	// PostponeEvent makes an event due again later; its conversation waits for it.
	PostponeEvent(ctx context.Context, id bridge.InteractionID, until time.Time, why string) error
	// SetAside finishes an event that can never be handled and keeps it for the operator.
	SetAside(ctx context.Context, id bridge.InteractionID, why string) error
}

// Locked keeps events whose key has not come, so that what is behind them is handled.
type Locked interface {
	// LockEvent takes a waiting event out of the inbox until the key of its session comes.
	LockEvent(ctx context.Context, id bridge.InteractionID, session string) error
	// UnlockEvents lets what waits for the key of a session in a room be handled again, in its old place.
	UnlockEvents(ctx context.Context, room bridge.ConversationID, session string, now time.Time) (int, error)
	// UnlockAllEvents does the same with all that waits for any key.
	UnlockAllEvents(ctx context.Context, now time.Time) (int, error)
	// IsLocked says whether an event still waits for its key.
	IsLocked(ctx context.Context, id bridge.InteractionID) (bool, error)
}

// Sends remembers what we send, so that nothing is sent twice.
type Sends interface {
	// BeginSend saves a send before its first try, or returns the one saved under its key.
	BeginSend(ctx context.Context, s bridge.Send) (saved bridge.Send, isNew bool, err error)
	// SendDone records the message that a send became, unless one is recorded already, ties it to the send's question, and
	// gives the recorded one.
	SendDone(ctx context.Context, key string, m bridge.MessageID) (recorded bridge.MessageID, err error)
	// InDoubt says whether a message that we sent to the room may have arrived without our knowing its id.
	InDoubt(ctx context.Context, room bridge.ConversationID) (bool, error)
	// SendByKey finds a send; ok is false when there is none.
	SendByKey(ctx context.Context, key string) (s bridge.Send, ok bool, err error)
	// SendsOf lists the sends of a question, oldest first.
	SendsOf(ctx context.Context, q bridge.QuestionID) ([]bridge.Send, error)
}

// RoomStates is our own copy of the state of the rooms we are in.
type RoomStates interface {
	// StateOf gives all records of a type in a room.
	StateOf(ctx context.Context, room bridge.ConversationID, eventType string) ([]bridge.StateRecord, error)
	// PutState stores one record in place of the one with the same type and key.
	PutState(ctx context.Context, r bridge.StateRecord) error
	// ReplaceState puts a fresh copy in place of everything known of the room, and clears its doubt.
	ReplaceState(ctx context.Context, room bridge.ConversationID, records []bridge.StateRecord) error
	// ForgetState drops what is known of a room that we left; what is sticky stays.
	ForgetState(ctx context.Context, room bridge.ConversationID) error
	// SetDoubtful marks a room's copy as not to be trusted until it is replaced.
	SetDoubtful(ctx context.Context, room bridge.ConversationID) error
	// Standing says whether there is a copy at all, whether it is doubtful, and whether the room was ever seen
	// encrypted, which is never taken back.
	Standing(ctx context.Context, room bridge.ConversationID) (known, doubtful, encrypted bool, err error)
	// SetEncrypted records for good that a room is encrypted.
	SetEncrypted(ctx context.Context, room bridge.ConversationID) error
	// KnownRooms lists the rooms with a copy.
	KnownRooms(ctx context.Context) ([]bridge.ConversationID, error)
	// RoomsOf lists the rooms whose copy has a membership of the user, of whatever kind.
	RoomsOf(ctx context.Context, user bridge.UserID) ([]bridge.ConversationID, error)
}

// Values keeps single values under a name, such as a sync token.
type Values interface {
	Value(ctx context.Context, name string) (string, error) // "" when there is none
	SetValue(ctx context.Context, name, value string) error
}

// Links knows which messages belong to questions.
type Links interface {
	// Posting reads how a question stands in its conversation.
	Posting(ctx context.Context, id bridge.QuestionID) (bridge.Posting, error)
	// QuestionOf finds the question that a message of the conversation belongs to; ok is false when it is none of ours.
	QuestionOf(ctx context.Context, conv bridge.ConversationID, m bridge.MessageID) (id bridge.QuestionID, ok bool, err error)
}

// Store is what the channel keeps. Atomically shares one write transaction, which travels in the ctx handed to f.
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error
	Inbox
	Locked
	Sends
	RoomStates
	Values
	Links
}
