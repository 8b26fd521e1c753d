package sqlstore

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

const sendColumns = `key, question, conversation, transaction_id, first_try, message`

func scanSend(row dbutil.Scannable) (m bridge.Send, err error) {
	err = row.Scan(text(&m.Key), text(&m.Question), text(&m.Conversation), text(&m.TransactionID), moment(&m.FirstTry), text(&m.Message))
	return m, err
}

// BeginSend saves a send before its first try, or returns the one saved under its key.
func (s *Store) BeginSend(ctx context.Context, m bridge.Send) (saved bridge.Send, isNew bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if m.Question != "" {
			if err := s.hold(ctx, m.Question); err != nil {
				return err
			}
		}
		n, err := s.exec(ctx, `INSERT INTO sends (`+sendColumns+`) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO NOTHING`,
			m.Key, orNull(m.Question), m.Conversation, m.TransactionID, m.FirstTry, m.Message)
		if err != nil {
			return fmt.Errorf("begin send: %w", err)
		}
		isNew = n == 1
		var ok bool
		saved, ok, err = s.SendByKey(ctx, m.Key)
		return found(ok, err, "send")
	})
	if err != nil {
		return bridge.Send{}, false, err
	}
	return saved, isNew, nil
}

// SendDone records the message that a send became, unless one is recorded already, and gives the recorded one. It ties
// it to its question: from now on, what is said about it is about the question.
func (s *Store) SendDone(ctx context.Context, key string, m bridge.MessageID) (recorded bridge.MessageID, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		var ok bool
		recorded, ok, err = first(ctx, s, column[bridge.MessageID], sendDone, key, m)
		if err := found(ok, err, "send"); err != nil {
			return err
		}
		if _, err := s.exec(ctx, linkSend, key); err != nil {
			return fmt.Errorf("link what was sent: %w", err)
		}
		return nil
	})
	return recorded, err
}

const sendDone = `UPDATE sends SET message = CASE WHEN message = '' THEN $2 ELSE message END WHERE key = $1 RETURNING message`

const linkSend = `
	INSERT INTO message_links (conversation, message, question)
	SELECT conversation, message, question FROM sends WHERE key = $1 AND question IS NOT NULL
	ON CONFLICT (conversation, message) DO NOTHING`

// InDoubt says whether a message that we sent to the room, for a question, may have arrived without our knowing its id.
func (s *Store) InDoubt(ctx context.Context, room bridge.ConversationID) (bool, error) {
	_, ok, err := first(ctx, s, column[int64], inDoubt, room)
	return ok, err
}

const inDoubt = `SELECT number FROM sends WHERE conversation = $1 AND question IS NOT NULL AND message = '' LIMIT 1`

// SendByKey finds a send; ok is false when there is none.
func (s *Store) SendByKey(ctx context.Context, key string) (m bridge.Send, ok bool, err error) {
	return first(ctx, s, scanSend, `SELECT `+sendColumns+` FROM sends WHERE key = $1`, key)
}

// SendsOf lists the sends of a question, oldest first.
func (s *Store) SendsOf(ctx context.Context, q bridge.QuestionID) ([]bridge.Send, error) {
	return list(ctx, s, scanSend, `SELECT `+sendColumns+` FROM sends WHERE question = $1 ORDER BY number`, q)
}

// PurgeSends deletes sends that belong to no question and were first tried before a time, at most limit. Those of a
// question are forgotten with it.
func (s *Store) PurgeSends(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, purgeSends, before, limit)
		return err
	})
	return n, err
}

const purgeSends = `
	DELETE FROM sends
	WHERE number IN (SELECT number FROM sends WHERE question IS NULL AND first_try < $1 ORDER BY first_try LIMIT $2)`
