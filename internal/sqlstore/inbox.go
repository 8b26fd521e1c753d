package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// StoreEvents keeps a batch in one transaction, before it is acknowledged. An event whose id is known is skipped, and so
// is one that is not kept always in a conversation with neither a question, nor a send for one, nor an earlier event that
// is still to be handled: that may be a question, which what comes behind it answers. It returns how many were new.
func (s *Store) StoreEvents(ctx context.Context, events []bridge.Incoming) (n int, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n = 0
		if s.dialect.inOrder != "" {
			if _, err := s.exec(ctx, s.dialect.inOrder); err != nil {
				return err
			}
		}
		asked, err := s.asked(ctx, events)
		if err != nil {
			return err
		}
		wanted := make([]bridge.Incoming, 0, len(events))
		for _, e := range events {
			if e.Always || asked[e.Conversation] {
				wanted = append(wanted, e)
				asked[e.Conversation] = true
			}
		}
		for some := range slices.Chunk(wanted, 1000) {
			added, err := s.insertEvents(ctx, some)
			if err != nil {
				return err
			}
			n += added
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store events: %w", err)
	}
	return n, nil
}

// asked says which conversations of the events that are not kept always have a question or may have one: a send for one,
// since a question may move to another conversation before anything else is known of that, or events to be handled.
func (s *Store) asked(ctx context.Context, events []bridge.Incoming) (map[bridge.ConversationID]bool, error) {
	asked := map[bridge.ConversationID]bool{}
	var open []any
	for _, e := range events {
		if _, known := asked[e.Conversation]; !e.Always && !known {
			asked[e.Conversation] = false
			open = append(open, e.Conversation)
		}
	}
	for some := range slices.Chunk(open, 1000) {
		found, err := list(ctx, s, textOf[bridge.ConversationID], whereAsked(len(some)), some...)
		if err != nil {
			return nil, err
		}
		for _, conversation := range found {
			asked[conversation] = true
		}
	}
	return asked, nil
}

func whereAsked(n int) string {
	return `SELECT column1 FROM (VALUES ` + placeholders(n, 1) + `) AS these
	WHERE EXISTS (SELECT 1 FROM questions WHERE conversation = column1 AND state = 'pending')
		OR EXISTS (SELECT 1 FROM questions WHERE conversation = column1 AND state <> 'pending')
		OR EXISTS (SELECT 1 FROM sends WHERE conversation = column1 AND question IS NOT NULL)
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = column1 AND state = 'waiting')`
}

func (s *Store) insertEvents(ctx context.Context, events []bridge.Incoming) (int, error) {
	args := make([]any, 0, 7*len(events))
	for _, e := range events {
		state := "waiting"
		if e.Aside {
			state = "aside"
		}
		content := []byte(e.Raw)
		if content == nil {
			content = []byte{}
		}
		args = append(args, e.ID, e.Conversation, state, e.ReceivedAt, e.ReceivedAt, e.Why, content)
	}
	return s.exec(ctx, insertEvents+placeholders(len(events), 7)+` ON CONFLICT DO NOTHING`, args...)
}

const insertEvents = `INSERT INTO inbox (id, conversation, state, received_at, due, why, raw) VALUES `

// NextEvents gives unfinished due events in order of receipt, at most one of each conversation: the oldest unfinished
// one, and none of a conversation whose oldest is postponed.
func (s *Store) NextEvents(ctx context.Context, now time.Time, limit int) ([]bridge.InboxEvent, error) {
	events, err := list(ctx, s, func(row dbutil.Scannable) (e bridge.InboxEvent, err error) {
		err = row.Scan(&e.Seq, text(&e.ID), text(&e.Conversation), moment(&e.ReceivedAt), &e.Attempts, raw(&e.Raw))
		return e, err
	}, nextEvents, now, limit)
	if err != nil {
		return nil, fmt.Errorf("next events: %w", err)
	}
	return events, nil
}

// It steps from the head of one conversation to that of the next by the index, so that a thousand events waiting in one
// cost nothing.
const nextEvents = `
	WITH RECURSIVE heads (seq) AS (
		SELECT (SELECT i.seq FROM inbox i WHERE i.state = 'waiting' ORDER BY i.conversation, i.seq LIMIT 1)
		UNION ALL
		SELECT (
			SELECT i.seq FROM inbox i
			WHERE i.state = 'waiting' AND i.conversation > (SELECT h.conversation FROM inbox h WHERE h.seq = heads.seq)
			ORDER BY i.conversation, i.seq LIMIT 1
		) FROM heads WHERE heads.seq IS NOT NULL
	)
	SELECT seq, id, conversation, received_at, attempts, raw FROM inbox
	WHERE seq IN (SELECT seq FROM heads) AND due <= $1
	ORDER BY seq LIMIT $2`

// FinishInteraction implements [bridge.Store].
func (s *Store) FinishInteraction(ctx context.Context, id bridge.InteractionID) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `UPDATE inbox SET state = 'handled', raw = NULL, why = '' WHERE id = $1 AND state = 'waiting'`, id)
		return err
	})
}

// PostponeEvent makes an event due again later; its conversation waits for it.
func (s *Store) PostponeEvent(ctx context.Context, id bridge.InteractionID, until time.Time, why string) error {
	return s.changeEvent(ctx, `UPDATE inbox SET due = $2, why = $3, attempts = attempts + 1 WHERE id = $1 AND state = 'waiting'`, id, until, why)
}

// SetAside finishes an event that can never be handled and keeps it for the operator.
func (s *Store) SetAside(ctx context.Context, id bridge.InteractionID, why string) error {
	return s.changeEvent(ctx, `UPDATE inbox SET state = 'aside', why = $2 WHERE id = $1 AND state = 'waiting'`, id, why)
}

func (s *Store) changeEvent(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, query, args...)
		return found(n == 1, err, "waiting event")
	})
}

// PurgeInbox deletes finished events received before a time, at most limit. Until then their ids are known.
func (s *Store) PurgeInbox(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, purgeInbox, before, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge the inbox: %w", err)
	}
	return n, nil
}

const purgeInbox = `
	DELETE FROM inbox
	WHERE seq IN (SELECT seq FROM inbox WHERE state <> 'waiting' AND received_at < $1 ORDER BY received_at LIMIT $2)`

// AsideEvent is an event that could not be handled, and why.
type AsideEvent struct {
	bridge.InboxEvent
	Why string
}

// AsideEvents lists what was set aside, newest first.
func (s *Store) AsideEvents(ctx context.Context, limit int) ([]AsideEvent, error) {
	return list(ctx, s, func(row dbutil.Scannable) (a AsideEvent, err error) {
		err = row.Scan(&a.Seq, text(&a.ID), text(&a.Conversation), moment(&a.ReceivedAt), &a.Attempts, raw(&a.Raw), text(&a.Why))
		return a, err
	}, `SELECT seq, id, conversation, received_at, attempts, raw, why FROM inbox WHERE state = 'aside' ORDER BY seq DESC LIMIT $1`, limit)
}
