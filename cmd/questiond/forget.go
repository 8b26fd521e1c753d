package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/config"
)

func newForget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget USER (--dry-run | --yes)",
		Short: "Erase what a person typed, and who they were, from the database",
		Long: `Erase what a person typed, and who they were, from the database, also while the bridge runs.

That a question was answered, when, and by which option stays: its asker acted on it. The person
becomes "forgotten", and what they typed "[erased]". The certificates of what they approved name
them, and are erased too: export those that you must keep. Their tokens end.

What it cannot erase is in other hands: the rooms, what was delivered to askers and webhooks,
backups, logs. It says what is left here and why; docs/operations.md says more.`,
		Example: "  questiond forget @alice:example.org --dry-run\n  questiond forget @alice:example.org --yes",
	}
	dry := cmd.Flags().Bool("dry-run", false, "only say what there is")
	yes := cmd.Flags().Bool("yes", false, "do it; it cannot be undone")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) != 1 || !config.IsUserID(args[0]):
			return errors.New("one USER is needed: a user id like @alice:example.org")
		case *dry == *yes:
			return errors.New("either --dry-run or --yes is needed")
		}
		return nil
	}
	return onConfig(cmd, func(cmd *cobra.Command, args []string, cfg config.Config) error {
		ctx, stop := untilSignalled(cmd.Context())
		defer stop()
		f, err := app.Forget(ctx, cfg, args[0], *dry)
		if err != nil {
			return failf("%s", err)
		}
		out := cmd.OutOrStdout()
		writeTraces(out, args[0], f, *dry)
		writeLeft(out, f)
		return nil
	})
}

func writeTraces(w io.Writer, who string, f app.Forgotten, dry bool) {
	switch {
	case !f.Any():
		fmt.Fprintf(w, "There is nothing of %s to erase.\n", who)
	case dry:
		fmt.Fprintf(w, "Of %s there is:\n", who)
	default:
		fmt.Fprintf(w, "Erased of %s:\n", who)
	}
	for _, line := range []struct {
		n    int
		what string
	}{
		{f.Answers, "questions that they answered or dismissed, or that asked them and have ended"},
		{f.Certificates, "certificates of what they approved"},
		{f.Documents, "webhook events and kept responses that named them"},
		{f.Prompts, "questions that waited for something they were to type"},
		{f.Replies, "notes of which question a reply of theirs was about"},
		{f.Courtesies, "notes of what they were told"},
		{f.Notices, "notices to them that were not sent yet"},
		{f.Events, "events of theirs that were not read yet, or set aside"},
		{f.Tokens, "tokens and sessions"},
		{f.Revocations, "grants that they took back"},
		{f.Asks, "notes of when the question queue asked them"},
		{f.Decisions, "decisions of theirs that were remembered for gated exchanges"},
		{f.Gates, "gated exchanges about them that have ended"},
		{f.Memberships, "memberships of rooms that they are not in"},
		{f.States, "notes that they had set a room's state"},
	} {
		if line.n > 0 {
			fmt.Fprintf(w, "%8d  %s\n", line.n, line.what)
		}
	}
}

func writeLeft(w io.Writer, f app.Forgotten) {
	if f.Asked > 0 {
		fmt.Fprintf(w, "Left: %d pending questions ask them in person. Cancel those, or forget again once they have ended.\n", f.Asked)
	}
	if f.Joined > 0 {
		fmt.Fprintf(w, "Left: their membership of %d rooms that they are in or invited to, which says what they may answer. Forget again once they have left.\n", f.Joined)
	}
	for _, m := range f.Mentions {
		fmt.Fprintf(w, "Left: their id in %d rows of %s.%s.\n", m.Rows, m.Table, m.Column)
	}
	for _, setting := range f.Settings {
		fmt.Fprintf(w, "Left: the configuration names them at %s.\n", setting)
	}
	if f.Audited {
		fmt.Fprintln(w, "Left: the audit log, which is never changed and names whoever answered.")
	}
	if f.LogLeft {
		fmt.Fprintln(w, "Left: SQLite's log may hold rows as they were, until the bridge empties it, within five minutes.")
	}
}
