package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// StateOf gives all records of a type in a room, in the order of their keys.
func (s *Store) StateOf(ctx context.Context, room bridge.ConversationID, eventType string) ([]bridge.StateRecord, error) {
	return list(ctx, s, scanState, `SELECT `+stateColumns+` FROM room_state WHERE conversation = $1 AND type = $2 ORDER BY key`, room, eventType)
}

const stateColumns = `conversation, type, key, event, sender, sent_at, content`

func scanState(row dbutil.Scannable) (r bridge.StateRecord, err error) {
	err = row.Scan(text(&r.Conversation), text(&r.Type), text(&r.Key), text(&r.Event), text(&r.Sender), moment(&r.SentAt), raw(&r.Content))
	return r, err
}

// PutState stores one record in place of the one with the same type and key. It makes no copy of a room that has none.
func (s *Store) PutState(ctx context.Context, r bridge.StateRecord) error {
	return s.putStates(ctx, []bridge.StateRecord{r})
}

func (s *Store) putStates(ctx context.Context, records []bridge.StateRecord) error {
	return s.write(ctx, func(ctx context.Context) error {
		args := make([]any, 0, 7*len(records))
		for _, r := range records {
			args = append(args, r.Conversation, r.Type, r.Key, r.Event, r.Sender, r.SentAt, r.Content)
		}
		_, err := s.exec(ctx, `INSERT INTO room_state (`+stateColumns+`) VALUES `+placeholders(len(records), 7)+`
			ON CONFLICT (conversation, type, key) DO UPDATE SET event = excluded.event, sender = excluded.sender,
				sent_at = excluded.sent_at, content = excluded.content`, args...)
		return err
	})
}

// ReplaceState puts a fresh copy in place of everything known of the room, and clears its doubt. Of two records with the
// same type and key the later one counts.
func (s *Store) ReplaceState(ctx context.Context, room bridge.ConversationID, records []bridge.StateRecord) error {
	// One statement may not write a row twice.
	type key struct{ eventType, key string }
	place := map[key]int{}
	var fresh []bridge.StateRecord
	for _, r := range records {
		r.Conversation = room
		if i, ok := place[key{r.Type, r.Key}]; ok {
			fresh[i] = r
			continue
		}
		place[key{r.Type, r.Key}] = len(fresh)
		fresh = append(fresh, r)
	}
	err := s.Atomically(ctx, func(ctx context.Context) error {
		if _, err := s.exec(ctx, `DELETE FROM room_state WHERE conversation = $1`, room); err != nil {
			return err
		}
		for some := range slices.Chunk(fresh, 1000) {
			if err := s.putStates(ctx, some); err != nil {
				return err
			}
		}
		return s.setStanding(ctx, room, `known = TRUE, doubtful = FALSE`)
	})
	if err != nil {
		return fmt.Errorf("replace the state of %s: %w", room, err)
	}
	return nil
}

// ForgetState drops what is known of a room that we left; what is sticky stays.
func (s *Store) ForgetState(ctx context.Context, room bridge.ConversationID) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		if _, err := s.exec(ctx, `DELETE FROM room_state WHERE conversation = $1`, room); err != nil {
			return err
		}
		_, err := s.exec(ctx, `UPDATE room_standing SET known = FALSE, doubtful = FALSE WHERE conversation = $1`, room)
		return err
	})
}

// SetDoubtful marks a room's copy as not to be trusted until it is replaced.
func (s *Store) SetDoubtful(ctx context.Context, room bridge.ConversationID) error {
	return s.setStanding(ctx, room, `doubtful = TRUE`)
}

// SetEncrypted records for good that a room is encrypted.
func (s *Store) SetEncrypted(ctx context.Context, room bridge.ConversationID) error {
	return s.setStanding(ctx, room, `encrypted = TRUE`)
}

// setStanding changes a room's standing, which is all false before.
func (s *Store) setStanding(ctx context.Context, room bridge.ConversationID, change string) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		if _, err := s.exec(ctx, `INSERT INTO room_standing (conversation) VALUES ($1) ON CONFLICT DO NOTHING`, room); err != nil {
			return err
		}
		_, err := s.exec(ctx, `UPDATE room_standing SET `+change+` WHERE conversation = $1`, room)
		return err
	})
}

// Standing says whether there is a copy at all, whether it is doubtful, and whether the room was ever seen encrypted,
// which is never taken back.
func (s *Store) Standing(ctx context.Context, room bridge.ConversationID) (known, doubtful, encrypted bool, err error) {
	type standing struct{ known, doubtful, encrypted bool }
	found, _, err := first(ctx, s, func(row dbutil.Scannable) (r standing, err error) {
		err = row.Scan(&r.known, &r.doubtful, &r.encrypted)
		return r, err
	}, `SELECT known, doubtful, encrypted FROM room_standing WHERE conversation = $1`, room)
	return found.known, found.doubtful, found.encrypted, err
}

// KnownRooms lists the rooms with a copy.
func (s *Store) KnownRooms(ctx context.Context) ([]bridge.ConversationID, error) {
	return list(ctx, s, textOf[bridge.ConversationID], `SELECT conversation FROM room_standing WHERE known ORDER BY conversation`)
}

// RoomsOf lists the rooms whose copy has a membership of the user, of whatever kind.
func (s *Store) RoomsOf(ctx context.Context, user bridge.UserID) ([]bridge.ConversationID, error) {
	return list(ctx, s, textOf[bridge.ConversationID], `SELECT conversation FROM room_state WHERE type = 'm.room.member' AND key = $1 ORDER BY conversation`, user)
}

// Value gives what is kept under a name, "" when there is nothing.
func (s *Store) Value(ctx context.Context, name string) (string, error) {
	value, _, err := first(ctx, s, textOf[string], `SELECT value FROM settings WHERE name = $1`, name)
	return value, err
}

// SetValue keeps a value under a name.
func (s *Store) SetValue(ctx context.Context, name, value string) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
		return err
	})
}

// EnsureValue keeps a value under a name where there is none, and gives the one that stands there.
func (s *Store) EnsureValue(ctx context.Context, name, value string) (stands string, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if _, err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value); err != nil {
			return err
		}
		stands, err = s.Value(ctx, name)
		return err
	})
	return stands, err
}
