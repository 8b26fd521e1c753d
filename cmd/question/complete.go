package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// completionTime bounds what a shell waits for a server while somebody types.
const completionTime = 2 * time.Second

// completions is how many questions are offered.
const completions = 50

// ids completes the ID of a question by those that the agent's server has in a state, newest first; "" for every state.
// Where the server cannot be asked in time, nothing is offered.
func (c *connection) ids(state schema.State) cobra.CompletionFunc {
	return c.asking(func(ctx context.Context, cmd *cobra.Command, args []string) (offers []cobra.Completion) {
		api, err := c.open(cmd, nil)
		if err != nil || len(args) > 0 {
			return nil
		}
		page, err := api.ListPage(ctx, client.ListOptions{State: state, PageSize: completions})
		if err != nil {
			return nil
		}
		return offered(page)
	})
}

// answers completes the ID of a question that waits for a person, and then its options. A digest is never completed:
// it says what the person has seen.
func (c *connection) answers() cobra.CompletionFunc {
	return c.asking(func(ctx context.Context, cmd *cobra.Command, args []string) (offers []cobra.Completion) {
		api, err := c.respond(cmd)
		if err != nil {
			return nil
		}
		if len(args) == 0 {
			page, err := api.Pending(ctx, client.PendingOptions{PageSize: completions})
			if err != nil {
				return nil
			}
			return offered(page)
		}
		q, err := api.Show(ctx, args[0])
		if err != nil {
			return nil
		}
		parts := partsOf(q)
		if len(args) > len(parts) {
			return nil
		}
		for _, o := range parts[len(args)-1].options {
			if shellWord(o.Value) == o.Value && o.Value != "" {
				offers = append(offers, cobra.CompletionWithDesc(o.Value, oneLine(o.Label)))
			}
		}
		return offers
	})
}

func (c *connection) asking(offer func(context.Context, *cobra.Command, []string) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
		defer stop()
		return offer(ctx, cmd, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// offered are the ids of a page. One that a shell would take for more than a word is left out.
func offered(page *client.Page) (offers []cobra.Completion) {
	for _, q := range page.Questions {
		if shellWord(q.ID) == q.ID {
			offers = append(offers, cobra.CompletionWithDesc(q.ID, shortened(prompt(q), 50)))
		}
	}
	return offers
}

// completeOption completes the style, which is the third part of an option.
func completeOption(_ *cobra.Command, _ []string, typed string) (offers []cobra.Completion, _ cobra.ShellCompDirective) {
	if strings.Count(typed, ":") < 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	labelled := typed[:strings.LastIndexByte(typed, ':')+1]
	for _, style := range styles {
		offers = append(offers, labelled+string(style))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}
