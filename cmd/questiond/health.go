package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
)

func newHealth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the bridge that runs on this machine whether it can work",
		Long: `Ask the bridge that runs on this machine, at api.listen, whether it can work: exit code 0 if so,
else 1, with what does not work. It is what GET /readyz says, for where there is no HTTP client.`,
		Example: "  questiond health -c config.yaml",
		Args:    command.NoArguments,
	}
	return onConfig(cmd, func(cmd *cobra.Command, _ []string, cfg config.Config) error {
		if err := app.Health(cmd.Context(), cfg); err != nil {
			return failf("%s", err)
		}
		fmt.Fprintln(cmd.OutOrStdout(), "The bridge can work.")
		return nil
	})
}
