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

// AddEffects implements [bridge.Outbox].
func (s *Store) AddEffects(ctx context.Context, effects ...bridge.Effect) error {
	var questions []bridge.QuestionID
	for _, e := range effects {
		if e.Question != "" {
			questions = append(questions, e.Question)
		}
	}
	return s.Atomically(ctx, func(ctx context.Context) error {
		// Whoever adds effects to a question at the same time waits, so that their numbers are in the order of commit. On
		// SQLite everybody who writes does so anyway.
		if s.dialect.holdRow != "" {
			if err := s.hold(ctx, questions...); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(effects, 500) {
			args := make([]any, 0, 7*len(some))
			for _, e := range some {
				args = append(args, orNull(e.Question), e.Lane, e.Kind, e.Key, e.Due, e.Due, e.Payload)
			}
			_, err := s.exec(ctx, insertEffects+placeholders(len(some), 7), args...)
			if orphaned(err) {
				return notFound("question")
			}
			if err != nil {
				return fmt.Errorf("add effects: %w", err)
			}
		}
		return nil
	})
}

const insertEffects = `INSERT INTO effects (question, lane, kind, key, due, owed_since, payload) VALUES `

// ClaimEffects implements [bridge.Outbox]. The Due of a claimed effect is when its lease ends.
func (s *Store) ClaimEffects(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]bridge.Effect, error) {
	return s.claim(ctx, s.claimEffects(`TRUE`), now, now.Add(lease), limit)
}

func (s *Store) claim(ctx context.Context, query string, args ...any) (claimed []bridge.Effect, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		claimed, err = list(ctx, s, scanEffect, query, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim effects: %w", err)
	}
	slices.SortFunc(claimed, func(a, b bridge.Effect) int { return cmp.Compare(a.ID, b.ID) })
	return claimed, nil
}

func (s *Store) claimEffects(part string) string {
	return `
	WITH due AS MATERIALIZED (
		SELECT id FROM effects WHERE NOT failed AND due <= $1 AND ` + part + ` AND ` + isFirst + ` ORDER BY due, id LIMIT $3` + s.dialect.takeRow + `
	)
	UPDATE effects SET due = $2, claimed = TRUE, attempts = attempts + 1
	WHERE id IN (SELECT id FROM due)
	RETURNING id, question, lane, kind, key, due, attempts, failures, payload`
}

// isFirst holds for an effect without an earlier unfinished one of its question and lane.
const isFirst = `NOT EXISTS (
	SELECT 1 FROM effects earlier
	WHERE earlier.question = effects.question AND earlier.lane = effects.lane AND earlier.id < effects.id AND NOT earlier.failed)`

func scanEffect(row dbutil.Scannable) (e bridge.Effect, err error) {
	err = row.Scan(&e.ID, text(&e.Question), text(&e.Lane), text(&e.Kind), text(&e.Key), moment(&e.Due), &e.Attempts, &e.Failures, raw(&e.Payload))
	return e, err
}

// FinishEffect implements [bridge.Outbox].
func (s *Store) FinishEffect(ctx context.Context, id int64) error {
	return s.changeEffect(ctx, `DELETE FROM effects WHERE id = $1 AND NOT failed`, id)
}

// PostponeEffect implements [bridge.Outbox].
func (s *Store) PostponeEffect(ctx context.Context, id int64, due time.Time, why string) error {
	return s.changeEffect(ctx, `UPDATE effects SET due = $2, why = $3, claimed = FALSE WHERE id = $1 AND NOT failed`, id, due, why)
}

// RetryEffect implements [bridge.Outbox].
func (s *Store) RetryEffect(ctx context.Context, id int64, due time.Time, why string) error {
	return s.changeEffect(ctx, `UPDATE effects SET due = $2, why = $3, claimed = FALSE, failures = failures + 1 WHERE id = $1 AND NOT failed`, id, due, why)
}

// FailEffect implements [bridge.Outbox].
func (s *Store) FailEffect(ctx context.Context, id int64, why string) error {
	return s.changeEffect(ctx, `UPDATE effects SET failed = TRUE, claimed = FALSE, why = $2 WHERE id = $1`, id, why)
}

func (s *Store) changeEffect(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, query, args...)
		return found(n == 1, err, "effect")
	})
}

// ReleaseEffects ends every lease: what a process had claimed when it died is due now. Only the one process that serves
// the database may call it, before it claims anything itself.
func (s *Store) ReleaseEffects(ctx context.Context, now time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `UPDATE effects SET claimed = FALSE, due = $1 WHERE claimed AND NOT failed`, now)
		return err
	})
}

// HastenEffects implements [bridge.Outbox].
func (s *Store) HastenEffects(ctx context.Context, id bridge.QuestionID, now time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, hasten, id, now)
		return err
	})
}

const hasten = `UPDATE effects SET due = $2 WHERE question = $1 AND lane = '' AND NOT failed AND NOT claimed AND due > $2`

// NextEffect implements [bridge.Outbox].
func (s *Store) NextEffect(ctx context.Context) (at time.Time, ok bool, err error) {
	return s.next(ctx, nextEffect(`TRUE`))
}

func (s *Store) next(ctx context.Context, query string, args ...any) (at time.Time, ok bool, err error) {
	ms, ok, err := first(ctx, s, column[int64], query, args...)
	if err != nil || !ok {
		return time.Time{}, false, err
	}
	return time.UnixMilli(ms).UTC(), true, nil
}

func nextEffect(part string) string {
	return `SELECT due FROM effects WHERE NOT failed AND ` + part + ` AND ` + isFirst + ` ORDER BY due LIMIT 1`
}

// FailedEffect is an effect that was given up, and why.
type FailedEffect struct {
	bridge.Effect
	Why string
}

// FailedEffects lists what was given up, newest first.
func (s *Store) FailedEffects(ctx context.Context, limit int) ([]FailedEffect, error) {
	return list(ctx, s, func(row dbutil.Scannable) (f FailedEffect, err error) {
		err = row.Scan(&f.ID, text(&f.Question), text(&f.Lane), text(&f.Kind), text(&f.Key), moment(&f.Due), &f.Attempts, raw(&f.Payload), text(&f.Why))
		return f, err
	}, `SELECT id, question, lane, kind, key, due, attempts, payload, why FROM effects WHERE failed ORDER BY id DESC LIMIT $1`, limit)
}
