package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

const fileOrStdin = " [FILE|-]"

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("one FILE at most")
	}
	return nil
}

func nothing(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("takes no arguments")
	}
	return nil
}

// readDocument reads the FILE of a command line, or standard input for "-" and for none. Of a document that is too large
// it reads one byte more than the limit, which is enough to have it refused.
func readDocument(cmd *cobra.Command, args []string) ([]byte, error) {
	name, in := "standard input", cmd.InOrStdin()
	if len(args) == 1 && args[0] != "-" {
		name = args[0]
		f, err := os.Open(name)
		if err != nil {
			return nil, exitf(exitUsage, "cannot read %s: %s", name, command.Plain(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, schema.MaxBytes+1))
	if err != nil {
		return nil, exitf(exitUsage, "cannot read %s: %s", name, command.Plain(err))
	}
	return raw, nil
}
