package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// Settle implements [bridge.Store].
func (s *Store) Settle(ctx context.Context, m bridge.Settlement) (q bridge.Question, won bool, err error) {
	switch {
	case m.State == bridge.Answered && m.Answer != nil && m.CancelledBy == "" && m.DismissedBy == "":
	case m.State == bridge.Cancelled && m.Answer == nil && (m.DismissedBy == "" || m.CancelledBy == bridge.ByResponder):
	default:
		return q, false, fmt.Errorf("settle %s: %q with answer %t, cancelled by %q", m.Question, m.State, m.Answer != nil, m.CancelledBy)
	}
	answer, err := encodeAnswer(m.Answer)
	if err != nil {
		return q, false, fmt.Errorf("settle %s: %w", m.Question, err)
	}
	err = s.write(ctx, func(ctx context.Context) error {
		q, won, err = first(ctx, s, scanQuestion, settle, m.Question, m.State, m.At, answer, orNull(m.CancelledBy), m.Reason, m.Revision, orNull(m.DismissedBy))
		return err
	})
	if err != nil {
		return bridge.Question{}, false, fmt.Errorf("settle %s: %w", m.Question, err)
	}
	if !won {
		// Whoever won has committed: the update above waited for it.
		q, err = s.Question(ctx, m.Question)
	}
	return q, won, err
}

// A cancellation is allowed after the deadline, until the sweep comes.
const settle = `
	UPDATE questions SET state = $2, settled_at = $3, answer = $4, cancelled_by = $5, reason = $6, dismissed_by = $8
	WHERE id = $1 AND state = 'pending' AND ($2 <> 'answered' OR expires_at > $3) AND ($7 = -1 OR revision = $7)
	RETURNING ` + questionColumns

// ExpireDue implements [bridge.Store].
func (s *Store) ExpireDue(ctx context.Context, now time.Time, limit int) ([]bridge.Lapsed, error) {
	type due struct {
		bridge.Lapsed
		at time.Time
	}
	var expired []due
	err := s.write(ctx, func(ctx context.Context) (err error) {
		expired, err = list(ctx, s, func(row dbutil.Scannable) (d due, err error) {
			err = row.Scan(text(&d.ID), text(&d.Asker), text(&d.Conversation), moment(&d.at))
			return d, err
		}, s.expireDue(), now, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("expire questions: %w", err)
	}
	slices.SortFunc(expired, func(a, b due) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.ID, b.ID)) })
	lapsed := make([]bridge.Lapsed, len(expired))
	for i, d := range expired {
		lapsed[i] = d.Lapsed
	}
	return lapsed, nil
}

// The state stands there twice: a question that was answered after it was selected is looked at again by the update.
func (s *Store) expireDue() string {
	return `
	WITH due (place) AS MATERIALIZED (
		SELECT ` + s.dialect.row + ` FROM questions WHERE state = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2
	)
	UPDATE questions SET state = 'expired', settled_at = $1
	WHERE ` + s.dialect.row + ` IN (SELECT place FROM due) AND state = 'pending'
	RETURNING id, asker, conversation, expires_at`
}

// NextDeadline implements [bridge.Store].
func (s *Store) NextDeadline(ctx context.Context) (at time.Time, ok bool, err error) {
	ms, ok, err := first(ctx, s, column[int64], nextDeadline)
	if err != nil || !ok {
		return time.Time{}, false, err
	}
	return time.UnixMilli(ms).UTC(), true, nil
}

const nextDeadline = `SELECT expires_at FROM questions WHERE state = 'pending' ORDER BY expires_at LIMIT 1`

// Forget implements [bridge.Store].
func (s *Store) Forget(ctx context.Context, now time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, forget, now, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget questions: %w", err)
	}
	return n, nil
}

// Everything that hangs on a question goes with it, by its foreign key.
const forget = `
	DELETE FROM questions
	WHERE id IN (SELECT id FROM questions WHERE state <> 'pending' AND forget_after <= $1 ORDER BY forget_after LIMIT $2)`
