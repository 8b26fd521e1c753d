package bridge

import (
	"context"
	"fmt"
)

// Channel is the seam between the engine and a messaging surface, after the document Channel questions. Methods that
// take a ctx may use the network; none is called inside a database transaction. All of them may be called again after a
// crash.
type Channel interface {
	// Supports says whether a question can be asked in the conversation at all. The error is a [*Error] with code
	// CodeRoomUnanswerable or CodeRoomUnknown, and the reason.
	Supports(ctx context.Context, conv ConversationID) error

	// Check says whether the channel could post the question as it is in its conversation (size, characters). The error is
	// a *Error, or the store's.
	Check(ctx context.Context, q Question) error

	// Render posts the question, or the step its posting stands at, once however often it is called with the same key.
	// ErrHeld says that it cannot be posted yet, with the reason, and asks to be called again. A settled question is
	// never posted: Render then only finds what an earlier try has sent, and gives an empty change if that is nothing.
	Render(ctx context.Context, q Question, p Posting, key string) (Change, error)

	// Parse says what the interaction means for the posting. It is pure, and called more than once. settled questions
	// are read the same way.
	Parse(in Interaction, q Question, p Posting) Reading

	// Updated shows what a Partial led to: the next step, if the posting is Moving, and to each person who has to type
	// something what that is. in is nil when it is retried. An aside that is sent is in the change, or found again.
	Updated(ctx context.Context, q Question, p Posting, in *Interaction, key string) (Change, error)

	// Controls puts up what the current message is answered by with one click, and takes it away from earlier ones. The
	// question does without where that fails for good. It follows Render and Updated once their change is saved.
	Controls(ctx context.Context, q Question, p Posting, key string) error

	// Settled closes every message of the question and says how it ended. It is run again after a crash.
	Settled(ctx context.Context, q Question, p Posting, key string) (Change, error)

	// Remind notifies people once that a pending question waits for them, however often it is called with the same key.
	Remind(ctx context.Context, q Question, p Posting, r Reminder, key string) error

	// Stands says whether the question's current message can still be read where it was posted. It asks the source.
	Stands(ctx context.Context, q Question, p Posting) (bool, error)

	// Tell says one of the three courtesies to a person, once; it is logged and never retried. One with the code
	// CodeUnreadable is not said when the message could be read meanwhile.
	Tell(ctx context.Context, q Question, p Posting, c Courtesy, key string) error

	// Reply says what a command came to, once however often it is called with the same key. A private one goes to the
	// person alone where others are present, and a note in the conversation says so. One that cannot be said within a day
	// is left unsaid.
	Reply(ctx context.Context, r AddressedReply, key string) error
}

// Courtesy is something told to one person about what they did.
type Courtesy struct {
	Kind   CourtesyKind
	To     UserID
	About  InteractionID
	Code   string
	Reason string
	Thread MessageID // where in the conversation they did it, if they did it in a thread
}

// once is what a courtesy is told once for: a hint for the person, everything else for their step and the code too.
func (c Courtesy) once(step int) string {
	switch Code(c.Code) {
	case CodeOutOfRange, CodeAmbiguous, CodeNotText, CodeTextTooLong:
		return "hint/" + string(c.To)
	}
	return fmt.Sprintf("%s/%d/%s/%s", c.Kind, step, c.Code, c.To)
}

// CourtesyKind is one of the three.
type CourtesyKind string

// The courtesies.
const (
	Rejected CourtesyKind = "rejected" // the attempt was not an answer; Reason says what would be
	Denied   CourtesyKind = "denied"   // they may not answer this question
	Stale    CourtesyKind = "stale"    // the question, or this step of it, is over
)

// Gatekeeper knows who may answer.
type Gatekeeper interface {
	// Rights gives what a person may do in the question's conversation, as of now. fresh demands that the source be
	// asked and no copy be trusted. State that cannot be read gives no rights, with Unreadable set.
	Rights(ctx context.Context, q Question, who UserID, fresh bool) (Rights, error)
	// Joined gives the conversations that the person has joined, as far as we know.
	Joined(ctx context.Context, who UserID) ([]ConversationID, error)
	// Alone says whether exactly one person besides ourselves is joined to or invited into the conversation.
	Alone(ctx context.Context, conv ConversationID) (bool, error)
}

// Rights is what a person may do with a question.
type Rights struct {
	DisplayName    string
	Member         bool // joined to the conversation now
	Machine        bool // ourselves, a listed bot, a relay or a carrier: never answers in the room
	IsAsker        bool // the asker itself, or an account of it
	Agent          bool // an account of any agent
	WorkspaceAdmin bool
	Unreadable     bool
	// Weak is set by the engine where who they are was shown by something that another service may have passed on, and the
	// operator has not allowed to approve by it: see [ViaOpenID].
	Weak bool
}

// Notifier wakes whoever waits for a question, after commit.
type Notifier interface{ Notify(id QuestionID) }

// Mover is a Feature that keeps something by its conversation.
type Mover interface {
	// Moving runs inside the transaction that moves what is pending in a conversation to the one that replaces it. It may
	// run again for the same ones.
	Moving(ctx context.Context, from, to ConversationID) error
}
