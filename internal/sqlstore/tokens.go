package sqlstore

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

const tokenColumns = `id, hash, agent, user_id, rooms, scopes, created_at, expires_at, revoked_at, used_at, session`

func scanToken(row dbutil.Scannable) (t bridge.Token, err error) {
	var hash []byte
	err = row.Scan(text(&t.ID), &hash, text(&t.Agent), text(&t.User), decoded(&t.Rooms), decoded(&t.Scopes), moment(&t.CreatedAt),
		maybeMoment(&t.ExpiresAt), maybeMoment(&t.RevokedAt), maybeMoment(&t.UsedAt), &t.Session)
	copy(t.Hash[:], hash)
	return t, err
}

// TokenByHash finds a token that is neither revoked nor expired at now; ok is false when there is none.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte, now time.Time) (t bridge.Token, ok bool, err error) {
	return first(ctx, s, scanToken, tokenByHash, hash[:], now)
}

const tokenByHash = `
	SELECT ` + tokenColumns + ` FROM tokens
	WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2) AND (revoked_at IS NULL OR revoked_at > $2)`

// TokenUsed records that a token was used; to spare the disk, at most once a minute.
func (s *Store) TokenUsed(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `UPDATE tokens SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at <= $3)`, id, at, at.Add(-time.Minute))
		return err
	})
}

// AddToken keeps a new token. Its id and its hash must be new.
func (s *Store) AddToken(ctx context.Context, t bridge.Token) error {
	rooms, err := encode(t.Rooms)
	if err != nil {
		return err
	}
	scopes, err := encode(t.Scopes)
	if err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `INSERT INTO tokens (`+tokenColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
			t.ID, t.Hash[:], t.Agent, orNull(t.User), rooms, scopes, t.CreatedAt, t.ExpiresAt, t.RevokedAt, t.UsedAt, t.Session)
		if err == nil && n == 0 {
			return fmt.Errorf("add token %s: there is one with this id or secret", t.ID)
		}
		return err
	})
}

// ListTokens gives every token, oldest first.
func (s *Store) ListTokens(ctx context.Context) ([]bridge.Token, error) {
	return list(ctx, s, scanToken, `SELECT `+tokenColumns+` FROM tokens ORDER BY created_at, id`)
}

// RevokeToken revokes by id; found is false when there is no such token. The first revocation counts.
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time) (found bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, id, at)
		found = n == 1
		return err
	})
	return found && err == nil, err
}
