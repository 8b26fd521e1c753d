package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/schema"
)

func newRender() *cobra.Command {
	var html, check bool
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
				return checkBody(cmd, raw, html)
			}
			draft, err := schema.Decode[schema.Draft](raw)
			if err != nil {
				return refused(cmd, err)
			}
			body := draft.TextBody()
			if html {
				body = draft.HTMLBody()
			}
			fmt.Fprintln(cmd.OutOrStdout(), body)
			return nil
		},
	}
	cmd.Flags().BoolVar(&html, "html", false, "the formatted body instead of the plain one")
	cmd.Flags().BoolVar(&check, "check", false, "compare with the event's own body instead of printing")
	return cmd
}

func refused(cmd *cobra.Command, err error) error {
	var refusal *schema.Refusal
	if !errors.As(err, &refusal) {
		return exitf(exitFailed, "the event could not be read")
	}
	writeFaults(cmd.ErrOrStderr(), refusal)
	return exitWith(exitFailed)
}

func checkBody(cmd *cobra.Command, raw []byte, html bool) error {
	event, err := schema.Decode[schema.Elicitation](raw)
	if err != nil {
		return refused(cmd, err)
	}
	difference := bodyDifference(event)
	if html {
		if difference = formattedDifference(event); difference == absent {
			difference = "the event has no formatted_body"
		}
	}
	if difference != "" {
		fmt.Fprintln(cmd.OutOrStdout(), difference)
		return exitWith(exitFailed)
	}
	fmt.Fprintln(cmd.OutOrStdout(), "same")
	return nil
}
