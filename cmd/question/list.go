package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
	var o client.ListOptions
	var state string
	var part listed
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the questions that this agent asked, newest first",
		Long: `List the questions that this agent asked, newest first.

With --json it is one document, {"questions": [...], "next_cursor": ...}, however many requests it takes. The next_cursor is
what --cursor takes to go on from there, and null at the end.`,
		Example: "  question list --state pending\n  question list --correlation-id deploy-42 --json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			limit, err := part.most(cmd)
			if err != nil {
				return err
			}
			o.State = schema.State(state)
			switch {
			case given("state") && !slices.Contains(states, state):
				return fmt.Errorf("--state %q: it is pending, answered, expired or cancelled", state)
			case given("correlation-id") && o.CorrelationID == "":
				return errors.New("--correlation-id is empty")
			}
			api, err := conn.open(cmd, nil)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			page, err := collect(part.cursor, limit, func(size int, cursor string) (*client.Page, error) {
				o.PageSize, o.Cursor = size, cursor
				return api.ListPage(ctx, o)
			})
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
			noteMore(cmd, page)
			return nil
		},
	}
	conn.flags(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only questions in this `STATE`: pending, answered, expired or cancelled")
	cmd.Flags().StringVar(&o.CorrelationID, "correlation-id", "", "only questions asked with this `ID`")
	part.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's JSON documents, as one list")
	command.Values(cmd, "state", states...)
	return cmd
}

// listed is how much of a list a command line wants.
type listed struct {
	limit  int
	all    bool
	cursor string
}

func (l *listed) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&l.limit, "limit", 50, "list at most `N` questions")
	cmd.Flags().BoolVar(&l.all, "all", false, "list all of them")
	cmd.Flags().StringVar(&l.cursor, "cursor", "", "go on from the `NEXT_CURSOR` of an earlier list")
}

// most is how many questions to list.
func (l *listed) most(cmd *cobra.Command) (int, error) {
	given := cmd.Flags().Changed
	switch {
	case given("cursor") && l.cursor == "":
		return 0, errors.New("--cursor is empty")
	case l.all && given("limit"):
		return 0, errors.New("either --all or --limit")
	case l.all:
		return math.MaxInt, nil
	case l.limit < 1:
		return 0, fmt.Errorf("--limit %d: at least 1 is needed", l.limit)
	}
	return l.limit, nil
}

func noteMore(cmd *cobra.Command, page *client.Page) {
	if page.NextCursor != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "question: there are more; --limit says how many to list, or --all")
	}
}

var states = []string{string(schema.Pending), string(schema.Answered), string(schema.Expired), string(schema.Cancelled)}

// collect gives as many questions as the limit says, as if they were one page.
func collect(cursor string, limit int, next func(size int, cursor string) (*client.Page, error)) (*client.Page, error) {
	all := &client.Page{NextCursor: cursor}
	for {
		page, err := next(min(limit-len(all.Questions), client.MaxPage), all.NextCursor)
		if err != nil {
			return nil, err
		}
		all.Questions = append(all.Questions, page.Questions...)
		all.NextCursor = page.NextCursor
		if page.NextCursor == "" || len(all.Questions) >= limit {
			return all, nil
		}
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
