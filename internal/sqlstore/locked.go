package sqlstore

import (
	"context"
	"fmt"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// LockEvent sets a waiting event aside until the key of its session comes, so that what is behind it goes on.
func (s *Store) LockEvent(ctx context.Context, id bridge.InteractionID, session string) error {
	err := s.Atomically(ctx, func(ctx context.Context) error {
		if _, err := s.exec(ctx, lockEvent, id, session); err != nil {
			return err
		}
		return s.FinishInteraction(ctx, id)
	})
	if err != nil {
		return fmt.Errorf("lock an event: %w", err)
	}
	return nil
}

const lockEvent = `
	INSERT INTO locked_events (id, conversation, session, received_at, raw)
	SELECT id, conversation, $2, received_at, raw FROM inbox WHERE id = $1 AND state = 'waiting'
	ON CONFLICT (id) DO NOTHING`

// UnlockEvents lets what waits for the key of a session in a room be handled again, in its old place in the order of
// receipt. It returns how many events there were.
func (s *Store) UnlockEvents(ctx context.Context, room bridge.ConversationID, session string, now time.Time) (int, error) {
	return s.unlock(ctx, `conversation = $2 AND session = $3`, now, room, session)
}

// UnlockAllEvents does the same with all that waits for any key.
func (s *Store) UnlockAllEvents(ctx context.Context, now time.Time) (int, error) {
	return s.unlock(ctx, `TRUE`, now)
}

func (s *Store) unlock(ctx context.Context, which string, now time.Time, args ...any) (n int, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, `UPDATE inbox SET state = 'waiting', due = $1, attempts = 0,
				raw = (SELECT l.raw FROM locked_events l WHERE l.id = inbox.id)
			WHERE state = 'handled' AND id IN (SELECT id FROM locked_events WHERE `+which+`)`, append([]any{now}, args...)...)
		if err != nil || n == 0 {
			return err
		}
		_, err = s.exec(ctx, `DELETE FROM locked_events WHERE id IN (SELECT id FROM inbox WHERE state = 'waiting')`)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("unlock events: %w", err)
	}
	return n, nil
}

// IsLocked says whether an event still waits for its key.
func (s *Store) IsLocked(ctx context.Context, id bridge.InteractionID) (bool, error) {
	_, ok, err := first(ctx, s, column[string], `SELECT id FROM locked_events WHERE id = $1`, id)
	return ok, err
}

// PurgeLocked forgets the events that were received before a time and whose key never came, at most limit.
func (s *Store) PurgeLocked(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, purgeLocked, before, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget locked events: %w", err)
	}
	return n, nil
}

const purgeLocked = `
	DELETE FROM locked_events
	WHERE id IN (SELECT id FROM locked_events WHERE received_at < $1 ORDER BY received_at LIMIT $2)`
