package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newShow() *cobra.Command {
	var conn connection
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Show a question as it stands, or write the certificate of its approval",
		Example:           `  question show "$id"` + "\n" + `  question show "$id" --certificate approval.json`,
		Args:              oneID,
		ValidArgsFunction: conn.ids(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := cmd.Flags().Changed("certificate")
			switch {
			case wanted && file == "":
				return errors.New("--certificate needs a FILE")
			case wanted && asJSON:
				return errors.New("either --certificate or --json")
			}
			api, err := conn.open(cmd, nil)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			q, err := api.Fetch(ctx, args[0])
			if err != nil {
				return failed(ctx, cmd, err)
			}
			if wanted {
				return showCertificate(cmd, q.Raw, file)
			}
			if asJSON {
				return written(writeDocument(cmd.OutOrStdout(), q.Raw))
			}
			writeSummary(cmd.OutOrStdout(), q, time.Now())
			return nil
		},
	}
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's JSON document")
	cmd.Flags().StringVar(&file, "certificate", "", "write the certificate to `FILE`, or to standard output for \"-\", in its exact bytes, and nothing else")
	command.Files(cmd, "certificate")
	return cmd
}

// writeSummary prints a question for a person: its text, then a line for each thing there is to say.
func writeSummary(w io.Writer, q *client.Question, now time.Time) {
	for line := range strings.Lines(q.Prompt) {
		fmt.Fprintln(w, oneLine(strings.TrimRight(line, "\r\n")))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, text *string) {
		if text != nil && *text != "" {
			fmt.Fprintf(table, "  %s\t%s\n", name, oneLine(*text))
		}
	}
	row("id", &q.ID)
	row("context", q.Context)
	row("state", new(stateSummary(q, now)))
	if o, ok := q.Outcome(); ok && o.Answered() {
		row("answer", new(answerSummary(o)))
		row("comment", q.Answer.Comment)
		row("input", q.Answer.Input)
		row("answered by", new(personSummary(q.Answer.Responder)))
		row("answered at", new(instant(q.Answer.AnsweredAt)))
		if q.Answer.Certificate != nil {
			row("certificate", new("yes; --certificate FILE writes it"))
		}
	}
	row("options", new(optionSummary(q.Options)))
	if q.TextInput != nil {
		row("text", new(fmt.Sprintf("up to %d characters", q.TextInput.MaxLength)))
	}
	for _, item := range q.Items {
		row("item "+oneLine(item.Header), new(shortened(item.Prompt, 60)+" "+optionSummary(item.Options)))
	}
	row("asks", q.TargetUserID)
	if q.ResponderScope == "room" {
		row("asks", new("anyone in the room"))
	}
	row("asked at", new(instant(q.CreatedAt)))
	row("expires at", new(instant(q.ExpiresAt)))
	if q.Delivery != nil {
		row("delivery", &q.Delivery.State)
		row("because", deliveryReason(q.Delivery))
	}
	row("correlation id", q.CorrelationID)
	row("reply to", q.ReplyTo)
	for _, warning := range q.Warnings {
		row("warning", &warning)
	}
	table.Flush()
}

func stateSummary(q *client.Question, now time.Time) string {
	switch {
	case q.State == schema.Pending:
		return "pending, " + timeLeft(q.Expires().Sub(now)) + " left"
	case q.State == schema.Cancelled && q.CancelledBy != "":
		return "cancelled (" + q.CancelledBy + ")"
	default:
		return string(q.State)
	}
}

func optionSummary(options []schema.QuestionOption) string {
	var parts []string
	for _, o := range options {
		if o.Label == o.Value || o.Label == "" {
			parts = append(parts, o.Value)
		} else {
			parts = append(parts, fmt.Sprintf("%s (%s)", o.Label, o.Value))
		}
	}
	return strings.Join(parts, ", ")
}

func personSummary(r schema.Responder) string {
	if r.DisplayName == nil || *r.DisplayName == "" {
		return r.ID
	}
	return fmt.Sprintf("%s (%s)", *r.DisplayName, r.ID)
}

// instant is a time of the server in one layout; as it came, if it cannot be read.
func instant(t schema.Timestamp) string {
	at, err := t.Time()
	if err != nil {
		return string(t)
	}
	return at.UTC().Format(timeFormat)
}

// timeLeft is a duration in its two largest units.
func timeLeft(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	}
}
