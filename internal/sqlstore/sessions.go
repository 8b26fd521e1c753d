package sqlstore

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// OpenSession keeps a session, and the hash of the OpenID token that it was opened with, which was made at the same time.
// opened is false when that token was used before; nothing is kept then. Of several at once one wins.
func (s *Store) OpenSession(ctx context.Context, openID [32]byte, t bridge.Token) (opened bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `INSERT INTO openid_tokens (hash, used_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, openID[:], t.CreatedAt)
		if opened = n == 1; err != nil || !opened {
			return err
		}
		return s.AddToken(ctx, t)
	})
	return opened && err == nil, err
}

// PurgeSessions deletes sessions whose end came before a time, at most limit.
func (s *Store) PurgeSessions(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, purgeSessions, before, limit)
		return err
	})
	return n, err
}

const purgeSessions = `
	DELETE FROM tokens
	WHERE id IN (SELECT id FROM tokens WHERE session AND expires_at < $1 ORDER BY expires_at LIMIT $2)`

// PurgeOpenIDTokens forgets OpenID tokens that were used before a time, at most limit.
func (s *Store) PurgeOpenIDTokens(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, purgeOpenIDTokens, before, limit)
		return err
	})
	return n, err
}

const purgeOpenIDTokens = `
	DELETE FROM openid_tokens
	WHERE hash IN (SELECT hash FROM openid_tokens WHERE used_at < $1 ORDER BY used_at LIMIT $2)`
