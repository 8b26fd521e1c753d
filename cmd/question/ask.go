package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newAsk() *cobra.Command {
	var conn connection
	var terms askFlags
	var wait, withdraw, asJSON bool
	cmd := &cobra.Command{
		Use:   "ask ROOM PROMPT",
		Short: "Ask a question in a room, and print its id or, with --wait, the answer",
		Long: `Ask a question in a room: its id, its alias, or the code that the server gives it. Without --option, --yes-no and --text,
the answers are Approve (approve) and Deny (deny).

Without --wait it prints the question's id. With --wait it waits until the question ends, prints the chosen value or the
typed text, and exits 0; it exits 3 if nobody answered in time and 4 if the question was cancelled. Interrupted, it leaves the
question pending and exits 130.

An ask is sent again when the connection is lost, for up to a minute, and is asked once all the same. With --idempotency-key
that holds for another run of the program too: it finds the question that the first run asked.`,
		Example: `  if [ "$(question ask "$ROOM" "Deploy?" --yes-no --wait)" = approve ]; then ./deploy.sh; fi
  question ask "$ROOM" "Which environment?" --option staging:Staging --option prod:Production:danger --ttl 30m --wait
  question ask "$ROOM" "Why are we holding the release?" --text --wait`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 2 || args[0] == "":
				return errors.New("a ROOM and a PROMPT are needed, and nothing else")
			case withdraw && !wait:
				return errors.New("--cancel-on-interrupt needs --wait")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := terms.ask(cmd, args[1])
			if err != nil {
				return err
			}
			w := newWaiter(cmd, waiting{asJSON, withdraw})
			api, err := conn.open(cmd, w.polled)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			q, err := api.Ask(ctx, args[0], ask, terms.how()...)
			if err != nil && ctx.Err() != nil {
				return exitf(exitInterrupted, "interrupted; whether the question was asked tells: question list")
			}
			if err != nil {
				return failed(ctx, cmd, err)
			}
			noteClamped(cmd, ask)
			switch {
			case wait:
				return w.wait(ctx, api, q)
			case asJSON:
				return written(writeDocument(cmd.OutOrStdout(), q.Raw))
			}
			fmt.Fprintln(cmd.OutOrStdout(), oneLine(q.ID))
			return nil
		},
	}
	terms.flags(cmd)
	conn.flags(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the answer and print it")
	cancelFlag(cmd, &withdraw)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the question as the server's JSON document; with --wait, as it ended")
	return cmd
}

// noteClamped says so when the question waits for another time than was asked.
func noteClamped(cmd *cobra.Command, ask *schema.CoreAsk) {
	if ask.TTL == nil {
		return
	}
	if kept := ask.Lifetime(); int64(kept.Seconds()) != int64(*ask.TTL) {
		fmt.Fprintf(cmd.ErrOrStderr(), "question: --ttl is between %s and %s: the question waits %s\n",
			timeShort(schema.CoreMinLifetime), timeShort(schema.CoreMaxLifetime), timeShort(kept))
	}
}

// timeShort is a duration without the units that are zero at its end: 24h, not 24h0m0s.
func timeShort(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// written is the error of a command that could not print its result.
func written(err error) error {
	if err != nil {
		return exitf(exitUsage, "cannot write the output: %s", command.Plain(err))
	}
	return nil
}
