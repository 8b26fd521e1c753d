package sqlstore

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/grant"
)

var _ grant.Store = (*Store)(nil)

// AddGrant implements [grant.Store].
func (s *Store) AddGrant(ctx context.Context, g grant.Grant) (added bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, insertGrant, g.ID, g.Question.ID, g.Question.Asker, g.Conversation, g.At, g.Until)
		added = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("add the grant of %s: %w", g.Question.ID, err)
	}
	return added, nil
}

const insertGrant = `
	INSERT INTO grants (id, question, asker, conversation, given_at, lapses_at) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (id) DO NOTHING`

// grantColumns have names of their own beside those of questions.
const (
	grantColumns = `grant_id, stands_in, revoked_at, revoked_by, ` + questionColumns
	selectGrants = `SELECT ` + grantColumns + ` FROM (SELECT id AS grant_id, question AS granted_by, conversation AS stands_in, revoked_at, revoked_by, given_at
		FROM grants WHERE `
	joinQuestions = `) g JOIN questions ON questions.id = g.granted_by`
	selectGrant   = selectGrants + `id = $1` + joinQuestions
)

func scanGrant(row dbutil.Scannable) (g grant.Grant, err error) {
	g.Question, err = scanQuestion(behind{row, []any{text(&g.ID), text(&g.Conversation), maybeMoment(&g.RevokedAt), text(&g.RevokedBy)}})
	if err == nil {
		g.Granted, _ = g.Question.Granted()
	}
	return g, err
}

// behind is a row that has columns of its own before those that it is scanned for.
type behind struct {
	dbutil.Scannable
	own []any
}

func (b behind) Scan(dest ...any) error { return b.Scannable.Scan(append(b.own, dest...)...) }

// Grant implements [grant.Store].
func (s *Store) Grant(ctx context.Context, id grant.ID) (grant.Grant, error) {
	g, ok, err := first(ctx, s, scanGrant, selectGrant, id)
	if err == nil && !ok {
		err = &bridge.Error{Code: grant.CodeUnknown, Reason: "there is no such grant"}
	}
	return g, err
}

// ListGrants implements [grant.Store]. A limit outside 1–200 is taken as the nearest one inside.
func (s *Store) ListGrants(ctx context.Context, l grant.Listing) ([]grant.Grant, string, error) {
	if l.Asker == "" && len(l.Conversations) == 0 {
		return nil, "", nil
	}
	query, args, err := grantListing(l)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, s, paging[grant.Grant]{query, args, l.Limit, scanGrant, grant.Grant.Place})
}

// grantListing writes the query for a page; its last placeholder is the limit.
func grantListing(l grant.Listing) (query string, args []any, err error) {
	p := page{args: []any{l.Asker}}
	of := `asker = $1`
	if l.Asker == "" {
		p.args = nil
		for _, conv := range l.Conversations {
			p.args = append(p.args, conv)
		}
		of = `conversation IN (` + numbered(len(p.args)) + `)`
	}
	p.b.WriteString(selectGrants + of)
	switch l.State {
	case grant.Revoked:
		p.b.WriteString(` AND revoked_at IS NOT NULL`)
	case grant.Lapsed:
		p.where(`revoked_at IS NULL AND lapses_at <= ?`, l.Now)
	case grant.Active:
		p.where(`revoked_at IS NULL AND (lapses_at IS NULL OR lapses_at > ?)`, l.Now)
	}
	if l.Cursor != "" {
		place, err := bridge.ReadCursor(l.Cursor)
		if err != nil {
			return "", nil, err
		}
		p.where(`(given_at, id) < (?, ?)`, place.CreatedAt, place.ID)
	}
	limit := fmt.Sprintf(` LIMIT $%d`, len(p.args)+1)
	p.b.WriteString(` ORDER BY given_at DESC, id DESC` + limit + joinQuestions + ` ORDER BY g.given_at DESC, g.grant_id DESC`)
	return p.b.String(), p.args, nil
}

// RevokeGrant implements [grant.Store].
func (s *Store) RevokeGrant(ctx context.Context, r grant.Revoking) (revoked bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, revokeGrant, r.Grant, r.At, r.By)
		revoked = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoke the grant %s: %w", r.Grant, err)
	}
	return revoked, nil
}

const revokeGrant = `UPDATE grants SET revoked_at = $2, revoked_by = $3 WHERE id = $1 AND revoked_at IS NULL AND (lapses_at IS NULL OR lapses_at > $2)`

// MoveGrants implements [grant.Store].
func (s *Store) MoveGrants(ctx context.Context, from, to bridge.ConversationID) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, moveGrants, from, to)
		return err
	})
}

const moveGrants = `UPDATE grants SET conversation = $2 WHERE conversation = $1`

// KeepQuestion implements [grant.Store].
func (s *Store) KeepQuestion(ctx context.Context, id bridge.QuestionID, until time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `UPDATE questions SET forget_after = $2 WHERE id = $1`, id, until)
		return err
	})
}
