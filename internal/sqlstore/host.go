package sqlstore

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/host"
)

// AddQuery implements [host.Store].
func (s *Store) AddQuery(ctx context.Context, a host.Asked) error {
	query, err := encode(a.Query)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context) error {
			n, err := s.exec(ctx, `INSERT INTO host_queries (question, agent, query_id, principal_id, status, query) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (agent, query_id) DO NOTHING`,
				a.Question, a.Agent, a.Query.QueryID, a.Query.Subject.ID, host.Waiting, query)
			if err == nil && n == 0 {
				err = &bridge.Error{Code: host.CodeQueryConflict, Reason: "the agent has handed in a query of this id"}
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("add a query: %w", err)
	}
	return nil
}

const selectQuery = `SELECT question, agent, query_id, query, status, response_id, reason, refused, receipt, next_query FROM host_queries WHERE `

func scanQuery(row dbutil.Scannable) (a host.Asked, err error) {
	var id string // what a person was taken out of has nothing else left
	err = row.Scan(text(&a.Question), text(&a.Agent), text(&id), decoded(&a.Query), text(&a.Status), text(&a.Response), text(&a.Reason), text(&a.Refused),
		decoded(&a.Receipt), decoded(&a.Next))
	a.Query.QueryID = id
	return a, err
}

// QueryOf implements [host.Store].
func (s *Store) QueryOf(ctx context.Context, agent bridge.AgentID, id gate.QueryID) (a host.Asked, ok bool, err error) {
	return first(ctx, s, scanQuery, queryOf, agent, id)
}

const queryOf = selectQuery + `agent = $1 AND query_id = $2`

// QueryAskedBy implements [host.Store].
func (s *Store) QueryAskedBy(ctx context.Context, q bridge.QuestionID) (a host.Asked, ok bool, err error) {
	return first(ctx, s, scanQuery, queryAskedBy, q)
}

const queryAskedBy = selectQuery + `question = $1`

// QueryKnown implements [host.Store].
func (s *Store) QueryKnown(ctx context.Context, id gate.QueryID) (bool, error) {
	_, ok, err := first(ctx, s, column[int], queryKnown, id)
	return ok, err
}

const queryKnown = `SELECT 1 FROM host_queries WHERE query_id = $1 OR next_query_id = $1 LIMIT 1`

// BeginSubmission implements [host.Store].
func (s *Store) BeginSubmission(ctx context.Context, q bridge.QuestionID, r gate.ResponseID) error {
	err := s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE host_queries SET status = 'submitting', response_id = $2 WHERE question = $1 AND status = 'waiting'`, q, r)
		if err == nil && n != 1 {
			err = fmt.Errorf("question %s is not waiting for its answer", q)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("begin a submission: %w", err)
	}
	return nil
}

// EndSubmission implements [host.Store].
func (s *Store) EndSubmission(ctx context.Context, q bridge.QuestionID, as host.Submission) (ended bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		a, ok, err := first(ctx, s, scanQuery, queryAskedBy+s.holdRow(ctx), q)
		if ended = ok && a.Status == host.Submitting; err != nil || !ended {
			return err
		}
		a.Query.Delivery.Capability = ""
		query, err := encode(a.Query)
		if err != nil {
			return err
		}
		var receipt, next, nextID any
		if as.Receipt != nil {
			if receipt, err = encode(as.Receipt); err != nil {
				return err
			}
		}
		if as.Next != nil {
			if next, err = encode(as.Next); err != nil {
				return err
			}
			nextID = as.Next.QueryID
		}
		_, err = s.exec(ctx, endSubmission, q, as.Status, as.Reason, as.Refused, query, receipt, next, nextID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end a submission: %w", err)
	}
	return ended, nil
}

const endSubmission = `
	UPDATE host_queries SET status = $2, reason = $3, refused = $4, query = $5, receipt = $6, next_query = $7, next_query_id = $8
	WHERE question = $1 AND status = 'submitting'`
