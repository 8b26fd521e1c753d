package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitOK        = 0 // answered, valid, passed
	exitFailed    = 1 // an error, refused, failed
	exitUsage     = 2 // the command line is wrong, or something named by it cannot be read or written
	exitExpired   = 3 // the question expired
	exitCancelled = 4 // the question was cancelled

	exitInterrupted = 130 // SIGINT or SIGTERM, as a shell counts; a question that was waited for stays pending
)

// exit is an error that ends the program with a code. Any other error of a command is a usage error.
type exit struct {
	code    int
	message string // for stderr; "" when all is said
}

func (e *exit) Error() string { return e.message }

func exitf(code int, format string, args ...any) error {
	return &exit{code, fmt.Sprintf(format, args...)}
}

// report tells of a command's error on stderr and gives the exit code.
func report(stderr io.Writer, cmd *cobra.Command, err error) int {
	var e *exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		if e.message != "" {
			fmt.Fprintln(stderr, "question:", e.message)
		}
		return e.code
	default:
		fmt.Fprintf(stderr, "question: %s\nhint: %s --help\n", strings.TrimSpace(err.Error()), cmd.CommandPath())
		return exitUsage
	}
}

// plain words an error of the file system without the name of the call that failed.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
