package main

import (
	"context"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the bridge until it is asked to end",
		Long: `Run the bridge until it is asked to end, by SIGTERM or an interrupt: then what is under way
is finished, for ten seconds at most. Asked again, it ends at once.

One process serves a database. A second one refuses to start, or with --wait is a standby:
it waits until the first has ended, however that ended, and takes over.`,
		Example: "  questiond serve -c config.yaml\n  questiond serve --wait",
		Args:    command.NoArguments,
	}
	path := configFlag(cmd)
	wait := cmd.Flags().Bool("wait", false, "while another process serves the database, wait for it to end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, reg, err := loadBoth(*path)
		if err != nil {
			return err
		}
		log, err := cfg.Logging.Compile()
		if err != nil {
			return failf("cannot log: %s", err)
		}
		ctx, stop := untilSignalled(cmd.Context())
		defer stop()
		asked := make(chan struct{})
		forget := context.AfterFunc(ctx, func() { log.Info().Msg("Asked to end"); close(asked) })
		defer forget()
		opts := app.Options{
			Config: cfg, Registration: reg, Version: command.BuildVersion(), Log: *log,
			Ready: func(at app.Addresses) {
				log.Info().Str("api", at.API).Str("appservice", at.Appservice).Str("metrics", at.Metrics).Str("bot", cfg.BotID()).
					Str("version", command.BuildVersion()).Msg("Serving")
			},
		}
		if *wait {
			opts.Waiting = func(holder string) {
				log.Info().Str("holder", holder).Msg("Standing by: another process serves the database")
			}
		}
		if err := app.Run(ctx, opts); err != nil {
			return failf("%s", err)
		}
		<-asked
		log.Info().Msg("Ended")
		return nil
	}
	return cmd
}
