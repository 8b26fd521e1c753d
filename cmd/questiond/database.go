package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/config"
)

// opener opens a part of the configured database.
type opener[T io.Closer] func(ctx context.Context, cfg config.Config) (T, error)

// onDatabase lets a command work on a part of the database that its configuration names.
func onDatabase[T io.Closer](cmd *cobra.Command, open opener[T], do func(*cobra.Command, []string, T) error) *cobra.Command {
	return onConfig(cmd, func(cmd *cobra.Command, args []string, cfg config.Config) error {
		return withOpen(cmd.Context(), cfg, open, func(part T) error { return do(cmd, args, part) })
	})
}

// withOpen opens a part of the database for as long as f runs.
func withOpen[T io.Closer](ctx context.Context, cfg config.Config, open opener[T], f func(T) error) error {
	part, err := open(ctx, cfg)
	if err == nil {
		err = errors.Join(f(part), part.Close())
	}
	if err != nil {
		return failf("%s", err)
	}
	return nil
}

// oneID is what a command takes that is about one thing of a list.
func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("one ID is needed")
	}
	return nil
}
