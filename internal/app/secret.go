package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// openSecret reads a secret of the database's own, and makes it where there is none.
func openSecret(ctx context.Context, store *sqlstore.Store, name string) (secret [32]byte, err error) {
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand.Read crashes the program instead
	stands, err := store.EnsureValue(ctx, name, base64.StdEncoding.EncodeToString(secret[:]))
	if err != nil {
		return secret, err
	}
	raw, err := base64.StdEncoding.DecodeString(stands)
	if err != nil || len(raw) != len(secret) {
		return secret, fmt.Errorf("the %s in the database is damaged", name)
	}
	copy(secret[:], raw)
	return secret, nil
}
