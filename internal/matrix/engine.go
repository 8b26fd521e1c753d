package matrix

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
)

// Engine is what the channel tells about what happened in rooms. Every method may be called again with the same event
// after a crash, and then changes nothing more. A question is found by the messages that belong to it.
type Engine interface {
	// Receive takes what somebody did, and marks its inbox event as handled in the transaction that stores what it
	// caused. An error means that nothing was stored.
	Receive(ctx context.Context, in bridge.Interaction) error

	// Unreadable says that a message could not be decrypted yet: its sender is told how else to answer, once for each
	// question, unless it is read soon.
	Unreadable(ctx context.Context, u bridge.Unread) error

	// Echoed says that a message we sent came back to us: it ties the message to its question and notes where it stands
	// in the order of what we received. over says that the question has ended. It is called inside a store transaction
	// that travels in ctx.
	Echoed(ctx context.Context, e bridge.Echo) (over bool, err error)
	// AskedLate takes the echo of a message that asks a question which has ended, and the key it was sent under: it is
	// closed, if it was not, and marked as handled.
	AskedLate(ctx context.Context, e bridge.Echo, sentAs string) error

	// Adopt stores a question that its carrier posted, and marks the event as handled. An equal question under the same
	// elicitation id is no error; CodeElicitationConflict and CodeSubjectConflict are told to the carrier by us.
	Adopt(ctx context.Context, q bridge.Question, event bridge.InteractionID) error
	// CarrierEdited cancels the pending question that by carried in this message, with the reason "edited". Any other
	// message is none of its business.
	CarrierEdited(ctx context.Context, conv bridge.ConversationID, m bridge.MessageID, by bridge.UserID) error

	// QuestionRedacted makes a question fail its delivery with the reason "redacted", if m is the message of a pending
	// one. ok is false when m is no question.
	QuestionRedacted(ctx context.Context, conv bridge.ConversationID, m bridge.MessageID) (ok bool, err error)

	// Unanswerable marks every pending question of a conversation as unanswerable there, with a stable reason:
	// "room_upgraded", "room_encrypted" or "bot_not_in_room". Deadlines go on, and so does HTTP.
	Unanswerable(ctx context.Context, conv bridge.ConversationID, reason string) error
	// Changed says that who is in a conversation changed, so that what is held for it is worth another try.
	Changed(ctx context.Context, conv bridge.ConversationID) error
	// Moved says that a conversation goes on in another one: each question pending in the old one is posted once in the
	// new one, under an effect key of its own (purpose "upgrade"), and both postings stay linked to it.
	Moved(ctx context.Context, from, to bridge.ConversationID) error
}
