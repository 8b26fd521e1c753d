package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newList() *cobra.Command {
	var conn connection
	var state, correlationID string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the questions that this agent asked, newest first",
		Example: "  question list --state pending",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := client.ListOptions{State: schema.State(state), CorrelationID: correlationID}
			states := []schema.State{schema.Pending, schema.Answered, schema.Expired, schema.Cancelled}
			switch {
			case cmd.Flags().Changed("state") && !slices.Contains(states, o.State):
				return fmt.Errorf("--state %q: it is pending, answered, expired or cancelled", state)
			case cmd.Flags().Changed("correlation-id") && correlationID == "":
				return errors.New("--correlation-id is empty")
			case limit < 1:
				return fmt.Errorf("--limit %d: at least 1 is needed", limit)
			}
			api, err := conn.open(cmd, nil)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			page, err := collect(ctx, api, o, limit)
			switch {
			case err != nil:
				return failed(ctx, cmd, err)
			case asJSON:
				return written(writePage(cmd.OutOrStdout(), page))
			case len(page.Questions) == 0:
				fmt.Fprintln(cmd.ErrOrStderr(), "question: there are none")
				return nil
			}
			writeTable(cmd.OutOrStdout(), page.Questions, time.Now())
			if page.NextCursor != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "question: there are more; --limit says how many to list")
			}
			return nil
		},
	}
	conn.flags(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only questions in this `STATE`: pending, answered, expired or cancelled")
	cmd.Flags().StringVar(&correlationID, "correlation-id", "", "only questions asked with this `ID`")
	cmd.Flags().IntVar(&limit, "limit", 50, "list at most `N` questions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's JSON documents, as one list")
	return cmd
}

// collect gives as many questions as the limit says, as if they were one page.
func collect(ctx context.Context, api *client.Client, o client.ListOptions, limit int) (*client.Page, error) {
	all := &client.Page{}
	for {
		o.PageSize = min(limit-len(all.Questions), client.MaxPage)
		page, err := api.ListPage(ctx, o)
		if err != nil {
			return nil, err
		}
		all.Questions = append(all.Questions, page.Questions...)
		all.NextCursor = page.NextCursor
		if page.NextCursor == "" || len(all.Questions) >= limit {
			return all, nil
		}
		o.Cursor = page.NextCursor
	}
}

func writePage(w io.Writer, page *client.Page) error {
	list := struct {
		Questions  []json.RawMessage `json:"questions"`
		NextCursor *string           `json:"next_cursor"`
	}{Questions: []json.RawMessage{}}
	for _, q := range page.Questions {
		list.Questions = append(list.Questions, q.Raw)
	}
	if page.NextCursor != "" {
		list.NextCursor = &page.NextCursor
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		return err
	}
	return writeDocument(w, bytes.TrimSpace(raw.Bytes()))
}

func writeTable(w io.Writer, questions []*client.Question, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tPROMPT\tANSWER\tEXPIRES IN")
	for _, q := range questions {
		answer, left := "-", "-"
		if o, ok := q.Outcome(); !ok {
			left = timeLeft(q.Expires().Sub(now))
		} else if o.Answered() {
			answer = answerSummary(o)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", oneLine(q.ID), q.State, shortened(prompt(q), 40), shortened(answer, 24), left)
	}
	table.Flush()
}

// prompt is what a question asks; a set of items may have no prompt of its own.
func prompt(q *client.Question) string {
	if q.Prompt == "" && len(q.Items) > 0 {
		return q.Items[0].Prompt
	}
	return q.Prompt
}
