package sqlstore

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
)

var _ decision.Store = (*Store)(nil)

const decisionColumns = `id, agent, requester, purpose, principal, revision, approved, decided_by, created_at, gate, emptied_at,
	(SELECT COUNT(*) FROM decision_uses u WHERE u.decision = decisions.id AND u.revision = decisions.revision),
	(SELECT MAX(used_at) FROM decision_uses u WHERE u.decision = decisions.id AND u.revision = decisions.revision)`

func scanDecision(row dbutil.Scannable) (d decision.Decision, err error) {
	var m decision.Made
	var principal []byte
	var approved *bool
	var at *time.Time
	err = row.Scan(text(&d.ID), text(&d.Agent), text(&d.Requester), text(&d.Purpose), &principal, &d.Revision, &approved, text(&m.By),
		maybeMoment(&at), text(&m.Gate), maybeMoment(&d.EmptiedAt), &m.Used.Times, maybeMoment(&m.Used.Last))
	if err != nil {
		return d, err
	}
	if len(principal) != len(d.Principal) {
		return d, fmt.Errorf("decision %s: its principal has %d bytes", d.ID, len(principal))
	}
	copy(d.Principal[:], principal)
	if approved != nil && at != nil {
		m.Approved, m.At = *approved, *at
		d.Made = &m
	}
	return d, nil
}

// DecisionUnder implements [decision.Store].
func (s *Store) DecisionUnder(ctx context.Context, k decision.Key) (d decision.Decision, ok bool, err error) {
	d, ok, err = first(ctx, s, scanDecision, decisionUnder+s.holdRow(ctx), k.Agent, k.Requester, k.Purpose, k.Principal[:])
	if err != nil {
		return d, false, fmt.Errorf("decision of %s: %w", k.Agent, err)
	}
	return d, ok, nil
}

const decisionUnder = `SELECT ` + decisionColumns + ` FROM decisions WHERE agent = $1 AND requester = $2 AND purpose = $3 AND principal = $4`

// Decision implements [decision.Store].
func (s *Store) Decision(ctx context.Context, id decision.ID) (decision.Decision, error) {
	d, ok, err := first(ctx, s, scanDecision, `SELECT `+decisionColumns+` FROM decisions WHERE id = $1`+s.holdRow(ctx), id)
	switch {
	case err != nil:
		return d, fmt.Errorf("decision %s: %w", id, err)
	case !ok:
		return d, &bridge.Error{Code: decision.CodeUnknown, Reason: "there is no such decision"}
	}
	return d, nil
}

// ListDecisions implements [decision.Store]. A limit outside 1–200 is taken as the nearest one inside.
func (s *Store) ListDecisions(ctx context.Context, l decision.Listing) ([]decision.Decision, string, error) {
	query, args, err := decisionListing(l)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, s, paging[decision.Decision]{query, args, l.Limit, scanDecision, func(d decision.Decision) bridge.Place {
		return bridge.Place{CreatedAt: d.Made.At, ID: bridge.QuestionID(d.ID)}
	}})
}

// decisionListing writes the query for a page; its last placeholder is the limit.
func decisionListing(l decision.Listing) (query string, args []any, err error) {
	var p page
	p.b.WriteString(`SELECT ` + decisionColumns + ` FROM decisions WHERE approved IS NOT NULL`)
	if l.Agent != "" {
		p.where("agent = ?", l.Agent)
	}
	if l.By != "" {
		p.where("decided_by = ?", l.By)
	}
	if l.Cursor != "" {
		place, err := bridge.ReadCursor(l.Cursor)
		if err != nil {
			return "", nil, err
		}
		p.after(&place)
	}
	return p.query(), p.args, nil
}

// AddDecision implements [decision.Store].
func (s *Store) AddDecision(ctx context.Context, d decision.Decision) (added bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, addDecision, append([]any{d.ID, d.Agent, d.Requester, d.Purpose, d.Principal[:]}, standing(d)...)...)
		added = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("add a decision: %w", err)
	}
	return added, nil
}

const addDecision = `
	INSERT INTO decisions (id, agent, requester, purpose, principal, revision, approved, decided_by, created_at, gate, emptied_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`

// standing is what of a decision moves on.
func standing(d decision.Decision) []any {
	if d.Made == nil {
		return []any{d.Revision, nil, nil, nil, nil, d.EmptiedAt}
	}
	m := d.Made
	return []any{d.Revision, m.Approved, orNull(m.By), m.At, m.Gate, nil}
}

// MoveDecision implements [decision.Store].
func (s *Store) MoveDecision(ctx context.Context, d decision.Decision) (moved bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, moveDecision, append([]any{d.ID}, standing(d)...)...)
		moved = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("move decision %s: %w", d.ID, err)
	}
	return moved, nil
}

const moveDecision = `
	UPDATE decisions SET revision = $2, approved = $3, decided_by = $4, created_at = $5, gate = $6, emptied_at = $7
	WHERE id = $1 AND revision = $2 - 1`

// AddUse implements [decision.Store].
func (s *Store) AddUse(ctx context.Context, u collector.Use) error {
	return s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, addUse, u.Decision, u.Gate, u.At)
		if err == nil && n == 0 {
			err = fmt.Errorf("use of decision %s: it does not stand", u.Decision)
		}
		return err
	})
}

const addUse = `
	INSERT INTO decision_uses (decision, revision, gate, used_at)
	SELECT id, revision, $2, $3 FROM decisions WHERE id = $1 AND approved IS NOT NULL`

// ForgetEmptied implements [decision.Store].
func (s *Store) ForgetEmptied(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, forgetEmptied, before, limit)
		return err
	})
	return n, err
}

const forgetEmptied = `DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE emptied_at < $1 ORDER BY emptied_at LIMIT $2)`
