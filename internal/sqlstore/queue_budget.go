package sqlstore

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
)

// LockAgent implements [queue.Budgets].
func (s *Store) LockAgent(ctx context.Context, agent bridge.AgentID) error {
	return s.holdNamed(ctx, s.dialect.holdQueue, string(agent))
}

// holdNamed takes a lock of the dialect, if the database needs it.
func (s *Store) holdNamed(ctx context.Context, lock, name string) error {
	if lock == "" {
		return nil
	}
	_, err := s.exec(ctx, lock, name)
	return err
}

// NoteTurn implements [queue.Budgets].
func (s *Store) NoteTurn(ctx context.Context, agent bridge.AgentID, turn queue.Turn) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, noteTurn, agent, turn)
		return err
	})
}

const noteTurn = `
	INSERT INTO queue_agents (agent, highest_turn) VALUES ($1, $2)
	ON CONFLICT (agent) DO UPDATE SET highest_turn = excluded.highest_turn WHERE queue_agents.highest_turn < excluded.highest_turn`

// HighestTurn implements [queue.Budgets].
func (s *Store) HighestTurn(ctx context.Context, agent bridge.AgentID) (queue.Turn, error) {
	turn, _, err := first(ctx, s, column[queue.Turn], `SELECT highest_turn FROM queue_agents WHERE agent = $1`, agent)
	return turn, err
}

// SpendBudget implements [queue.Budgets].
func (s *Store) SpendBudget(ctx context.Context, b queue.Spending) (granted bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, spendBudget, b.Agent, b.Turn, b.Until, b.Turn-queue.BudgetTurns, b.Now)
		granted = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("spend the budget: %w", err)
	}
	return granted, nil
}

// grants holds for a bucket that grants an ask: the last one was on turn $4 or before, or the bucket's end is $5 or before.
const grants = `(queue_agents.last_ask_turn IS NULL OR queue_agents.last_ask_turn <= $4 OR queue_agents.bucket_ends <= $5)`

const spendBudget = `
	INSERT INTO queue_agents (agent, highest_turn, last_ask_turn, bucket_ends) VALUES ($1, $2, $2, $3)
	ON CONFLICT (agent) DO UPDATE SET last_ask_turn = excluded.last_ask_turn, bucket_ends = excluded.bucket_ends WHERE ` + grants

// BudgetLeft implements [queue.Budgets].
func (s *Store) BudgetLeft(ctx context.Context, b queue.Spending) (bool, error) {
	_, spent, err := first(ctx, s, column[int], budgetSpent, b.Agent, b.Turn-queue.BudgetTurns, b.Now)
	return err == nil && !spent, err
}

const budgetSpent = `SELECT 1 FROM queue_agents WHERE agent = $1 AND last_ask_turn > $2 AND bucket_ends > $3`

// SpendPersonBudget implements [queue.Budgets].
func (s *Store) SpendPersonBudget(ctx context.Context, b queue.PersonSpending) (granted bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.holdNamed(ctx, s.dialect.holdPerson, b.Whom); err != nil {
			return err
		}
		if _, err := s.exec(ctx, `DELETE FROM queue_person_asks WHERE whom = $1 AND asked_at <= $2`, b.Whom, b.Now.Add(-b.Per)); err != nil {
			return err
		}
		n, err := s.exec(ctx, spendPersonBudget, b.Whom, b.Now, b.Asks)
		granted = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("spend the budget of somebody who is asked: %w", err)
	}
	return granted, nil
}

const spendPersonBudget = `
	INSERT INTO queue_person_asks (whom, asked_at)
	SELECT $1, $2 WHERE (SELECT COUNT(*) FROM queue_person_asks WHERE whom = $1) < $3`

// Evidence implements [queue.Ledger].
func (s *Store) Evidence(ctx context.Context, agent bridge.AgentID, key string) (queue.Evidence, error) {
	e, _, err := first(ctx, s, func(row dbutil.Scannable) (e queue.Evidence, err error) {
		err = row.Scan(&e.Confidence, &e.Count)
		return e, err
	}, selectEvidence, agent, key)
	e.Key = key
	return e, err
}

const selectEvidence = `SELECT confidence, count FROM queue_evidence WHERE agent = $1 AND key = $2`

// SaveEvidence implements [queue.Ledger].
func (s *Store) SaveEvidence(ctx context.Context, agent bridge.AgentID, e queue.Evidence) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, saveEvidence, agent, e.Key, e.Confidence, e.Count)
		return err
	})
}

const saveEvidence = `
	INSERT INTO queue_evidence (agent, key, confidence, count) VALUES ($1, $2, $3, $4)
	ON CONFLICT (agent, key) DO UPDATE SET confidence = excluded.confidence, count = excluded.count`

// MarkApplied implements [queue.Ledger].
func (s *Store) MarkApplied(ctx context.Context, id queue.CandidateID) (isFirst bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE queue_candidates SET applied = TRUE WHERE id = $1 AND status = 'answered' AND NOT applied`, id)
		isFirst = n == 1
		return err
	})
	return isFirst && err == nil, err
}

// queueSwitch is the setting that an operator switches the queue off by.
const queueSwitch = "question_queue"

const queueOff = "off"

// QueueOff implements [queue.Store].
func (s *Store) QueueOff(ctx context.Context) (bool, error) {
	value, err := s.Value(ctx, queueSwitch)
	return value == queueOff, err
}

// SetQueueOff implements [queue.Store].
func (s *Store) SetQueueOff(ctx context.Context, off bool) error {
	value := "on"
	if off {
		value = queueOff
	}
	return s.SetValue(ctx, queueSwitch, value)
}
