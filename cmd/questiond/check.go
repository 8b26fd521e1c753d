package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find what is wrong with the configuration, and whether everything it names can be reached",
		Long: `Find what is wrong with the configuration, and whether everything it names can be
reached: the homeserver, the bot's account, the rooms, the webhooks, the database; and
whether the webhooks took what they were sent. Exit code 1 says that something is
wrong. It is safe beside a running bridge.`,
		Example: "  questiond check -c config.yaml",
		Args:    command.NoArguments,
	}
	path := configFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, reg, err := loadBoth(*path)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		fmt.Fprintln(out, "ok    the configuration and the registration are in order")
		if failed := writeFindings(out, app.Check(cmd.Context(), cfg, reg)); failed > 0 {
			return failf("%d of the checks failed", failed)
		}
		return nil
	}
	return cmd
}

// writeFindings prints one line a finding, and the way out below a failed one.
func writeFindings(w io.Writer, findings []app.Finding) (failed int) {
	for _, f := range findings {
		verdict, more := "ok  ", f.Note
		if f.Err != nil {
			verdict, more = "FAIL", f.Err.Error()
			failed++
		}
		fmt.Fprintf(w, "%s  %s", verdict, f.What)
		if more != "" {
			fmt.Fprintf(w, ": %s", more)
		}
		if f.Err != nil && f.Hint != "" {
			fmt.Fprintf(w, " (hint: %s)", f.Hint)
		}
		fmt.Fprintln(w)
	}
	return failed
}
