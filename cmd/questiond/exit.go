package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1 // it could not be done, or a check failed
	exitUsage  = 2 // the command line is wrong
)

// failure is an error that ends the program with exitFailed. Any other error of a command is a usage error.
type failure struct{ message string } // for stderr; "" when all is said

func (f *failure) Error() string { return f.message }

func failf(format string, args ...any) error {
	return &failure{fmt.Sprintf(format, args...)}
}

// report tells of a command's error on stderr and gives the exit code.
func report(stderr io.Writer, cmd *cobra.Command, err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		if f.message != "" {
			fmt.Fprintln(stderr, "questiond:", f.message)
		}
		return exitFailed
	default:
		fmt.Fprintf(stderr, "questiond: %s\nhint: %s --help\n", strings.TrimSpace(err.Error()), cmd.CommandPath())
		return exitUsage
	}
}
