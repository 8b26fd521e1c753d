package main

import (
	"errors"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

func newWatch() *cobra.Command {
	var conn connection
	var how waiting
	cmd := &cobra.Command{
		Use:     "watch ID",
		Aliases: []string{"await"},
		Short:   "Wait until a question ends, and print the answer",
		Long: `Wait until a question ends, and print the chosen value or the typed text. The exit code is 0 for an answer, 3 if nobody
answered in time, 4 if the question was cancelled. A restart of the server only makes it wait longer.`,
		Example: `  id=$(question ask "$ROOM" "Deploy?" --yes-no)
  question watch "$id"`,
		Args:              oneID,
		ValidArgsFunction: conn.ids(schema.Pending),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := newWaiter(cmd, how)
			api, err := conn.open(cmd, w.polled)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			if w.line.width > 0 {
				// The live line shows the time left, which the first poll may tell only when it ends. If the server is away,
				// the wait will say so.
				q, err := api.Fetch(ctx, args[0])
				var refused *client.Error
				switch {
				case err == nil:
					w.see(q)
				case errors.As(err, &refused) && refused.Status < 500 && refused.Status != 429:
					return failed(ctx, cmd, err)
				}
			}
			return w.await(ctx, api, args[0])
		},
	}
	conn.flags(cmd)
	cancelFlag(cmd, &how.withdraw)
	cmd.Flags().BoolVar(&how.asJSON, "json", false, "print the question as it ended, as the server's JSON document")
	return cmd
}
