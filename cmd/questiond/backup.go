package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/config"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a new file, also while the bridge runs",
		Long: `Copy the database to a new file, also while the bridge runs. All that was committed before is in
the copy, which is checked, and which only its owner may read; it holds everything that people
wrote, and the key that signs certificates. Of PostgreSQL it is made by pg_dump, and pg_restore
reads it. The registration, the configuration and the secrets it names are files of their own.

docs/operations.md says how to restore, and what that means for what happened since.`,
		Example: "  questiond backup /var/backups/question-bridge-$(date +%F).db",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("one FILE is needed, which is not there yet")
			}
			return nil
		},
	}
	return onConfig(cmd, func(cmd *cobra.Command, args []string, cfg config.Config) error {
		ctx, stop := untilSignalled(cmd.Context())
		defer stop()
		size, err := app.Backup(ctx, cfg, args[0])
		switch {
		case errors.Is(err, fs.ErrExist):
			return failf("%s exists, and is not replaced", args[0])
		case err != nil:
			return failf("%s", err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s: %s.\n", args[0], megabytes(size))
		return nil
	})
}

func megabytes(bytes int64) string {
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
