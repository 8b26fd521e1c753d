package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// CreateQuestion implements [bridge.Store]. A delivery without a state is queued.
func (s *Store) CreateQuestion(ctx context.Context, q bridge.Question) error {
	if q.State != bridge.Pending {
		return fmt.Errorf("create question %s: it is %q, not pending", q.ID, q.State)
	}
	if q.Delivery.State == "" {
		q.Delivery.State = bridge.Queued
	}
	asked, err := encode(define(q))
	if err != nil {
		return fmt.Errorf("create question %s: %w", q.ID, err)
	}
	var subjectID, subjectRevision any
	if q.Subject != nil {
		subjectID, subjectRevision = q.Subject.ID, q.Subject.Revision
	}
	return s.write(ctx, func(ctx context.Context) error {
		// A clash is no error of the database, which on PostgreSQL would end the caller's transaction.
		n, err := s.exec(ctx, insertQuestion, q.ID, q.Asker, q.ElicitationID, q.Conversation, q.CorrelationID, q.Revision,
			q.CreatedAt, q.ExpiresAt, q.ForgetAfter, q.Delivery.State, q.Delivery.Message, q.Delivery.Reason, asked, q.Data, q.Content,
			subjectID, subjectRevision)
		if err != nil {
			return fmt.Errorf("create question %s: %w", q.ID, err)
		}
		if n == 1 {
			return nil
		}
		_, err = s.QuestionByElicitation(ctx, q.Asker, q.ElicitationID)
		switch {
		case err == nil:
			return &bridge.Error{Code: bridge.CodeElicitationConflict, Reason: "this asker has used this elicitation id already"}
		case bridge.CodeOf(err) == bridge.CodeNotFound:
			return fmt.Errorf("create question %s: its id is taken", q.ID)
		default:
			return err
		}
	})
}

const insertQuestion = `
	INSERT INTO questions (id, asker, elicitation_id, conversation, correlation_id, state, revision, reason, created_at, expires_at,
		forget_after, delivery_state, delivery_message, delivery_reason, definition, data, content, subject_id, subject_revision)
	VALUES ($1, $2, $3, $4, $5, 'pending', $6, '', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
	ON CONFLICT DO NOTHING`

// Question implements [bridge.Store].
func (s *Store) Question(ctx context.Context, id bridge.QuestionID) (bridge.Question, error) {
	q, ok, err := first(ctx, s, scanQuestion, selectQuestion+s.holdRow(ctx), id)
	return q, found(ok, err, "question")
}

const selectQuestion = `SELECT ` + questionColumns + ` FROM questions WHERE id = $1`

// QuestionByElicitation implements [bridge.Store].
func (s *Store) QuestionByElicitation(ctx context.Context, asker bridge.AgentID, elicitation string) (bridge.Question, error) {
	q, ok, err := first(ctx, s, scanQuestion, selectByElicitation+s.holdRow(ctx), asker, elicitation)
	return q, found(ok, err, "question")
}

const selectByElicitation = `SELECT ` + questionColumns + ` FROM questions WHERE asker = $1 AND elicitation_id = $2`

// holdRow ends a query whose rows must stay as they are until the transaction ends, if there is one.
func (s *Store) holdRow(ctx context.Context) string {
	if _, ok := s.transaction(ctx); ok {
		return s.dialect.holdRow
	}
	return ""
}

// hold makes sure that questions exist and stay as they are until the transaction ends. It takes them in one order,
// whoever asks, so that two transactions do not wait for each other.
func (s *Store) hold(ctx context.Context, ids ...bridge.QuestionID) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for some := range slices.Chunk(ids, 500) {
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = id
		}
		held, err := list(ctx, s, column[string], `SELECT id FROM questions WHERE id IN (`+numbered(len(some))+`) ORDER BY id`+s.holdRow(ctx), args...)
		if err != nil || len(held) < len(some) {
			return found(false, err, "question")
		}
	}
	return nil
}

// ListQuestions implements [bridge.Store]. A limit outside 1–200 is taken as the nearest one inside.
func (s *Store) ListQuestions(ctx context.Context, l bridge.Listing) ([]bridge.Question, string, error) {
	query, args, err := listing(l)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, s, paging[bridge.Question]{query, args, l.Limit, scanQuestion, bridge.Question.Place})
}

// listing writes the query for a page; its last placeholder is the limit.
func listing(l bridge.Listing) (query string, args []any, err error) {
	var after *bridge.Place
	if l.Cursor != "" {
		place, err := bridge.ReadCursor(l.Cursor)
		if err != nil {
			return "", nil, err
		}
		after = &place
	}
	if l.Conversation != "" {
		return listingThere(l, after)
	}
	p := page{args: []any{l.Asker}}
	p.b.WriteString(`SELECT ` + questionColumns + ` FROM questions WHERE asker = $1`)
	if l.State != "" {
		p.where("state = ?", l.State)
	}
	if l.CorrelationID != nil {
		p.where("correlation_id = ?", l.CorrelationID)
	}
	p.after(after)
	return p.query(), p.args, nil
}

// listingThere writes the query for a page of a conversation. Each state has its own part of an index.
func listingThere(l bridge.Listing, after *bridge.Place) (query string, args []any, err error) {
	var parts []string
	for _, state := range []bridge.State{bridge.Pending, bridge.Answered, bridge.Expired, bridge.Cancelled} {
		if l.State != "" && l.State != state {
			continue
		}
		p := page{args: []any{l.Conversation}}
		p.b.WriteString(`SELECT ` + questionColumns + ` FROM questions WHERE conversation = $1 AND state = '` + string(state) + `'`)
		if state != bridge.Pending { // so that it is known to be in the index of these
			p.b.WriteString(` AND state <> 'pending'`)
		}
		p.after(after)
		parts, args = append(parts, `SELECT * FROM (`+p.query()+`) AS `+string(state)), p.args
	}
	if len(parts) == 0 {
		return "", nil, fmt.Errorf("%q is no state", l.State)
	}
	p := page{args: args}
	p.b.WriteString(strings.Join(parts, ` UNION ALL `))
	return p.query(), args, nil
}

// PendingAfter implements [bridge.Store].
func (s *Store) PendingAfter(ctx context.Context, convs []bridge.ConversationID, after *bridge.Place, limit int) ([]bridge.Question, error) {
	if len(convs) == 0 {
		return nil, nil
	}
	query, args := pendingAfter(convs, after)
	all, err := list(ctx, s, scanQuestion, query, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("pending questions of %d conversations: %w", len(convs), err)
	}
	return all, nil
}

// pendingAfter writes the query; its last placeholder is the limit.
func pendingAfter(convs []bridge.ConversationID, after *bridge.Place) (query string, args []any) {
	p := page{}
	for _, conv := range convs {
		p.args = append(p.args, conv)
	}
	p.b.WriteString(`SELECT ` + questionColumns + ` FROM questions WHERE state = 'pending' AND conversation IN (` + numbered(len(convs)) + `)`)
	p.after(after)
	return p.query(), p.args
}

// PendingIn implements [bridge.Store].
func (s *Store) PendingIn(ctx context.Context, conv bridge.ConversationID, limit int) ([]bridge.Question, error) {
	all, err := list(ctx, s, scanQuestion, selectPending+s.holdRow(ctx), conv, limit)
	if err != nil {
		return nil, fmt.Errorf("pending questions of %s: %w", conv, err)
	}
	return all, nil
}

const selectPending = `SELECT ` + questionColumns + ` FROM questions WHERE conversation = $1 AND state = 'pending' ORDER BY created_at, id LIMIT $2`

// SettledSince implements [bridge.Store].
func (s *Store) SettledSince(ctx context.Context, conv bridge.ConversationID, at time.Time) (bool, error) {
	_, ok, err := first(ctx, s, column[int], selectSettled, conv, at)
	return ok, err
}

const selectSettled = `SELECT 1 FROM questions WHERE conversation = $1 AND settled_at > $2 AND state <> 'pending' LIMIT 1`

// SetDelivery implements [bridge.Store].
func (s *Store) SetDelivery(ctx context.Context, id bridge.QuestionID, d bridge.Delivery) error {
	return s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE questions SET delivery_state = $2, delivery_message = $3, delivery_reason = $4 WHERE id = $1`,
			id, d.State, d.Message, d.Reason)
		return found(n == 1, err, "question")
	})
}

// MoveQuestion implements [bridge.Store].
func (s *Store) MoveQuestion(ctx context.Context, id bridge.QuestionID, to bridge.ConversationID) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, id); err != nil {
			return err
		}
		n, err := s.exec(ctx, moveQuestion, id, to)
		if err != nil || n == 0 {
			return err
		}
		_, err = s.exec(ctx, `UPDATE postings SET conversation = $2, messages = '[]', asides = '[]', moving = FALSE WHERE question = $1`, id, to)
		return err
	})
}

const moveQuestion = `
	UPDATE questions SET conversation = $2, delivery_state = 'queued', delivery_message = '', delivery_reason = ''
	WHERE id = $1 AND state = 'pending'`
