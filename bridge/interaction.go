package bridge

import "time"

// Interaction is what somebody did in a conversation, decoded and not yet understood.
type Interaction struct {
	ID           InteractionID
	Conversation ConversationID
	Sender       UserID
	SentAt       time.Time // the sender's server's clock: for display and for ordering within a conversation only
	ReceivedAt   time.Time // our clock, when the channel stored it
	Seq          int64     // the order in which we received it; later is larger
	Act          Act
	Encrypted    bool // whether it came encrypted, from a device we know
	Exposed      bool // whether it came in clear in a conversation that is encrypted
	Doubted      bool // whether its device is trusted too little here to choose what approves, or what only admins may
}

// Target is the message that the interaction is about, by its relation; "" when it has none.
func (in Interaction) Target() MessageID {
	switch act := in.Act.(type) {
	case Said:
		if act.ReplyTo != "" { // a real reply wins over the thread it stands in
			return act.ReplyTo
		}
		return act.Thread
	case Reacted:
		return act.To
	case Submitted:
		return act.To
	case Withdrew:
		return act.Original
	}
	return ""
}

// After says whether the interaction came after a message was shown, in both orders that there are: ours, and that of
// the senders' servers. Until its echo has come, nothing has.
func (in Interaction) After(m Message) bool {
	return m.Seq != 0 && in.Seq > m.Seq && !in.SentAt.Before(m.PostedAt)
}

// Act is one of [Said], [Reacted], [Submitted], [Edited] and [Withdrew].
type Act interface{ act() }

// Said is a message of text. Thread is the root of the thread it stands in, ReplyTo the message that it really replies
// to; either may be empty. Text is as typed, without quotes of other messages and without a leading mention of us.
type Said struct {
	Text    string
	Thread  MessageID
	ReplyTo MessageID
	// NotText marks a message that is no plain text (a file, a picture, a voice message): it can answer nothing.
	NotText bool
	// Corrects is the message that this is the corrected text of; then it has no relation of its own.
	Corrects InteractionID
}

// Reacted is a reaction to a message.
type Reacted struct {
	To  MessageID
	Key string
}

// Submitted is a structured answer. Invalid says why it is not one after all, for the person who sent it.
type Submitted struct {
	To            MessageID
	ElicitationID string
	Option        OptionID
	Text          *string
	Comment       *string
	Input         *string
	Subject       *SubjectRef
	Invalid       string
}

// Edited is a correction of an earlier message by its own sender.
type Edited struct {
	Original InteractionID
	Text     string
}

// Withdrew is the redaction of an earlier event.
type Withdrew struct {
	Original MessageID
	// ByModerator is set when somebody else than the event's sender did it.
}

func (Said) act()      {}
func (Reacted) act()   {}
func (Submitted) act() {}
func (Edited) act()    {}
func (Withdrew) act()  {}

// Reading is what an interaction means for a posting: one of [Ignored], [Chosen], [Dismissed], [Partial], [Refused] and
// [Outdated].
type Reading interface{ reading() }

// Ignored means nothing to the question: people talk.
type Ignored struct{}

// Chosen answers the question whole.
type Chosen struct{ Choice Choice }

// Dismissed ends a question that may be dismissed without an answer.
type Dismissed struct {
	Reason string // why, if there is more to say
	Talk   bool   // it is talk where any reply ends the question: nobody who may not answer is told so
}

// Partial moves the posting on without answering the question. Quiet changes no current message, such as when one person
// has to type something: nobody else's interaction becomes out of date by it.
type Partial struct {
	Progress []byte // the channel's new progress, JSON
	Quiet    bool
	Choice   Choice // what was chosen so far, for the rights to it
}

// Refused is an attempt that cannot be an answer. Code is stable, Reason is for the person.
type Refused struct {
	Code   Code
	Reason string
}

// Outdated means an earlier step of the question, by an order that only the channel knows.
type Outdated struct{}

func (Ignored) reading()   {}
func (Chosen) reading()    {}
func (Dismissed) reading() {}
func (Partial) reading()   {}
func (Refused) reading()   {}
func (Outdated) reading()  {}
