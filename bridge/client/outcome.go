package client

import "superpipeline.dev/question-bridge/schema"

// Outcome is how a question ended: the answer envelope of The Question Protocol 1.1, section 4. The accessors of an answer
// give ok only for a question that was answered in that way, so silence and withdrawal are never read as a "no", and a
// "no" is never read as silence.
type Outcome struct {
	// The envelope. Its State is schema.Answered, schema.Expired or schema.Cancelled, never schema.Pending, and
	// CorrelationID, ReplyTo and Data are what the asker gave; numbers in Data keep their digits, as json.Number.
	schema.AnswerEnvelope
	// Question is the question as it ended; nil in an [Event], which tells the envelope alone.
	Question *Question
}

// Answered says whether a person answered, whatever they said.
func (o *Outcome) Answered() bool { return o.State == schema.Answered }

// NoAnswer says whether the deadline passed in silence. Delivery tells whether anybody could have answered.
func (o *Outcome) NoAnswer() bool { return o.State == schema.Expired }

// Withdrawn says whether the question was cancelled. CancelledBy tells by whom: asker, responder or superseded.
func (o *Outcome) Withdrawn() bool { return o.State == schema.Cancelled }

// Chose says whether a person answered with the option of this value. A gate asks it of the value that opens it.
func (o *Outcome) Chose(value string) bool {
	v, ok := o.Value()
	return ok && v == value
}

// Value is the value of the option that was chosen.
func (o *Outcome) Value() (value string, ok bool) {
	if a := o.answer(); a != nil && a.Value != nil {
		return *a.Value, true
	}
	return "", false
}

// Label is the label of the option that was chosen, as people read it.
func (o *Outcome) Label() (label string, ok bool) {
	if a := o.answer(); a != nil && a.Value != nil && a.Label != nil {
		return *a.Label, true
	}
	return "", false
}

// Text is what a person typed in place of choosing an option.
func (o *Outcome) Text() (text string, ok bool) {
	if a := o.answer(); a != nil && a.Text != nil {
		return *a.Text, true
	}
	return "", false
}

// Items are the answers to a set of items or to a multiple choice; none for any other question.
func (o *Outcome) Items() []schema.AnswerItem {
	if a := o.answer(); a != nil {
		return a.Items
	}
	return nil
}

// Responder is the person who answered, as the server authenticated them.
func (o *Outcome) Responder() (r schema.Responder, ok bool) {
	if a := o.answer(); a != nil {
		return a.Responder, true
	}
	return schema.Responder{}, false
}

// Correlation is the id that the asker gave to know the question by; ok is false where it gave none.
func (o *Outcome) Correlation() (id string, ok bool) {
	if o == nil || o.CorrelationID == nil {
		return "", false
	}
	return *o.CorrelationID, true
}

func (o *Outcome) answer() *schema.Answer {
	if o == nil || o.State != schema.Answered {
		return nil
	}
	return o.Answer
}
