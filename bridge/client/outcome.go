package client

import "superpipeline.dev/question-bridge/schema"

// Outcome is how a question ended. The accessors of an answer give ok only for a question that was answered in that
// way, so silence and withdrawal are never read as a "no", and a "no" is never read as silence.
type Outcome struct {
	// State is schema.Answered, schema.Expired or schema.Cancelled; never schema.Pending.
	State schema.State
	// Question is the question as it ended, with CorrelationID, ReplyTo and Data as the asker gave them.
	Question *Question
}

// Answered says whether a person answered, whatever they said.
func (o *Outcome) Answered() bool { return o.State == schema.Answered }

// NoAnswer says whether the deadline passed in silence. Question.Delivery tells whether anybody could have answered.
func (o *Outcome) NoAnswer() bool { return o.State == schema.Expired }

// Withdrawn says whether the question was cancelled. Question.CancelledBy tells by whom.
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

func (o *Outcome) answer() *schema.Answer {
	if o == nil || o.State != schema.Answered || o.Question == nil {
		return nil
	}
	return o.Question.Answer
}
