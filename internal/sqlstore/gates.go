package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/internal/gate/collector"
)

var _ collector.Store = (*Store)(nil)

// AddGate implements [collector.Store].
func (s *Store) AddGate(ctx context.Context, g collector.Gate) (added bool, err error) {
	definition, err := encode(openedWith{g.Requester, g.Purpose, g.Route, g.Mode, g.Revision})
	if err != nil {
		return false, fmt.Errorf("add gate %s: %w", g.ID, err)
	}
	protected, err := protectedOf(g)
	if err != nil {
		return false, fmt.Errorf("add gate %s: %w", g.ID, err)
	}
	var request []byte
	if g.Request.Key != "" {
		request = g.Request.Hash[:]
	}
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, insertGate, g.ID, g.Agent, g.Conversation, orNull(g.Question), g.State, g.Reason, g.Due(), g.CorrelationID,
			g.CreatedAt, g.ForgetAfter, g.Principal.Kind, g.Principal.ID, g.Principal.Scope, orNull(g.Request.Key), request, definition, protected)
		added = n == 1
		if err != nil || !added {
			return err
		}
		if err := s.addQuery(ctx, g.ID, g.Approval, false); err != nil || g.Continuation == nil {
			return err
		}
		return s.addQuery(ctx, g.ID, *g.Continuation, true)
	})
	if err != nil {
		return false, fmt.Errorf("add gate %s: %w", g.ID, err)
	}
	return added, nil
}

const insertGate = `
	INSERT INTO gates (id, agent, conversation, question, state, reason, due, correlation_id, created_at, forget_after, principal_kind,
		principal_id, principal_scope, request_key, request, definition, protected)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
	ON CONFLICT (agent, conversation, request_key) WHERE request_key IS NOT NULL DO NOTHING`

func (s *Store) addQuery(ctx context.Context, of collector.GateID, q collector.Asked, continuation bool) error {
	definition, err := encode(textOfQuery(q.Query))
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, insertQuery, q.ID, of, continuation, q.ExpiresAt, definition); err != nil || q.Accepted == nil {
		return err
	}
	first, err := s.Accept(ctx, *q.Accepted)
	return found(first, err, "query")
}

const insertQuery = `INSERT INTO gate_queries (id, gate, continuation, expires_at, definition) VALUES ($1, $2, $3, $4, $5)`

// Accept implements [collector.Store].
func (s *Store) Accept(ctx context.Context, a collector.Accepted) (first bool, err error) {
	answer, err := encode(a.Answer)
	if err != nil {
		return false, fmt.Errorf("accept a response to query %s: %w", a.Query, err)
	}
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, acceptResponse, a.Query, a.ID, a.Respondent, a.Provenance, answer, a.RespondedAt, a.ReceivedAt)
		first = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("accept a response to query %s: %w", a.Query, err)
	}
	return first, nil
}

const acceptResponse = `
	UPDATE gate_queries SET response = $2, respondent = $3, provenance = $4, answer = $5, responded_at = $6, received_at = $7
	WHERE id = $1 AND response IS NULL AND expires_at > $7`

// MoveGate implements [collector.Store].
func (s *Store) MoveGate(ctx context.Context, from, to collector.Gate) (moved bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, moveGate, from.ID, from.State, to.State, to.Reason, to.Due())
		moved = n == 1
		if err != nil || !moved || from.Continuation != nil || to.Continuation == nil {
			return err
		}
		return s.addQuery(ctx, to.ID, *to.Continuation, true)
	})
	if err != nil {
		return false, fmt.Errorf("move gate %s: %w", from.ID, err)
	}
	return moved, nil
}

const moveGate = `UPDATE gates SET state = $3, reason = $4, due = $5, protected = NULL WHERE id = $1 AND state = $2`

// ExpireGates implements [collector.Store].
func (s *Store) ExpireGates(ctx context.Context, now time.Time, limit int) (expired []collector.Gate, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if expired, err = list(ctx, s, scanGate, expireGates, now, limit); err != nil {
			return err
		}
		return s.withQueries(ctx, expired)
	})
	if err != nil {
		return nil, fmt.Errorf("expire gates: %w", err)
	}
	slices.SortFunc(expired, func(a, b collector.Gate) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return expired, nil
}

// What is due stands there twice: a gate that moved after it was selected is looked at again by the update.
const expireGates = `
	UPDATE gates SET state = 'expired', due = NULL, protected = NULL
	WHERE id IN (SELECT id FROM gates WHERE due <= $1 ORDER BY due LIMIT $2) AND due <= $1
	RETURNING ` + gateColumns

// NextGateDeadline implements [collector.Store].
func (s *Store) NextGateDeadline(ctx context.Context) (at time.Time, ok bool, err error) {
	ms, ok, err := first(ctx, s, column[int64], nextGateDeadline)
	if err != nil || !ok {
		return time.Time{}, false, err
	}
	return time.UnixMilli(ms).UTC(), true, nil
}

const nextGateDeadline = `SELECT due FROM gates WHERE due IS NOT NULL ORDER BY due LIMIT 1`

// ForgetGates implements [collector.Store].
func (s *Store) ForgetGates(ctx context.Context, now time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, forgetGates, now, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget gates: %w", err)
	}
	return n, nil
}

// The queries of a gate go with it, by their foreign key.
const forgetGates = `
	DELETE FROM gates WHERE id IN (
		SELECT id FROM gates WHERE forget_after <= $1 AND state NOT IN ('open', 'approved') ORDER BY forget_after LIMIT $2)`
