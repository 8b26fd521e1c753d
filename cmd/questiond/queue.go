package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newQueue() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue COMMAND",
		Short: "Switch the Question Queue off and on",
		Long: "Switches the Question Queue off and on, also while the bridge runs: the next call minds it. Switched off, nothing\n" +
			"is proposed, delivered or answered, and hosts go on without. The variable " + app.EnvQueueDisable + " in the bridge's\n" +
			"environment (1, true, yes or on) switches it off too, whatever is set here.",
		Example: "  questiond queue off\n  questiond queue status",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed: off, on or status")
		},
	}
	cmd.AddCommand(
		newQueueSwitch("off", "Switch it off: nothing is proposed, delivered or answered", true),
		newQueueSwitch("on", "Switch it on again", false),
		newQueueStatus(),
	)
	return cmd
}

func newQueueSwitch(name, short string, off bool) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  questiond queue " + name, Args: command.NoArguments}
	return onDatabase(cmd, app.OpenQueue, func(cmd *cobra.Command, _ []string, q *app.Queue) error {
		if err := q.SetOff(cmd.Context(), off); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "The question queue is %s.\n", name)
		return nil
	})
}

func newQueueStatus() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Say whether it is on", Example: "  questiond queue status", Args: command.NoArguments}
	return onDatabase(cmd, app.OpenQueue, func(cmd *cobra.Command, _ []string, q *app.Queue) error {
		off, err := q.Off(cmd.Context())
		switch {
		case err != nil:
			return err
		case off:
			fmt.Fprintln(cmd.OutOrStdout(), "The question queue is off.")
		default:
			fmt.Fprintln(cmd.OutOrStdout(), "The question queue is on.")
		}
		return nil
	})
}
