package sqlstore

import (
	"context"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// KeepReply implements [bridge.Store]. Kept again, a reply is replaced.
func (s *Store) KeepReply(ctx context.Context, r bridge.Reply) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, r.Question); err != nil {
			return err
		}
		_, err := s.exec(ctx, keepReply, r.ID, r.Conversation, r.Sender, r.Question, r.Step, r.Encrypted)
		return err
	})
}

const keepReply = `
	INSERT INTO replies (id, conversation, sender, question, step, encrypted) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, sender = excluded.sender,
		question = excluded.question, step = excluded.step, encrypted = excluded.encrypted`

// Reply implements [bridge.Store].
func (s *Store) Reply(ctx context.Context, id bridge.InteractionID) (r bridge.Reply, ok bool, err error) {
	return first(ctx, s, func(row dbutil.Scannable) (r bridge.Reply, err error) {
		err = row.Scan(text(&r.ID), text(&r.Conversation), text(&r.Sender), text(&r.Question), &r.Step, &r.Encrypted)
		return r, err
	}, `SELECT id, conversation, sender, question, step, encrypted FROM replies WHERE id = $1`, id)
}

// DropReply implements [bridge.Store].
func (s *Store) DropReply(ctx context.Context, id bridge.InteractionID) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `DELETE FROM replies WHERE id = $1`, id)
		return err
	})
}

// FirstTime implements [bridge.Store].
func (s *Store) FirstTime(ctx context.Context, id bridge.QuestionID, key string) (isNew bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, id); err != nil {
			return err
		}
		n, err := s.exec(ctx, `INSERT INTO courtesies (question, key) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, key)
		isNew = n == 1
		return err
	})
	return isNew && err == nil, err
}
