package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// Question is a question as the server last described it. It does not change by itself.
type Question struct {
	schema.Question
	// Raw is the server's document, with the properties that this package does not know.
	Raw json.RawMessage `json:"-"`
}

// Expires is the deadline: at that moment the question ends without an answer.
func (q *Question) Expires() time.Time {
	at, _ := q.ExpiresAt.Time() // readQuestion has read it once
	return at
}

// Outcome is how the question ended; ok is false while it is pending.
func (q *Question) Outcome() (o *Outcome, ok bool) {
	if q.State == schema.Pending {
		return nil, false
	}
	return &Outcome{
		AnswerEnvelope: schema.AnswerEnvelope{
			QuestionID: q.ID, State: q.State, Answer: q.Answer, CorrelationID: q.CorrelationID, ReplyTo: q.ReplyTo, Data: q.Data,
			CancelledBy: q.CancelledBy, Delivery: q.Delivery,
		},
		Question: q,
	}, true
}

// readQuestion reads a response. It asks less than the JSON Schema does, because a newer server may add properties and
// words, and a question may be larger than a document that we would send. What it does ask keeps an answer from being
// mistaken.
func readQuestion(raw []byte) (*Question, error) {
	q := &Question{}
	if err := decodeOne(raw, &q.Question); err != nil {
		return nil, errors.New("the response is not a question")
	}
	if err := checkQuestion(&q.Question); err != nil {
		return nil, err
	}
	q.Raw = bytes.Clone(bytes.TrimSpace(raw))
	return q, nil
}

func checkQuestion(q *schema.Question) error {
	if q.ID == "" || q.Kind != "question" {
		return errors.New("the response is not a question")
	}
	if _, err := q.ExpiresAt.Time(); err != nil {
		return errors.New("the question in the response has no deadline")
	}
	return checkAnswer(q.State, q.Answer)
}

// checkAnswer refuses what could be read as another answer than was given.
func checkAnswer(state schema.State, a *schema.Answer) error {
	switch state {
	case schema.Pending, schema.Expired, schema.Cancelled:
		if a != nil {
			return errors.New("the question has an answer without being answered")
		}
	case schema.Answered:
		if !oneAnswer(a) {
			return errors.New("the question is answered, but not by exactly one answer")
		}
	default:
		return errors.New("the question is in no state that there is")
	}
	return nil
}

// oneAnswer says whether there is exactly one of an option, a text and a list of items.
func oneAnswer(a *schema.Answer) bool {
	if a == nil {
		return false
	}
	n := 0
	for _, is := range []bool{a.Value != nil, a.Text != nil, len(a.Items) > 0} {
		if is {
			n++
		}
	}
	return n == 1
}

// decodeOne reads one JSON value. Numbers keep their digits.
func decodeOne(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return nil
}
