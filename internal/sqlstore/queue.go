package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
)

var _ queue.Store = (*Store)(nil)

// AddCandidate implements [queue.Candidates].
func (s *Store) AddCandidate(ctx context.Context, c queue.Candidate) error {
	definition, err := encode(proposed{c.Text, c.Source, c.Targets, c.Options, c.CueTokens})
	if err != nil {
		return fmt.Errorf("add candidate %s: %w", c.ID, err)
	}
	err = s.Atomically(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, insertCandidate, c.ID, c.Agent, c.Kind, c.Signal, c.Status, c.AskCount, c.CreatedTurn, c.ExpiresTurn, c.LastSeenTurn,
			c.DeliveredTurn, c.CooldownUntil, c.ResolvedTurn, c.AnswerOption, c.Applied, c.CreatedAt, sameText(c.Text), orNull(c.Disjunction),
			orNull(c.Question), orNull(c.Leader), definition)
		if err != nil {
			return err
		}
		return s.addNames(ctx, c)
	})
	if err != nil {
		return fmt.Errorf("add candidate %s: %w", c.ID, err)
	}
	return nil
}

const insertCandidate = `
	INSERT INTO queue_candidates (id, agent, kind, signal, status, ask_count, created_turn, expires_turn, last_seen_turn, delivered_turn,
		cooldown_until, resolved_turn, answer_option, applied, created_at, same_text, disjunction, question, leader, definition)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`

// addNames stores what a candidate is found by.
func (s *Store) addNames(ctx context.Context, c queue.Candidate) error {
	for some := range slices.Chunk(c.Targets, 500) {
		var args []any
		for _, t := range some {
			args = append(args, c.ID, c.Agent, t.Key)
		}
		if _, err := s.exec(ctx, `INSERT INTO queue_keys (candidate, agent, key) VALUES `+placeholders(len(some), 3), args...); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(c.CueTokens, 500) {
		var args []any
		for _, token := range some {
			args = append(args, c.ID, c.Agent, token, c.LastSeenTurn, c.AskCount, c.CreatedTurn)
		}
		if _, err := s.exec(ctx, insertCues+placeholders(len(some), 6), args...); err != nil {
			return err
		}
	}
	return nil
}

const insertCues = `INSERT INTO queue_cues (candidate, agent, token, last_seen_turn, ask_count, created_turn) VALUES `

// Candidate implements [queue.Candidates].
func (s *Store) Candidate(ctx context.Context, agent bridge.AgentID, id queue.CandidateID) (queue.Candidate, error) {
	c, ok, err := first(ctx, s, scanCandidate, selectCandidate, id, agent)
	if err == nil && !ok {
		err = &bridge.Error{Code: queue.CodeCandidateUnknown, Reason: "there is no such candidate"}
	}
	return c, err
}

const selectCandidate = `SELECT ` + candidateColumns + ` FROM queue_candidates c WHERE c.id = $1 AND c.agent = $2`

// CandidateOf implements [queue.Candidates].
func (s *Store) CandidateOf(ctx context.Context, q bridge.QuestionID) (queue.Candidate, bool, error) {
	return first(ctx, s, scanCandidate, candidateOf, q)
}

const candidateOf = `SELECT ` + candidateColumns + ` FROM queue_candidates c WHERE c.question = $1 AND c.leader IS NULL`

// AskedOf implements [queue.Candidates].
func (s *Store) AskedOf(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return s.questionsIn(ctx, "queue_candidates", ids)
}

// questionsIn gives those of the questions that the column question of a table has, in no order.
func (s *Store) questionsIn(ctx context.Context, table string, ids []bridge.QuestionID) (found []bridge.QuestionID, err error) {
	for some := range slices.Chunk(ids, 500) {
		query := `SELECT DISTINCT question FROM ` + table + ` WHERE question IN (` + numbered(len(some)) + `)`
		there, err := list(ctx, s, column[bridge.QuestionID], query, withList(nil, some)...)
		if err != nil {
			return nil, fmt.Errorf("questions in %s: %w", table, err)
		}
		found = append(found, there...)
	}
	return found, nil
}

// TouchCandidate implements [queue.Candidates].
func (s *Store) TouchCandidate(ctx context.Context, id queue.CandidateID, turn queue.Turn) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, touchCandidate, id, turn)
		if err != nil || n == 0 {
			return err
		}
		return s.touchCues(ctx, []queue.CandidateID{id}, turn)
	})
}

// isOpen is [queue.Candidate.Open].
const isOpen = `status IN ('pending', 'delivered', 'cooled')`

const touchCandidate = `UPDATE queue_candidates SET last_seen_turn = $2 WHERE id = $1 AND last_seen_turn < $2 AND ` + isOpen

func (s *Store) touchCues(ctx context.Context, ids []queue.CandidateID, turn queue.Turn) error {
	for some := range slices.Chunk(ids, 500) {
		_, err := s.exec(ctx, `UPDATE queue_cues SET last_seen_turn = $1 WHERE candidate IN (`+numberedFrom(2, len(some))+`)`, withList([]any{turn}, some)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// NoteUse implements [queue.Candidates].
func (s *Store) NoteUse(ctx context.Context, agent bridge.AgentID, keys []string, turn queue.Turn) (int, error) {
	var used []queue.CandidateID
	err := s.Atomically(ctx, func(ctx context.Context) error {
		used = nil
		for some := range slices.Chunk(keys, 500) {
			ids, err := list(ctx, s, textOf[queue.CandidateID], noteUse(len(some)), withList([]any{agent, turn}, some)...)
			if err != nil {
				return err
			}
			used = append(used, ids...)
		}
		return s.touchCues(ctx, used, turn)
	})
	if err != nil {
		return 0, fmt.Errorf("note a use: %w", err)
	}
	return len(used), nil
}

func noteUse(keys int) string {
	return `
	UPDATE queue_candidates SET last_seen_turn = $2
	WHERE id IN (SELECT candidate FROM queue_keys WHERE agent = $1 AND key IN (` + numberedFrom(3, keys) + `)) AND last_seen_turn < $2 AND ` + isOpen + `
	RETURNING id`
}

// MoveCandidate implements [queue.Candidates].
func (s *Store) MoveCandidate(ctx context.Context, from, to queue.Candidate) (moved bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, moveCandidate, from.ID, from.Status, from.AskCount, from.DeliveredTurn, to.Status, to.AskCount, to.DeliveredTurn,
			to.CooldownUntil, to.ResolvedTurn, to.AnswerOption, orNull(to.Question), orNull(to.Leader))
		moved = n == 1
		if err != nil || !moved {
			return err
		}
		return s.moveNames(ctx, to)
	})
	if err != nil {
		return false, fmt.Errorf("move candidate %s: %w", from.ID, err)
	}
	return moved, nil
}

const moveCandidate = `
	UPDATE queue_candidates SET status = $5, ask_count = $6, delivered_turn = $7, cooldown_until = $8, resolved_turn = $9, answer_option = $10,
		question = $11, leader = $12
	WHERE id = $1 AND status = $2 AND ask_count = $3 AND delivered_turn IS NOT DISTINCT FROM $4`

// moveNames keeps what a candidate is found by in step with its status.
func (s *Store) moveNames(ctx context.Context, c queue.Candidate) error {
	switch c.Status {
	case queue.Delivered:
		_, err := s.exec(ctx, `UPDATE queue_cues SET ask_count = $2 WHERE candidate = $1`, c.ID, c.AskCount)
		return err
	case queue.Answered, queue.Expired:
		return s.dropNames(ctx, c.Status, []queue.CandidateID{c.ID})
	}
	return nil
}

// dropNames forgets the cues of candidates that are answered or expired, and also the keys of those that are expired.
func (s *Store) dropNames(ctx context.Context, status queue.Status, ids []queue.CandidateID) error {
	tables := []string{"queue_cues"}
	if status == queue.Expired {
		tables = append(tables, "queue_keys")
	}
	for some := range slices.Chunk(ids, 500) {
		for _, table := range tables {
			if _, err := s.exec(ctx, `DELETE FROM `+table+` WHERE candidate IN (`+numberedFrom(1, len(some))+`)`, withList(nil, some)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExpireLapsed implements [queue.Candidates].
func (s *Store) ExpireLapsed(ctx context.Context, agent bridge.AgentID, turn queue.Turn, limit int) (int, error) {
	var expired []queue.CandidateID
	err := s.Atomically(ctx, func(ctx context.Context) (err error) {
		if expired, err = list(ctx, s, textOf[queue.CandidateID], expireLapsed, agent, turn, limit); err != nil {
			return err
		}
		return s.dropNames(ctx, queue.Expired, expired)
	})
	if err != nil {
		return 0, fmt.Errorf("expire candidates: %w", err)
	}
	return len(expired), nil
}

// waits holds for what may be delivered, or will after its cooldown.
const waits = `status IN ('pending', 'cooled')`

// The status stands there twice, as in expireDue.
const expireLapsed = `
	UPDATE queue_candidates SET status = 'expired', cooldown_until = NULL, resolved_turn = $2
	WHERE id IN (SELECT id FROM queue_candidates WHERE agent = $1 AND ` + waits + ` AND expires_turn < $2 ORDER BY expires_turn LIMIT $3) AND ` + waits + `
	RETURNING id`

// PruneCandidates implements [queue.Candidates].
func (s *Store) PruneCandidates(ctx context.Context, agent bridge.AgentID, turn queue.Turn, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, pruneCandidates, agent, turn-queue.RetentionTurns, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("prune candidates: %w", err)
	}
	return n, nil
}

// What hangs on a candidate goes with it, by its foreign key.
const pruneCandidates = `
	DELETE FROM queue_candidates WHERE id IN (
		SELECT id FROM queue_candidates WHERE agent = $1 AND status <> 'pending' AND COALESCE(resolved_turn, last_seen_turn) < $2
		ORDER BY COALESCE(resolved_turn, last_seen_turn) LIMIT $3)`
