package app

import (
	"context"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// Backup copies the configured database to a new file, also while a bridge serves it, and gives the copy's size in bytes.
// The error is fs.ErrExist where there is such a file.
func Backup(ctx context.Context, cfg config.Config, path string) (size int64, err error) {
	return sqlstore.Backup(ctx, databaseOf(cfg, zerolog.Nop()), path)
}
