// Package texts holds the sentences that the bridge says to people, in one place, so that they can be reviewed and
// translated. Each is short and names the way out. The bodies of questions, which the specification fixes, are in package
// schema. What is put into a sentence is the caller's to make safe to show.
package texts

import "fmt"

// Why somebody may not answer.
const (
	RoomUnreadable = "The room's state cannot be read right now, so nobody's rights can be checked. Please try again later."
	NotAMember     = "Only people who have joined this room can answer."
	Machine        = "Bots and relays cannot answer."
	OwnQuestion    = "The asker cannot answer its own question."
	AdminsOnly     = "Only workspace owners and admins can choose this. Please ask one of them, or choose another option."
)

// OnlyTarget says whom a direct question is for.
func OnlyTarget(user string) string { return "Only " + user + " can answer this question." }

// Why a choice is no answer.
const (
	EveryItem       = "Every part of the question needs an answer."
	OptionOrText    = "An answer is an option or a text, not both."
	ChooseOne       = "Choose one option."
	ChooseAlone     = "This option needs some text, so it can only be chosen alone."
	NoSuchOption    = "The question has no such option."
	OptionOnce      = "An option can be chosen once."
	TextNotInvited  = "This question is answered with one of its options."
	InputNotInvited = "This option takes no input."
	EmptyText       = "The answer is empty."
	CommentMissing  = "This option needs a comment."
	InputMissing    = "This option needs some text."
	NoWebAddress    = "That is no web address. Please send one that begins with https:// or http://."
)

// TooLong says how long a text may be.
func TooLong(limit int) string {
	return fmt.Sprintf("That is longer than %d characters. Please send fewer.", limit)
}

// Why what has a subject cannot be approved.
const (
	QuestionRemoved   = "The question was removed from the room, so nobody can approve it any more. It can still be declined."
	PreviewIncomplete = "The preview is incomplete, so nobody can approve this. It can only be declined here."
	SubjectLapsed     = "What this approves has lapsed, so nobody can approve it any more. It can only be declined here."
	SubjectMissing    = "This approves an exact operation. The answer has to name its subject: id, digest, schema and revision."
	SubjectMismatch   = "The answer names another subject than the one that the question is about, so it approves nothing."
	EditedApproval    = "An edited message cannot approve. Please send your answer as a new reply."
)

// NotByReply says where an exact operation can be approved.
func NotByReply(question string) string {
	return "A reply or reaction cannot choose this, because it is about an exact operation; it can only decline it. " +
		"To see and approve exactly what it does, run: question answer " + question
}

// Why nothing can be answered here now.
const (
	RedactedQuestion = "The question was removed from the room, so it cannot be answered here any more."
	RoomGoesOn       = "This room goes on in another one, so the question cannot be answered here any more."
	StillPosting     = "The next question is still posting — try again in a moment."
)

// Reminder asks the people named to answer.
func Reminder(names string) string { return names + ": this question still waits for an answer." }

// Escalation asks the workspace admins named to see to a question.
func Escalation(names string) string {
	return names + ": nobody has answered this question yet. Please see that somebody does."
}
