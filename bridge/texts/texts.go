// Package texts holds the sentences that the bridge says to people, in one place, so that they can be reviewed and
// translated. Each is short and names the way out. The bodies of questions, which the specification fixes, are in package
// schema. What is put into a sentence is the caller's to make safe to show.
package texts

import (
	"fmt"
	"strings"
)

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

// WeakSignIn says how to choose what somebody who signed in with a Matrix OpenID token may not.
func WeakSignIn(question string) string {
	return "Signed in with a Matrix OpenID token, nobody can approve an exact operation or choose what only admins may: " +
		"other services may hold such a token too. With a responder token of your own you can: question answer " + question
}

// Why nothing can be answered here now.
const (
	RedactedQuestion = "The question was removed from the room, so it cannot be answered here any more."
	RoomGoesOn       = "This room goes on in another one, so the question cannot be answered here any more."
	StillPosting     = "The next question is still posting — try again in a moment."
)

// Why a question does not stand in its room, or cannot be answered there: to its asker, who may tell people.
const (
	NobodyInRoom          = "Nobody but the bot has joined the room. The question is posted as soon as somebody does."
	TargetNotInRoom       = "The person whom the question is for has not joined the room. It is posted as soon as they do."
	RoomStateUnreadable   = "It cannot be read who is in the room. The question is posted as soon as it can be."
	HomeserverUnreachable = "The homeserver does not answer, or not as it should. The question is posted as soon as it does."
	HomeserverBusy        = "The homeserver asked to be spared for a while. The question is posted after that."
	NoDeviceKeys          = "The room is encrypted, and nobody whom the question is for has a device that can read it yet. It is posted as soon as somebody has."
	EncryptionNotBegun    = "The room is encrypted, and the bot's own device is not ready yet. The question is posted as soon as it is."
	BotNotInRoom          = "The bot is not in the room: it left, was removed or was banned. Invite it again."
	RoomEncrypted         = "The room has become encrypted, and this bridge cannot read or write there. Ask in another room."
	RoomUpgraded          = "The room was replaced by another one, which the bot is not in yet. Invite it there."
	NotPermittedToSend    = "The bot may not write in the room: its power level is too low. The question is posted once it may."
	TooLargeForRoom       = "The question is too large for a message in the room. Ask with less text."
	RefusedByHomeserver   = "The homeserver refused the question's message. Its log says why."
	CannotBeWritten       = "The question cannot be written as a message. The bridge's log says why."
	QuestionRedacted      = "Somebody removed the question's message from the room, so nobody can answer it there."
)

// What !queue says.
const (
	QueueOff     = "The question queue is switched off."
	QueueEmpty   = "Nothing waits in the question queue here."
	QueueAsked   = "Asked here, and waiting for a reply:"
	QueueWaiting = "Waiting to be asked:"
	QueueMore    = "• and more"
)

// QueueLine is one question of an agent that waits.
func QueueLine(agent, question string) string { return "• " + agent + ": " + question }

// Reminder asks the people named to answer.
func Reminder(names string) string { return names + ": this question still waits for an answer." }

// Escalation asks the workspace admins named to see to a question.
func Escalation(names string) string {
	return names + ": nobody has answered this question yet. Please see that somebody does."
}

// How a question ended.
const (
	Expired   = "No answer: this question has expired."
	Withdrawn = "Cancelled: its asker has withdrawn this question."
	Dismissed = "Dismissed without an answer."

	// A question of the Question Queue.
	Cooled     = "Thank you. No answer is fine: this question is closed, and may come again later."
	Elsewhere  = "Cancelled: it was answered elsewhere."
	Ignored    = "Cancelled: nobody replied in time."
	Gone       = "Cancelled: it needs no answer any more."
	Superseded = "Replaced by a newer question."
	Edited     = "Cancelled: this question was edited, so it has to be asked again."
)

// Answered says what was answered, and by whom.
func Answered(answer, who string) string { return answer + ", by " + who + "." }

// AlreadyAnswered tells somebody who comes too late how the question was answered.
func AlreadyAnswered(answer, who string) string { return "Already answered: " + Answered(answer, who) }

// Why a reply or a reaction was no answer, and what would be one.
const (
	StepOver           = "That step of the question is over. Please answer the newest one in this thread."
	OnlyText           = "Only text can answer here."
	ReactionInTheClear = "A reaction cannot choose this in an encrypted room. Please reply instead."
)

// DeviceUntrusted tells somebody what choosing this, or taking it back, takes in an encrypted room.
const DeviceUntrusted = "This takes a session that you have verified. Please verify this one, or write from one that is."

// Unreadable tells somebody whose message could not be decrypted how else to answer.
func Unreadable(question string) string {
	return "I could not decrypt your message: the key for it has not come. If it still comes, your message counts. You can also answer " +
		"with a reaction (such as 1️⃣), or with: question answer " + question
}

// HowToChoose says how one of so many options is chosen, or several of them; it goes on a sentence.
func HowToChoose(options int, multiple bool) string {
	switch {
	case multiple:
		return "the numbers of your options, with commas between them"
	case options == 1:
		return "1, or the option's name"
	case options == 2:
		return "1 or 2, or an option's name"
	}
	return fmt.Sprintf("a number from 1 to %d, or an option's name", options)
}

// OnlyTextChooses tells somebody who sent no text how to choose.
func OnlyTextChooses(how string) string { return OnlyText + " Please write " + how + "." }

// NoSuchNumber says that no option has the number.
func NoSuchNumber(number, how string) string {
	return "There is no option " + number + ". Please write " + how + "."
}

// WayOut is how somebody says which of several options they mean.
type WayOut string

// The ways out, of which the caller knows the one that works.
const (
	ReactWithNumber WayOut = "react with its number"
	WriteID         WayOut = "write the option's id"
	WriteNumber     WayOut = "write the number alone"
)

// CouldBe says that a reply names several options.
func CouldBe(numbers []string, way WayOut) string {
	return "That could be option " + strings.Join(numbers, " or ") + ". Please " + string(way) + "."
}

// ChosenAlone says how an option that takes a text is chosen: not together with others.
func ChosenAlone(number int) string {
	return fmt.Sprintf("Option %d takes some text, so it can only be chosen alone. Please write “%d: your text”, or choose without it.", number, number)
}

// What somebody is asked to type.
const (
	AComment    = "a comment"
	SomeText    = "some text"
	AWebAddress = "a web address"
)

// Prompt asks somebody to type what the option that they chose needs; label is what its sender calls that, or "".
func Prompt(option, what, label string, limit int) string {
	if label != "" {
		label = "“" + label + "”, "
	}
	return fmt.Sprintf("“%s” needs %s from you (%sup to %d characters): write it here, or write “cancel” to go back.", option, what, label, limit)
}

// InputOrOption does not guess whether somebody meant an option or the text that they were asked for by option number.
func InputOrOption(number int) string {
	return fmt.Sprintf("That could be an option, or the text for option %d. "+
		"If it is the text, write it as “%d: your text” or reply to the request for it; if it is an option, write “cancel” first.", number, number)
}

// NothingAsked tells somebody who replied to an old request for a text that nothing waits for it.
const NothingAsked = "Nothing waits for this text any more. Please choose an option again."

// What is wrong with a structured answer. People see it who try out a program.
const (
	StructuredTwice     = "A structured answer says everything once: a name stands in it twice."
	StructuredElsewhere = "A structured answer refers to the question's own event, and to no other message about it."
	StructuredRelation  = "A structured answer refers to the question's event by m.reference, and by nothing else."
	StructuredNoID      = "A structured answer needs its elicitation_id."
	StructuredOtherID   = "The elicitation_id is not the one of the question that the answer refers to."
	StructuredEither    = "A structured answer has either an option_id or a text."
	StructuredOption    = "The option_id of a structured answer is text."
	StructuredSubject   = "The subject of a structured answer names id, digest, schema and revision."
)

// StructuredNoText says that a property of a structured answer is no text.
func StructuredNoText(property string) string {
	return "The " + property + " of a structured answer is text."
}

// Refused says in the thread of a carrier's question why it was not adopted.
func Refused(rule, why string) string {
	return "This question was refused by the rule “" + rule + "”: " + why + "."
}

// What people are told who gave a command.
const (
	NothingNamed = "Nothing here goes by that name. Please look at the short id again."
	// ToldInPrivate stands in the room, the answer in a direct one.
	ToldInPrivate = "I have sent you the answer in a direct room, because others can read here."
	NotInPrivate  = "The answer is for you alone, and I could not make a direct room with you. Please invite me to one and ask there."
)

// The answers to a question of yes and no.
const (
	Yes = "yes"
	No  = "no"
)

// WhichIsRight asks which of two things, which exclude each other, is right.
func WhichIsRight(a, b string) string {
	return "Two things that I know do not fit together: “" + a + "” and “" + b + "”. Which is right?"
}

// StillRight asks whether what is known under a key is right, which was wanted for something; that may be "".
func StillRight(key, wanted string) string {
	if wanted != "" {
		wanted = " about “" + wanted + "”"
	}
	return "I am not sure of what I know" + wanted + " (" + key + "). Is it still right?"
}

// WhoOrWhat asks what is meant by a word or two.
func WhoOrWhat(words string) string { return "Who or what is “" + words + "”?" }

// OptionNumber is the label of an option whose own cannot stand alone, or is "".
func OptionNumber(number int, label string) string {
	if label != "" {
		label = ": " + label
	}
	return fmt.Sprintf("Option %d%s", number, label)
}

// RememberedHere says that a decision which is asked for in a room is remembered, and how to take it back.
func RememberedHere(requester, purpose string) string {
	return "Your decision will be remembered for " + requester + " and the purpose “" + purpose + "”. Write !decisions to see it, " +
		"and !revoke with its id to take it back."
}

// RememberedElsewhere says the same where somebody else's host asks.
func RememberedElsewhere(requester, purpose string) string {
	return "Your decision will be remembered for " + requester + " and the purpose “" + purpose + "”. Ask " + requester + " to take it back."
}
