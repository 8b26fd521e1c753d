package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/fixtures"
	"superpipeline.dev/question-bridge/internal/command"
)

type conformFlags struct {
	bodies, embedded, json bool
	junit                  string
}

func newConform() *cobra.Command {
	var flags conformFlags
	cmd := &cobra.Command{
		Use:   "conform PATH...",
		Short: "Run a corpus of cases: corpus files, case files, or folders of them",
		Long: "Run a corpus of cases: corpus files, case files, or folders of them.\n\n" +
			"A valid case passes when its content is valid. A refused case passes when the rule in refused_by refuses it,\n" +
			"and one of the faults has the location and the keyword of its expect.",
		Example: "  question conform --bodies examples.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !flags.embedded {
				return errors.New("a PATH is needed, or --embedded")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("junit") && flags.junit == "" {
				return errors.New("--junit needs a FILE")
			}
			return conform(cmd, args, flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.bodies, "bodies", false, "also require valid events to have the bodies that belong to them")
	f.BoolVar(&flags.embedded, "embedded", false, "run the corpus that is built in")
	f.BoolVar(&flags.json, "json", false, "print one JSON document instead of lines")
	cmd.ValidArgsFunction = command.FileNames
	f.StringVar(&flags.junit, "junit", "", "write the results to `FILE` as JUnit XML too")
	command.Files(cmd, "junit")
	return cmd
}

func conform(cmd *cobra.Command, paths []string, flags conformFlags) error {
	var c corpus
	if flags.embedded {
		if err := c.addFolder(fixtures.FS, "embedded"); err != nil {
			return err
		}
		c.forgetSkipped() // the fixtures are more than corpora
	}
	for _, p := range paths {
		if err := c.addPath(p); err != nil {
			return err
		}
	}
	for _, note := range c.notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}

	var lines io.Writer = io.Discard
	if !flags.json {
		lines = cmd.OutOrStdout()
	}
	r := runCases(c.cases, flags.bodies, lines)
	if flags.json {
		if err := writeJSON(cmd.OutOrStdout(), r); err != nil {
			return exitf(exitUsage, "cannot write the output: %s", command.Plain(err))
		}
	}
	if flags.junit != "" {
		if err := writeJUnit(flags.junit, r); err != nil {
			return exitf(exitUsage, "cannot write %s: %s", flags.junit, command.Plain(err))
		}
	}
	switch {
	case r.Failed > 0:
		return exitWith(exitFailed)
	case r.Passed == 0:
		return exitf(exitUsage, "no cases found")
	}
	return nil
}

func writeJUnit(name string, r results) error {
	raw, err := junit(r)
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o644)
}
