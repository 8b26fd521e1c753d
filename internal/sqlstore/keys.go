package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"
)

// SigningKey is a key that signs certificates.
type SigningKey struct {
	ID        string
	CreatedAt time.Time
	RetiredAt *time.Time // when it was replaced; nil for the one that signs
	Seed      []byte     // the secret
}

const keyColumns = `id, created_at, retired_at, seed`

func scanKey(row dbutil.Scannable) (k SigningKey, err error) {
	err = row.Scan(text(&k.ID), moment(&k.CreatedAt), maybeMoment(&k.RetiredAt), &k.Seed)
	return k, err
}

// SigningKeys gives every key, the newest first.
func (s *Store) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	return list(ctx, s, scanKey, `SELECT `+keyColumns+` FROM signing_keys ORDER BY created_at DESC, id`)
}

// EnsureSigningKey keeps the key if there is none that signs, and gives the one that does.
func (s *Store) EnsureSigningKey(ctx context.Context, k SigningKey) (SigningKey, error) {
	current, ok, err := s.currentKey(ctx)
	if ok || err != nil {
		return current, err
	}
	err = s.Atomically(ctx, func(ctx context.Context) (err error) {
		if err := s.holdKeys(ctx); err != nil {
			return err
		}
		if current, ok, err = s.currentKey(ctx); ok || err != nil {
			return err
		}
		current = k
		return s.addKey(ctx, k)
	})
	return current, err
}

// RotateSigningKey retires whatever key signs, and keeps the new one, which signs from now on.
func (s *Store) RotateSigningKey(ctx context.Context, k SigningKey) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.holdKeys(ctx); err != nil {
			return err
		}
		if _, err := s.exec(ctx, `UPDATE signing_keys SET retired_at = $1 WHERE retired_at IS NULL`, k.CreatedAt); err != nil {
			return err
		}
		return s.addKey(ctx, k)
	})
}

// RemoveSigningKey forgets a retired key; found is false when there is no retired key of this id.
func (s *Store) RemoveSigningKey(ctx context.Context, id string) (found bool, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `DELETE FROM signing_keys WHERE id = $1 AND retired_at IS NOT NULL`, id)
		found = n == 1
		return err
	})
	return found && err == nil, err
}

func (s *Store) currentKey(ctx context.Context) (SigningKey, bool, error) {
	return first(ctx, s, scanKey, `SELECT `+keyColumns+` FROM signing_keys WHERE retired_at IS NULL ORDER BY created_at DESC, id LIMIT 1`)
}

func (s *Store) addKey(ctx context.Context, k SigningKey) error {
	if len(k.Seed) == 0 || k.RetiredAt != nil {
		return errors.New("a new key has a seed and is not retired")
	}
	n, err := s.exec(ctx, `INSERT INTO signing_keys (id, created_at, seed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		k.ID, k.CreatedAt, k.Seed)
	if err == nil && n == 0 {
		return fmt.Errorf("add key %s: there is one with this id", k.ID)
	}
	return err
}

// holdKeys lets one transaction at a time change which key signs.
func (s *Store) holdKeys(ctx context.Context) error {
	if s.dialect.holdKeys == "" {
		return nil
	}
	_, err := s.exec(ctx, s.dialect.holdKeys)
	return err
}
