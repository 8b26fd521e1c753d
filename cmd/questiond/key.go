package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newKey() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "key COMMAND",
		Short:   "List, replace and remove the keys that sign certificates",
		Example: "  questiond key list\n  questiond key rotate",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed: list, rotate or remove")
		},
	}
	cmd.AddCommand(newKeyList(), newKeyRotate(), newKeyRemove())
	return cmd
}

func newKeyList() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List the public keys; the server makes the first one when it first runs",
		Example: "  questiond key list",
		Args:    command.NoArguments,
	}, app.OpenSigningKeys, func(cmd *cobra.Command, _ []string, k *app.SigningKeys) error {
		keys, err := k.List(cmd.Context())
		if err == nil {
			writeKeys(cmd.OutOrStdout(), keys)
		}
		return err
	})
}

func newKeyRotate() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:     "rotate",
		Short:   "Make a new key that signs from now on; the one before it stays listed",
		Example: "  questiond key rotate",
		Args:    command.NoArguments,
	}, app.OpenSigningKeys, func(cmd *cobra.Command, _ []string, k *app.SigningKeys) error {
		key, err := k.Rotate(cmd.Context())
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", key.ID, key.PublicKey)
			fmt.Fprintf(cmd.ErrOrStderr(), "This key signs now. A running server may sign with the old one for %s more; it need not be restarted.\n", app.RotationDelay)
		}
		return err
	})
}

func newKeyRemove() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:     "remove ID",
		Short:   "Take a replaced key from the list, when somebody else has it: nothing that it signed verifies any more",
		Example: "  questiond key rotate\n  questiond key remove key_34750f98bd59fcfc946da45aaabe933b",
		Args:    oneID,
	}, app.OpenSigningKeys, func(cmd *cobra.Command, args []string, k *app.SigningKeys) error {
		found, err := k.Remove(cmd.Context(), args[0])
		if err == nil && !found {
			err = fmt.Errorf("there is no replaced key %q; the one that signs can be replaced: questiond key rotate", args[0])
		}
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "Removed %s.\n", args[0])
		}
		return err
	})
}

func writeKeys(w io.Writer, keys []app.SigningKey) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "ID\tPUBLIC KEY\tSTATE\tMADE\tREPLACED")
	for _, k := range keys {
		state := "signs"
		if k.RetiredAt != nil {
			state = "replaced"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.PublicKey, state, day(k.CreatedAt), day(k.RetiredAt))
	}
}
