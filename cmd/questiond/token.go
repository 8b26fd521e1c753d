package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token COMMAND",
		Short:   "Make, list and revoke the tokens of agents, and of people who answer",
		Example: "  questiond token add ci --rooms OPS --expires 90d\n  questiond token add --user @alice:example.org --expires 90d",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed: add, list or revoke")
		},
	}
	cmd.AddCommand(newTokenAdd(), newTokenList(), newTokenRevoke())
	return cmd
}

func newTokenAdd() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "add (AGENT | --user USER)",
		Short: "Make a token that acts as an agent, or answers as a person, and print it: it is shown this once",
		Long: `Make a token and print it: it is shown this once.

An AGENT's token asks, in the rooms that are given, and reads and withdraws what the agent asked; --scopes says otherwise. With
read:room it also reads what others asked in these rooms. With queue it rations its questions by the Question Queue, and with
gate it takes part in gated exchanges. A person's token, made with --user, answers as that person whatever they may answer, and
does nothing else: give it to nobody but them.`,
		Example: "  questiond token add ci --rooms OPS,'!abc:example.org' --scopes ask,read --expires 90d\n" +
			"  QUESTION_TOKEN=$(questiond token add ci --rooms '*')\n" +
			"  questiond token add --user @alice:example.org --expires 90d",
		Args: func(cmd *cobra.Command, args []string) error {
			person := cmd.Flags().Changed("user")
			switch {
			case person && len(args) > 0:
				return errors.New("either an AGENT or --user: a token is for one of them")
			case person && user == "":
				return errors.New("--user is empty")
			case !person && len(args) != 1:
				return errors.New("one AGENT is needed, or --user")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "make a person's token: `USER` is their Matrix id")
	path := configFlag(cmd)
	rooms := cmd.Flags().StringSlice("rooms", nil, "the `ROOMS` an agent may ask in: codes, room ids or aliases, or '*' for every room")
	scopes := cmd.Flags().StringSlice("scopes", nil, "what an agent may do: `ask,read,read:room,cancel,queue,gate` (default: ask,read,cancel)")
	command.List(cmd, "scopes", app.Scopes()...)
	expires := cmd.Flags().String("expires", "", "how long it is valid, like 12h or 90d (default: for ever)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		lifetime, err := parseLifetime(*expires)
		if err != nil {
			return err
		}
		cfg, err := loadConfig(*path)
		if err != nil {
			return err
		}
		grant := app.Grant{User: user, Rooms: *rooms, Scopes: *scopes}
		if user == "" {
			grant.Agent = args[0]
		}
		if lifetime > 0 {
			end := time.Now().Add(lifetime).Truncate(time.Millisecond)
			grant.ExpiresAt = &end
		}
		if err := checkGrant(cfg, grant); err != nil {
			return err
		}
		return withOpen(cmd.Context(), cfg, app.OpenTokens, func(t *app.Tokens) error { return addToken(cmd, t, cfg, grant) })
	}
	return cmd
}

func addToken(cmd *cobra.Command, t *app.Tokens, cfg config.Config, grant app.Grant) error {
	secret, kept, err := t.Add(cmd.Context(), grant)
	if err != nil {
		return err
	}
	notes := cmd.ErrOrStderr()
	holder := "agent " + grant.Agent
	if grant.User != "" {
		holder = grant.User
	}
	fmt.Fprintf(notes, "Token %s of %s; keep it, it is not shown again:\n", kept.ID, holder)
	fmt.Fprintln(cmd.OutOrStdout(), secret)
	if grant.User != "" {
		return nil
	}
	named := slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == grant.Agent })
	if !named {
		fmt.Fprintf(notes, "The configuration's agents do not list %s, so people see it under this id.\n", grant.Agent)
	}
	return nil
}

func newTokenList() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List all tokens that were made, and who is signed in, without the secrets",
		Example: "  questiond token list",
		Args:    command.NoArguments,
	}, app.OpenTokens, func(cmd *cobra.Command, _ []string, t *app.Tokens) error {
		tokens, err := t.List(cmd.Context())
		if err == nil {
			writeTokens(cmd.OutOrStdout(), tokens, time.Now())
		}
		return err
	})
}

func newTokenRevoke() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:     "revoke ID",
		Short:   "End a token or a session at once; its id is in the list",
		Example: "  questiond token revoke tok_k3q5wz7abcde",
		Args:    oneID,
	}, app.OpenTokens, func(cmd *cobra.Command, args []string, t *app.Tokens) error {
		found, err := t.Revoke(cmd.Context(), args[0])
		if err == nil && !found {
			err = fmt.Errorf("there is no token %q", args[0])
		}
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "Revoked %s.\n", args[0])
		}
		return err
	})
}

func writeTokens(w io.Writer, tokens []app.Token, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "ID\tACTS AS\tSTATE\tROOMS\tSCOPES\tMADE\tEXPIRES\tLAST USED")
	for _, t := range tokens {
		state, scopes, holder, rooms := "valid", strings.Join(app.ScopesOf(t), ","), string(t.Agent), strings.Join(t.Rooms, ",")
		if t.User != "" {
			holder, rooms, scopes = string(t.User), "-", "answer"
		}
		if t.Session {
			scopes = "answer (signed in)"
		}
		switch {
		case t.RevokedAt != nil:
			state = "revoked"
		case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
			state = "expired"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, holder, state, rooms, scopes,
			day(&t.CreatedAt), day(t.ExpiresAt), day(t.UsedAt))
	}
}

func day(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04")
}
