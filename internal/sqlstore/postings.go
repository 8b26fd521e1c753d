package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// message is one of a posting's messages as its column holds it. Where its echo stands is kept with its link, since the
// echo may come before the posting is saved.
type message struct {
	ID       bridge.MessageID
	PostedAt int64
	Item     int
}

func stored(m bridge.Message) message {
	return message{ID: m.ID, PostedAt: m.PostedAt.UnixMilli(), Item: m.Item}
}

func (m message) message() bridge.Message {
	return bridge.Message{ID: m.ID, PostedAt: time.UnixMilli(m.PostedAt).UTC(), Item: m.Item}
}

// aside is one of a posting's asides as its column holds it.
type aside struct {
	message
	To    bridge.UserID
	About bridge.InteractionID
}

// Posting implements [bridge.Store].
func (s *Store) Posting(ctx context.Context, id bridge.QuestionID) (bridge.Posting, error) {
	if _, ok := s.transaction(ctx); ok {
		// First the lock, then the read: on PostgreSQL a query that waited would see the posting from before the wait.
		if err := s.hold(ctx, id); err != nil {
			return bridge.Posting{}, err
		}
	}
	p, ok, err := first(ctx, s, scanPosting, selectPosting, id)
	if err != nil || !ok {
		return bridge.Posting{}, found(ok, err, "question")
	}
	type echo struct {
		message bridge.MessageID
		seq     int64
		sentAt  *time.Time
	}
	echoes, err := list(ctx, s, func(row dbutil.Scannable) (e echo, err error) {
		err = row.Scan(text(&e.message), &e.seq, maybeMoment(&e.sentAt))
		return e, err
	}, selectEchoes, id, p.Conversation)
	if err != nil {
		return bridge.Posting{}, fmt.Errorf("posting of %s: %w", id, err)
	}
	for _, e := range echoes {
		for m := range all(&p) {
			if m.ID != e.message {
				continue
			}
			m.Seq = e.seq
			if e.sentAt != nil {
				m.PostedAt = *e.sentAt
			}
		}
	}
	return p, nil
}

// all goes through the messages and the asides.
func all(p *bridge.Posting) iter.Seq[*bridge.Message] {
	return func(yield func(*bridge.Message) bool) {
		for i := range p.Messages {
			if !yield(&p.Messages[i]) {
				return
			}
		}
		for i := range p.Asides {
			if !yield(&p.Asides[i].Message) {
				return
			}
		}
	}
}

const selectPosting = `
	SELECT q.id, COALESCE(p.conversation, q.conversation), q.revision, p.moving, p.changed_at, p.messages, p.asides, p.progress
	FROM questions q LEFT JOIN postings p ON p.question = q.id WHERE q.id = $1`

const selectEchoes = `SELECT message, seq, sent_at FROM message_links WHERE question = $1 AND conversation = $2 AND seq IS NOT NULL`

func scanPosting(row dbutil.Scannable) (p bridge.Posting, err error) {
	var moving *bool
	var changed *time.Time
	var messages []message
	var asides []aside
	err = row.Scan(text(&p.Question), text(&p.Conversation), &p.Revision, &moving, maybeMoment(&changed), decoded(&messages),
		decoded(&asides), raw(&p.Progress))
	if moving != nil {
		p.Moving = *moving
	}
	if changed != nil {
		p.ChangedAt = *changed
	}
	for _, m := range messages {
		p.Messages = append(p.Messages, m.message())
	}
	for _, a := range asides {
		p.Asides = append(p.Asides, bridge.Aside{Message: a.message.message(), To: a.To, About: a.About})
	}
	return p, err
}

// SavePosting implements [bridge.Store].
func (s *Store) SavePosting(ctx context.Context, p bridge.Posting) error {
	messages := make([]message, 0, len(p.Messages))
	for _, m := range p.Messages {
		messages = append(messages, stored(m))
	}
	asides := make([]aside, 0, len(p.Asides))
	for _, a := range p.Asides {
		asides = append(asides, aside{stored(a.Message), a.To, a.About})
	}
	encoded, err := encode(messages)
	if err != nil {
		return fmt.Errorf("save posting of %s: %w", p.Question, err)
	}
	encodedAsides, err := encode(asides)
	if err != nil {
		return fmt.Errorf("save posting of %s: %w", p.Question, err)
	}
	return s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, p.Question); err != nil {
			return err
		}
		if _, err := s.exec(ctx, savePosting, p.Question, p.Conversation, p.Moving, p.ChangedAt, encoded, encodedAsides, p.Progress); err != nil {
			return fmt.Errorf("save posting of %s: %w", p.Question, err)
		}
		for m := range all(&p) {
			var seq *int64
			if m.Seq != 0 {
				seq = &m.Seq
			}
			if _, err := s.exec(ctx, linkMessage, p.Conversation, m.ID, p.Question, seq, nil); err != nil {
				return fmt.Errorf("link a message to %s: %w", p.Question, err)
			}
		}
		return nil
	})
}

const savePosting = `
	INSERT INTO postings (question, conversation, moving, changed_at, messages, asides, progress) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (question) DO UPDATE SET conversation = excluded.conversation, moving = excluded.moving,
		changed_at = excluded.changed_at, messages = excluded.messages, asides = excluded.asides, progress = excluded.progress`

// A link is for good: it keeps its first question and the first place of its echo.
const linkMessage = `
	INSERT INTO message_links (conversation, message, question, seq, sent_at) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (conversation, message) DO UPDATE SET seq = COALESCE(message_links.seq, excluded.seq),
		sent_at = COALESCE(message_links.sent_at, excluded.sent_at)`

// Advance implements [bridge.Store].
func (s *Store) Advance(ctx context.Context, id bridge.QuestionID, revision int, progress json.RawMessage, moving bool) (bool, error) {
	advanced := false
	err := s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE questions SET revision = revision + 1 WHERE id = $1 AND state = 'pending' AND revision = $2`, id, revision)
		if err != nil {
			return fmt.Errorf("advance %s: %w", id, err)
		}
		if advanced = n == 1; !advanced {
			return s.hold(ctx, id)
		}
		if _, err := s.exec(ctx, advancePosting, id, moving, progress); err != nil {
			return fmt.Errorf("advance %s: %w", id, err)
		}
		return nil
	})
	return advanced && err == nil, err
}

// When the posting changed is said by whoever shows the new step.
const advancePosting = `
	INSERT INTO postings (question, conversation, moving, changed_at, messages, progress)
	SELECT id, conversation, $2, created_at, '[]', $3 FROM questions WHERE id = $1
	ON CONFLICT (question) DO UPDATE SET moving = excluded.moving, progress = excluded.progress`

// LinkMessage implements [bridge.Store].
func (s *Store) LinkMessage(ctx context.Context, conv bridge.ConversationID, m bridge.MessageID, id bridge.QuestionID) error {
	return s.link(ctx, bridge.Echo{Question: id, Conversation: conv, Message: m})
}

// SeenMessage implements [bridge.Store].
func (s *Store) SeenMessage(ctx context.Context, e bridge.Echo) error {
	return s.link(ctx, e)
}

// link ties a message to its question; an echo without a place is one that did not come yet.
func (s *Store) link(ctx context.Context, e bridge.Echo) error {
	var seq, sentAt any
	if e.Seq != 0 {
		seq, sentAt = e.Seq, e.SentAt
	}
	return s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, e.Question); err != nil {
			return err
		}
		_, err := s.exec(ctx, linkMessage, e.Conversation, e.Message, e.Question, seq, sentAt)
		return err
	})
}

// QuestionOf implements [bridge.Store].
func (s *Store) QuestionOf(ctx context.Context, conv bridge.ConversationID, m bridge.MessageID) (id bridge.QuestionID, ok bool, err error) {
	return first(ctx, s, func(row dbutil.Scannable) (id bridge.QuestionID, err error) {
		err = row.Scan(text(&id))
		return id, err
	}, questionOf, conv, m)
}

const questionOf = `SELECT question FROM message_links WHERE conversation = $1 AND message = $2`

// ForgetPostings deletes the postings of settled questions, at most limit: those that were answered at or before
// answered and have been closed, and those that neither changed nor were settled after changed. A message of theirs
// belongs to no question any more. The questions themselves stay.
func (s *Store) ForgetPostings(ctx context.Context, answered, changed time.Time, limit int) (n int, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		done, err := list(ctx, s, column[string], forgettable, answered, changed, limit)
		if n = len(done); err != nil || n == 0 {
			return err
		}
		args := make([]any, n)
		for i, id := range done {
			args[i] = id
		}
		for _, table := range []string{"postings", "message_links", "replies"} {
			if _, err := s.exec(ctx, `DELETE FROM `+table+` WHERE question IN (`+numbered(n)+`)`, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("forget postings: %w", err)
	}
	return n, nil
}

const forgettable = `
	SELECT p.question FROM postings p JOIN questions q ON q.id = p.question
	WHERE q.state = 'answered' AND q.settled_at <= $1
			AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.question = q.id AND e.lane = '' AND NOT e.failed)
		OR q.state <> 'pending' AND q.settled_at <= $2 AND p.changed_at <= $2
	LIMIT $3`
