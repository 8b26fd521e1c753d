package bridge

import "time"

// Choice is what somebody chose, before it is known whether they may.
type Choice struct {
	Items   []ItemChoice // one for each item, in order
	Comment *string
	Input   *string
	Subject *SubjectRef // what the responder says is approved
	Via     Via
}

// ItemChoice is what was chosen of one item: options, or text, never both.
type ItemChoice struct {
	Header   string
	Selected []OptionID
	Text     *string
}

// Answer is a choice that was accepted: by whom and when.
type Answer struct {
	Choice
	Labels  [][]string // the labels of the selected options, for each item
	Meaning Meaning    // of the one option chosen; "" for text, a set or a multiple choice
	Grant   Grant
	By      Responder
	At      time.Time
	Event   InteractionID // what the responder did; "" over HTTP
	// Certificate is our signed statement that exactly this subject was approved, in its canonical bytes; nil where
	// nothing was.
	Certificate []byte
}

// Responder is the authenticated person who answered.
type Responder struct {
	ID          UserID
	DisplayName string
}

// Via is the surface an answer came by.
type Via string

// The surfaces.
const (
	ViaReply      Via = "reply"      // prose in a conversation
	ViaReaction   Via = "reaction"   // a reaction to the question's message
	ViaStructured Via = "structured" // a structured answer event
	ViaAPI        Via = "api"        // the HTTP responder API, with a token of the person's own
	// ViaOpenID is the HTTP responder API, by somebody who signed in with a Matrix OpenID token. Such a token names no
	// audience: every service that was given one could have passed it on, and signed in as that person.
	ViaOpenID Via = "openid"
)
