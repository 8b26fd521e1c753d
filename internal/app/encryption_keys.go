package app

import (
	"context"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// EncryptionKeys are the keys of the bot's device, as the encryption commands manage them.
type EncryptionKeys struct {
	store *sqlstore.Store
	cfg   matrix.Encryption
}

// OpenEncryptionKeys opens the keys of the configured database, also while a bridge serves it.
func OpenEncryptionKeys(ctx context.Context, cfg config.Config) (*EncryptionKeys, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return newEncryptionKeys(cfg, store), nil
}

// OpenEncryptionKeysAlone opens them for as long as no bridge runs; the error says which one does.
func OpenEncryptionKeysAlone(ctx context.Context, cfg config.Config) (*EncryptionKeys, error) {
	store, err := sqlstore.Open(ctx, sqlstore.Config{
		Type: cfg.Database.Type, Path: cfg.Database.Path, URI: cfg.Database.URI, Serving: true, Log: zerolog.Nop(),
	})
	if err != nil {
		return nil, err
	}
	return newEncryptionKeys(cfg, store), nil
}

func newEncryptionKeys(cfg config.Config, store *sqlstore.Store) *EncryptionKeys {
	return &EncryptionKeys{store: store, cfg: matrix.Encryption{Database: store.Database(), PickleKey: []byte(cfg.Encryption.PickleKey.Value())}}
}

// Close closes the database.
func (k *EncryptionKeys) Close() error { return k.store.Close() }

// Device gives the bot's device; the zero one before a bridge first ran with encryption.
func (k *EncryptionKeys) Device(ctx context.Context) (matrix.Device, error) {
	return matrix.ReadDevice(ctx, k.cfg, k.store)
}

// Recovery gives the key that opens the bot's secret storage on the homeserver; "" while there is none.
func (k *EncryptionKeys) Recovery(ctx context.Context) (string, error) {
	return matrix.RecoveryKey(ctx, k.cfg, k.store)
}

// Reset forgets the device and all keys. The next bridge makes new ones.
func (k *EncryptionKeys) Reset(ctx context.Context) error { return matrix.ForgetDevice(ctx, k.store) }
