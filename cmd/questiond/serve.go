package main

import (
	"context"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the bridge until it is asked to end",
		Example: "  questiond serve -c config.yaml",
		Args:    command.NoArguments,
	}
	path := configFlag(cmd)
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
		err = app.Run(ctx, app.Options{
			Config: cfg, Registration: reg, Log: *log,
			Ready: func(at app.Addresses) {
				log.Info().Str("api", at.API).Str("appservice", at.Appservice).Str("bot", cfg.BotID()).
					Str("version", command.BuildVersion()).Msg("Serving")
			},
		})
		if err != nil {
			return failf("%s", err)
		}
		<-asked
		log.Info().Msg("Ended")
		return nil
	}
	return cmd
}
