package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
)

func newWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "webhook COMMAND",
		Short:   "See, test, replay and enable webhooks",
		Example: "  questiond webhook list\n  questiond webhook test deploys",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed: list, test, replay, enable or secret")
		},
	}
	cmd.AddCommand(newWebhookList(), newWebhookTest(), newWebhookReplay(), newWebhookEnable(), newWebhookSecret())
	return cmd
}

// listed is the most deliveries that a list shows, and that one replay takes of an endpoint.
const listed = 1000

func newWebhookList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [ENDPOINT]",
		Short: "List the endpoints and how they are, or what one of them is owed",
		Long: "Without ENDPOINT, lists the endpoints and how they are. With it, lists the endpoint's deliveries that are\n" +
			"pending or failed, newest first.",
		Example: "  questiond webhook list\n  questiond webhook list deploys --all",
	}
	all := cmd.Flags().Bool("all", false, "with ENDPOINT: also what was delivered within the last 7 days")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && *all {
			return errors.New("--all needs an ENDPOINT")
		}
		return cobra.MaximumNArgs(1)(cmd, args)
	}
	return onDatabase(cmd, app.OpenWebhooks, func(cmd *cobra.Command, args []string, w *app.Webhooks) error {
		if len(args) == 0 {
			endpoints, err := w.Endpoints(cmd.Context())
			if err == nil {
				writeEndpoints(cmd.OutOrStdout(), endpoints, time.Now())
			}
			return err
		}
		states := []app.DeliveryState{app.DeliveryPending, app.DeliveryFailed}
		if *all {
			states = nil
		}
		deliveries, err := w.Deliveries(cmd.Context(), args[0], listed, states...)
		if err == nil {
			writeDeliveries(cmd.OutOrStdout(), deliveries)
		}
		return err
	})
}

func newWebhookTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test ENDPOINT",
		Short: "Post a signed test event to an endpoint from here, and say what it answered",
		Long: "Posts one event called webhook.test, signed like any other, to an endpoint from this machine, whatever its\n" +
			"filter and state. It is tried once and not kept.",
		Example: "  questiond webhook test deploys",
		Args:    oneEndpoint,
	}
	return onConfig(cmd, func(cmd *cobra.Command, args []string, cfg config.Config) error {
		status, err := app.TestWebhook(cmd.Context(), cfg, args[0])
		switch {
		case err != nil:
			return failf("%s: %s", args[0], err)
		case status < 200 || status > 299:
			return failf("%s answered %d %s", args[0], status, http.StatusText(status))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s answered %d %s.\n", args[0], status, http.StatusText(status))
		return nil
	})
}

func newWebhookReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay DELIVERY...",
		Short: "Send again what failed or was delivered, under its old id",
		Long: "Makes deliveries due again, under their old ids and with their old bytes. A bridge that runs takes them up\n" +
			"within half a minute. What was delivered can be replayed for 7 days, what was not for 30.",
		Example: "  questiond webhook replay msg_k3q5wz7abcdefghijklmnopqrs\n  questiond webhook replay --failed deploys",
	}
	failed := cmd.Flags().String("failed", "", "everything of this `ENDPOINT` that was given up, in place of DELIVERY")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if (len(args) == 0) == (*failed == "") {
			return errors.New("either DELIVERY or --failed is needed; `questiond webhook list ENDPOINT` shows the ids")
		}
		return nil
	}
	return onDatabase(cmd, app.OpenWebhooks, func(cmd *cobra.Command, ids []string, w *app.Webhooks) error {
		if *failed != "" {
			deliveries, err := w.Deliveries(cmd.Context(), *failed, listed, app.DeliveryFailed)
			if err != nil {
				return err
			}
			for _, d := range deliveries {
				ids = append(ids, d.ID)
			}
		}
		if err := w.Replay(cmd.Context(), ids...); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d to be sent again.\n", len(ids))
		return nil
	})
}

func newWebhookEnable() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable ENDPOINT",
		Short: "Let an endpoint that answered 410 Gone have what waits for it",
		Long: "Ends that an endpoint is disabled, because it answered 410 Gone, or paused, because it asked for silence; what\n" +
			"waits for it is due now. A bridge that runs takes it up within half a minute.",
		Example: "  questiond webhook enable deploys",
		Args:    oneEndpoint,
	}
	return onDatabase(cmd, app.OpenWebhooks, func(cmd *cobra.Command, args []string, w *app.Webhooks) error {
		was, err := w.Enable(cmd.Context(), args[0])
		switch {
		case err != nil:
			return err
		case was:
			fmt.Fprintf(cmd.OutOrStdout(), "Enabled %s.\n", args[0])
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "%s was enabled; what waits for it is due now.\n", args[0])
		}
		return nil
	})
}

func newWebhookSecret() *cobra.Command {
	return &cobra.Command{
		Use:     "secret",
		Short:   "Make a secret for an endpoint, and print it",
		Example: "  questiond webhook secret > deploys.secret",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), app.NewWebhookSecret())
			return nil
		},
	}
}

func oneEndpoint(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("one ENDPOINT is needed, by its name in the configuration")
	}
	return nil
}

func writeEndpoints(w io.Writer, endpoints []app.Endpoint, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "ENDPOINT\tSTATE\tPENDING\tFAILED\tLAST SUCCESS\tLAST FAILURE\tBECAUSE")
	for _, e := range endpoints {
		state := "enabled"
		switch {
		case !e.Configured:
			state = "not configured"
		case e.DisabledAt != nil:
			state = "disabled since " + day(e.DisabledAt)
		case e.PausedUntil != nil && now.Before(*e.PausedUntil):
			state = "paused until " + day(e.PausedUntil)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", e.Name, state, e.Pending, e.Failed, day(e.SucceededAt), day(e.FailedAt), orDash(e.Failure))
	}
}

func writeDeliveries(w io.Writer, deliveries []app.Delivery) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "DELIVERY\tSTATE\tEVENT\tQUESTION\tMADE\tATTEMPTS\tNEXT\tBECAUSE")
	for _, d := range deliveries {
		next := "-"
		if d.State == app.DeliveryPending {
			next = day(&d.Due)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, d.State, d.Event, d.Question, day(&d.CreatedAt), d.Attempts, next, orDash(d.Why))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
