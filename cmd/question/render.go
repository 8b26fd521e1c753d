package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newRender() *cobra.Command {
	var html, check, asJSON bool
	cmd := &cobra.Command{
		Use:     "render" + fileOrStdin,
		Short:   "Print the fallback body that belongs to a " + schema.EventType + " event, which may lack its own",
		Example: "  question render --check event.json",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := readDocument(cmd, args)
			if err != nil {
				return err
			}
			if check {
				return checkBody(cmd, raw, comparison{html, asJSON})
			}
			draft, err := schema.Decode[schema.Draft](raw)
			if err != nil {
				return refused(cmd, err)
			}
			switch {
			case asJSON:
				return written(writeJSON(cmd.OutOrStdout(), renderedJSON{draft.TextBody(), draft.HTMLBody()}))
			case html:
				fmt.Fprintln(cmd.OutOrStdout(), draft.HTMLBody())
			default:
				fmt.Fprintln(cmd.OutOrStdout(), draft.TextBody())
			}
			return nil
		},
	}
	cmd.ValidArgsFunction = command.FileNames
	cmd.Flags().BoolVar(&html, "html", false, "the formatted body instead of the plain one")
	cmd.Flags().BoolVar(&check, "check", false, "compare with the event's own body instead of printing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print both bodies as JSON; with --check, the verdict")
	return cmd
}

type renderedJSON struct {
	Body          string `json:"body"`
	FormattedBody string `json:"formatted_body"`
}

// comparison says which body of an event to compare, and how to tell.
type comparison struct{ html, asJSON bool }

type comparisonJSON struct {
	Same       bool   `json:"same"`
	Difference string `json:"difference"` // where they differ, as a sentence; "" for nowhere
}

func refused(cmd *cobra.Command, err error) error {
	var refusal *schema.Refusal
	if !errors.As(err, &refusal) {
		return exitf(exitFailed, "the event could not be read")
	}
	if command.WantsJSON(cmd) {
		return &command.Exit{Code: exitFailed, Message: "the event is not valid", Problem: command.Problem{
			Code: "invalid", Errors: refusal.Faults, More: refusal.More,
		}}
	}
	writeFaults(cmd.ErrOrStderr(), refusal)
	return exitWith(exitFailed)
}

func checkBody(cmd *cobra.Command, raw []byte, how comparison) error {
	event, err := schema.Decode[schema.Elicitation](raw)
	if err != nil {
		return refused(cmd, err)
	}
	difference := bodyDifference(event)
	if how.html {
		if difference = formattedDifference(event); difference == absent {
			difference = "the event has no formatted_body"
		}
	}
	switch {
	case how.asJSON:
		if err := writeJSON(cmd.OutOrStdout(), comparisonJSON{difference == "", difference}); err != nil {
			return written(err)
		}
	case difference == "":
		fmt.Fprintln(cmd.OutOrStdout(), "same")
	default:
		fmt.Fprintln(cmd.OutOrStdout(), difference)
	}
	if difference != "" {
		return exitWith(exitFailed)
	}
	return nil
}
