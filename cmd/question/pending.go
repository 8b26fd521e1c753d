package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
)

func newPending() *cobra.Command {
	conn := connection{person: true}
	var part listed
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "pending",
		Short:   "List the questions that you may answer, newest first",
		Example: "  question pending",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limit, err := part.most(cmd)
			if err != nil {
				return err
			}
			api, err := conn.respond(cmd)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			page, err := collect(part.cursor, limit, func(size int, cursor string) (*client.Page, error) {
				return api.Pending(ctx, client.PendingOptions{PageSize: size, Cursor: cursor})
			})
			switch {
			case err != nil:
				return failed(ctx, cmd, err)
			case asJSON:
				return written(writePage(cmd.OutOrStdout(), page))
			case len(page.Questions) == 0:
				fmt.Fprintln(cmd.ErrOrStderr(), "question: nothing waits for you")
				return nil
			}
			writePending(cmd.OutOrStdout(), page.Questions)
			noteMore(cmd, page)
			return nil
		},
	}
	conn.flags(cmd)
	part.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's JSON documents, as one list")
	return cmd
}

func writePending(w io.Writer, questions []*client.Question) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tROOM\tASKER\tPROMPT\tOPTIONS")
	for _, q := range questions {
		options := optionSummary(q.Options)
		switch {
		case len(q.Items) > 1:
			options = fmt.Sprintf("%d parts", len(q.Items))
		case len(q.Items) == 1:
			options = optionSummary(q.Items[0].Options)
		case options == "":
			options = "(text)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", oneLine(q.ID), shortened(roomName(q), 20), shortened(orDash(q.AskedBy), 20),
			shortened(prompt(q), 40), shortened(options, 40))
	}
	table.Flush()
}

// roomName is the shortest name that tells where a question was asked.
func roomName(q *client.Question) string {
	switch r := q.Room; {
	case r == nil:
		return "-"
	case r.Code != nil:
		return *r.Code
	case r.Name != nil:
		return *r.Name
	default:
		return r.ID
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
