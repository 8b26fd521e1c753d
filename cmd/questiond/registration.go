package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
)

func newRegistration() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registration",
		Short: "Make the file that registers the bridge on its homeserver, with fresh tokens",
		Long: `Make the file that registers the bridge on its homeserver, with fresh tokens.

The bridge reads the file too, at appservice.registration. An existing file is kept
unless --force is given: new tokens take effect only once the homeserver has them.`,
		Example: "  questiond registration -c config.yaml",
		Args:    command.NoArguments,
	}
	out := cmd.Flags().StringP("output", "o", "", "the `FILE` to write, - for standard output (default: appservice.registration)")
	command.Files(cmd, "output")
	force := cmd.Flags().Bool("force", false, "replace an existing file")
	return onConfig(cmd, func(cmd *cobra.Command, _ []string, cfg config.Config) error {
		target := *out
		if target == "" {
			target = cfg.Appservice.Registration
		}
		return writeRegistration(cmd, cfg, target, *force)
	})
}

func writeRegistration(cmd *cobra.Command, cfg config.Config, target string, force bool) error {
	reg := cfg.NewRegistration()
	if target == "-" {
		data, err := reg.YAML()
		if err == nil {
			_, err = cmd.OutOrStdout().Write(data)
		}
		if err != nil {
			return failf("%s", err)
		}
		return nil
	}
	err := reg.Save(target, force)
	if errors.Is(err, fs.ErrExist) {
		return failf("%s exists: with --force it is replaced, and the homeserver needs the new one", target)
	}
	if err != nil {
		return failf("%s", err)
	}
	tellNext(cmd.OutOrStdout(), target)
	return nil
}

func tellNext(w io.Writer, path string) {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	fmt.Fprintf(w, `Wrote %[1]s. Now let the homeserver read it, and restart it:

  Synapse, homeserver.yaml      app_service_config_files: [%[1]q]
  Dendrite, dendrite.yaml       app_service_api: {config_files: [%[1]q]}
`, path)
}
