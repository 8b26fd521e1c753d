package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
)

// configFlag adds -c to a command, and gives what it names.
func configFlag(cmd *cobra.Command) *string {
	path := cmd.Flags().StringP("config", "c", "config.yaml", "the configuration `FILE`")
	command.Files(cmd, "config")
	return path
}

// onConfig lets a command work on what its configuration says.
func onConfig(cmd *cobra.Command, do func(cmd *cobra.Command, args []string, cfg config.Config) error) *cobra.Command {
	path := configFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(*path)
		if err != nil {
			return err
		}
		return do(cmd, args, cfg)
	}
	return cmd
}

// loadConfig reads the configuration; the error names every fault of it, one a line.
func loadConfig(path string) (config.Config, error) {
	cfg, err := config.Load(path, os.Getenv)
	return cfg, faultsOf(path, err)
}

// loadBoth reads the configuration and the registration that belongs to it.
func loadBoth(path string) (config.Config, config.Registration, error) {
	cfg, err := loadConfig(path)
	if err != nil {
		return cfg, config.Registration{}, err
	}
	reg, err := cfg.LoadRegistration()
	return cfg, reg, faultsOf(cfg.Appservice.Registration, err)
}

func faultsOf(path string, err error) error {
	var faults config.Faults
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults):
		return failf("%s is not right:\n  %s", path, strings.ReplaceAll(faults.Error(), "\n", "\n  "))
	default:
		return failf("%s", err)
	}
}
