package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
)

func newEncryption() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "encryption COMMAND",
		Short:   "Show the keys of encrypted rooms, or begin anew without them",
		Example: "  questiond encryption key\n  questiond encryption reset --yes",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed: key or reset")
		},
	}
	cmd.AddCommand(newEncryptionKey(), newEncryptionReset())
	return cmd
}

func newEncryptionKey() *cobra.Command {
	return onDatabase(&cobra.Command{
		Use:   "key",
		Short: "Show the bot's device, and the recovery key of its identity",
		Long: `Show the bot's device, its fingerprint, and the recovery key of its identity. The
recovery key is a secret: whoever has it and logs in as the bot can sign as the bot.`,
		Example: "  questiond encryption key",
		Args:    command.NoArguments,
	}, app.OpenEncryptionKeys, func(cmd *cobra.Command, _ []string, k *app.EncryptionKeys) error {
		device, err := k.Device(cmd.Context())
		if err != nil {
			return err
		}
		recovery, err := k.Recovery(cmd.Context())
		switch {
		case err != nil:
			return err
		case device.ID == "":
			return errors.New("there are no keys yet: a server with encryption.enabled makes them when it first runs")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "device        %s\nfingerprint   %s\nrecovery key  %s\n", device.ID, device.Key, recovery)
		return nil
	})
}

// whatResetMeans says it to whoever is about to do it.
const whatResetMeans = `this forgets the bot's device, its identity and every key of encrypted rooms, for good:
- replies that people have written and the bot has not read are lost
- questions that are pending there stay open; the next server writes to them with a new device
- people who verified the bot are told by their clients that its identity has changed
It is for lost pickle keys and for old copies of a database. If that is what you want: questiond encryption reset --yes`

func newEncryptionReset() *cobra.Command {
	yes := false
	cmd := onDatabase(&cobra.Command{
		Use:     "reset --yes",
		Short:   "Forget the bot's device and all keys, when they are lost; the next server makes new ones",
		Example: "  questiond encryption reset --yes",
		Args:    command.NoArguments,
	}, app.OpenEncryptionKeysAlone, func(cmd *cobra.Command, _ []string, k *app.EncryptionKeys) error {
		if err := k.Reset(cmd.Context()); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "The device and its keys are forgotten. The next `questiond serve` makes new ones.")
		return nil
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	forget := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			return errors.New(whatResetMeans)
		}
		return forget(cmd, args)
	}
	return cmd
}
