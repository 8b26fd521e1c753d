package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// Reader understands what is kept here in the words of others.
type Reader interface {
	// SaidBy says whether an event as it was pushed is what a person said or did.
	SaidBy(raw json.RawMessage, who bridge.UserID) bool
	// Present says whether the content of a membership is that of somebody who is in the room, or invited.
	Present(member json.RawMessage) bool
	// ForgetProgress takes a person out of the progress of a posting; ended says that they answered its question.
	ForgetProgress(progress json.RawMessage, who bridge.UserID, ended bool) (cleared json.RawMessage, changed bool)
	// ForgetIn takes a person out of a document as it was sent.
	ForgetIn(document []byte, who bridge.UserID) (cleared []byte, changed bool)
}

// Person is who is to be forgotten.
type Person struct {
	ID     bridge.UserID
	Reader Reader
	Dry    bool // only count
}

// Traces is what the database had of a person, in rows.
type Traces struct {
	Answers      int // questions that they answered or dismissed, or that asked them and have ended
	Certificates int // of those
	Documents    int // webhook events, and kept responses, that named them
	Prompts      int // questions that waited for something of theirs, or asked them to type it
	Replies      int // notes of which question a reply of theirs was about
	Courtesies   int // notes that they were told something
	Notices      int // notices to them that were still owed
	Events       int // events of theirs that were not handled, set aside, or never readable
	Tokens       int // of theirs, sessions too
	Revocations  int // grants that they took back
	Asks         int // notes of when the question queue asked them
	Gates        int // gated exchanges about them that have ended
	Decisions    int // of theirs that are remembered for gated exchanges
	Memberships  int // of rooms that they are not in
	States       int // pieces of a room's state that they had set

	// What stays.
	Joined int // memberships of rooms that they are in or invited to: their rights are read from them
	Asked  int // pending questions that ask them in person: what they are asked stays until it has ended
}

// Any says whether there was anything that does not stay.
func (t Traces) Any() bool {
	t.Joined, t.Asked = 0, 0
	return t != Traces{}
}

// ForgetPerson takes a person out of everything that is kept, and says what there was. Each row changes by itself, so that
// nobody who works beside it waits; after an error it can be called again.
func (s *Store) ForgetPerson(ctx context.Context, p Person) (Traces, error) {
	f := &forgetting{Store: s, Person: p}
	for _, step := range []func(context.Context) error{f.prompts, f.answers, f.events, f.locked, f.notices, f.revocations, f.queries, f.decisions, f.memberships, f.rows} {
		if err := step(ctx); err != nil {
			return f.found, fmt.Errorf("forget a person: %w", err)
		}
	}
	return f.found, nil
}

type forgetting struct {
	*Store
	Person
	found Traces
}

// rowsAtOnce is how many rows are read at once.
const rowsAtOnce = 500

// pages reads a table from end to end, page by page.
type pages[T any] struct {
	query string // in the order of a key: $1 is the one that the page comes after, $2 the limit
	first any    // comes before every key
	scan  func(dbutil.Scannable) (T, error)
	key   func(T) any
}

func (p pages[T]) each(ctx context.Context, s *Store, do func(T) error) error {
	for last := p.first; ; {
		rows, err := list(ctx, s, p.scan, p.query, last, rowsAtOnce)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
			last = p.key(row)
		}
		if len(rows) < rowsAtOnce {
			return nil
		}
	}
}

// answers clears the questions that they answered or that asked them, with all that tells of those.
func (f *forgetting) answers(ctx context.Context) error {
	type row struct {
		id         bridge.QuestionID
		state      bridge.State
		dismissed  bridge.UserID
		definition struct{ Target bridge.UserID }
		answer     struct{ By struct{ ID bridge.UserID } }
	}
	all := pages[row]{
		query: `SELECT id, state, dismissed_by, definition, answer FROM questions WHERE id > $1 ORDER BY id LIMIT $2`, first: "",
		scan: func(from dbutil.Scannable) (r row, err error) {
			err = from.Scan(text(&r.id), text(&r.state), text(&r.dismissed), decoded(&r.definition), decoded(&r.answer))
			return r, err
		},
		key: func(r row) any { return r.id },
	}
	return all.each(ctx, f.Store, func(r row) error {
		switch {
		case r.definition.Target != f.ID && r.answer.By.ID != f.ID && r.dismissed != f.ID:
			return nil
		case r.state == bridge.Pending:
			f.found.Asked++
			return nil
		}
		return f.question(ctx, r.id)
	})
}

func (f *forgetting) question(ctx context.Context, id bridge.QuestionID) error {
	var found Traces
	err := f.Atomically(ctx, func(ctx context.Context) error {
		found = Traces{}
		q, err := f.Question(ctx, id)
		if err != nil {
			return err
		}
		ended := q.Answer != nil && q.Answer.By.ID == f.ID
		if ended && q.Answer.Certificate != nil {
			found.Certificates++
		}
		if !q.Forget(f.ID) {
			return nil
		}
		found.Answers++
		if err := f.rewrite(ctx, q); err != nil {
			return err
		}
		if found.Documents, err = f.documents(ctx, id); err != nil || !ended {
			return err
		}
		_, err = f.posting(ctx, id, true)
		return err
	})
	if bridge.CodeOf(err) == bridge.CodeNotFound { // forgotten meanwhile
		return nil
	}
	f.found.Answers += found.Answers
	f.found.Certificates += found.Certificates
	f.found.Documents += found.Documents
	return err
}

func (f *forgetting) rewrite(ctx context.Context, q bridge.Question) error {
	if f.Dry {
		return nil
	}
	asked, err := encode(define(q))
	if err != nil {
		return err
	}
	answer, err := encodeAnswer(q.Answer)
	if err != nil {
		return err
	}
	_, err = f.exec(ctx, `UPDATE questions SET definition = $2, answer = $3, dismissed_by = $4 WHERE id = $1`, q.ID, asked, answer, orNull(q.DismissedBy))
	return err
}

// documents clears what was sent, or is to be sent, about a question.
func (f *forgetting) documents(ctx context.Context, id bridge.QuestionID) (n int, err error) {
	type document struct {
		key  string
		body []byte
	}
	for table, key := range map[string]string{"webhook_deliveries": `id`, "responses": `agent || ' ' || scope || ' ' || key`} {
		all, err := list(ctx, f.Store, func(row dbutil.Scannable) (d document, err error) {
			err = row.Scan(&d.key, &d.body)
			return d, err
		}, `SELECT `+key+`, body FROM `+table+` WHERE question = $1`, id)
		if err != nil {
			return n, err
		}
		for _, d := range all {
			body, changed := f.Reader.ForgetIn(d.body, f.ID)
			if !changed {
				continue
			}
			if n++; f.Dry {
				continue
			}
			if _, err := f.exec(ctx, `UPDATE `+table+` SET body = $3 WHERE question = $1 AND `+key+` = $2`, id, d.key, body); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
