package bridge

import (
	"encoding/json"
	"slices"
	"time"
)

// Posting is a question as it stands in a conversation (document Channel questions, "The question record").
type Posting struct {
	Question     QuestionID
	Conversation ConversationID
	Messages     []Message // oldest first; the last one is the current message
	Revision     int       // of the question, when this was read
	Progress     json.RawMessage
	// Asides are what one person was asked beside the steps, such as to type what their option needs. None is ever the
	// current message.
	Asides []Aside
	// Moving is set while the next step is not yet shown.
	Moving    bool
	ChangedAt time.Time
}

// Message is one message of a posting.
type Message struct {
	ID       MessageID
	PostedAt time.Time // as its echo has it, so that it compares with interactions; by our own clock until that came
	Item     int       // which item it asks
	Seq      int64     // where its echo stands in the order of what we received; 0 until it came
}

// Aside is a message that asks one person for more, because of something they did. Its Item is the step that this was on.
type Aside struct {
	Message
	To    UserID
	About InteractionID
}

// Aside finds what somebody was asked because of something they did.
func (p Posting) Aside(to UserID, about InteractionID) (Aside, bool) {
	i := slices.IndexFunc(p.Asides, func(a Aside) bool { return a.To == to && a.About == about })
	if i < 0 {
		return Aside{}, false
	}
	return p.Asides[i], true
}

// Step is the item that people are shown now.
func (p Posting) Step() int {
	m, _ := p.Current()
	return m.Item
}

// Current is the message whose controls count; ok is false before the first is posted.
func (p Posting) Current() (m Message, ok bool) {
	if len(p.Messages) == 0 {
		return Message{}, false
	}
	return p.Messages[len(p.Messages)-1], true
}

// has says whether the message is one of the posting's.
func (p Posting) has(id MessageID) bool {
	return slices.ContainsFunc(p.Messages, func(m Message) bool { return m.ID == id })
}

// AsideOf finds an aside by its message.
func (p Posting) AsideOf(id MessageID) (Aside, bool) {
	i := slices.IndexFunc(p.Asides, func(a Aside) bool { return a.ID == id })
	if i < 0 {
		return Aside{}, false
	}
	return p.Asides[i], true
}

// asidePassed says whether the message asked somebody for more on a step that is over.
func (p Posting) asidePassed(id MessageID) bool {
	a, ok := p.AsideOf(id)
	return ok && a.Item != p.Step()
}

// Change is what a channel wants saved: Messages replace the whole list when not nil, Progress the progress; Asides are
// added to those that there are.
type Change struct {
	Messages []Message
	Progress json.RawMessage
	Asides   []Aside
}
