package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/schema"
)

func newCancel() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Withdraw a question that is still pending",
		Long: `Withdraw a question that is still pending. The exit code is 0 when the question is cancelled, now or before; 1 when it was
answered or had expired first, which stands.`,
		Example:           `  question cancel "$id"`,
		Args:              oneID,
		ValidArgsFunction: conn.ids(schema.Pending),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := conn.open(cmd, nil)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			q, err := api.Cancel(ctx, args[0])
			if err != nil {
				return failed(ctx, cmd, err)
			}
			if asJSON {
				if err := writeDocument(cmd.OutOrStdout(), q.Raw); err != nil {
					return written(err)
				}
			}
			switch o, _ := q.Outcome(); {
			case q.State == schema.Cancelled && !asJSON:
				fmt.Fprintln(cmd.OutOrStdout(), schema.Cancelled)
			case q.State == schema.Cancelled:
			case q.State == schema.Answered:
				return exitf(exitFailed, "not cancelled: question %s was answered: %s", oneLine(q.ID), shortened(answerSummary(o), 60))
			default:
				return exitf(exitFailed, "not cancelled: question %s is %s", oneLine(q.ID), q.State)
			}
			return nil
		},
	}
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's JSON document")
	return cmd
}
