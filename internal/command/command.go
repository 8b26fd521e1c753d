// Package command is what our two programs have in common as command lines: how they refuse, exit, help and name their
// version.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes that every command has.
const (
	OK     = 0
	Failed = 1 // it could not be done, or a check failed
	Usage  = 2 // the command line is wrong, or something named by it cannot be read or written
)

// Exit is an error that ends the program with a code. Any other error of a command is a usage error.
type Exit struct {
	Code    int
	Message string // for stderr; "" when all is said
}

func (e *Exit) Error() string { return e.Message }

// Exitf makes an [Exit].
func Exitf(code int, format string, args ...any) error {
	return &Exit{code, fmt.Sprintf(format, args...)}
}

// Streams are what a program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run carries out one command line and says with what code to exit. A result that could not be written is no success.
func Run(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	prepare(root)
	out := &checkedWriter{to: s.Out}
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for "read the arguments yourself"
	root.SetIn(s.In)
	root.SetOut(out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteContextC(ctx)
	code := report(s.Err, cmd, err)
	if out.err != nil && code == OK {
		fmt.Fprintf(s.Err, "%s: cannot write the output: %s\n", root.Name(), Plain(out.err))
		return Usage
	}
	return code
}

func prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage, root.DisableFlagsInUseLine = true, true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.RunE = func(*cobra.Command, []string) error { return errors.New("a command is needed") }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		message, _, _ := strings.Cut(err.Error(), ": strconv.")
		return errors.New(message)
	})
	root.SetHelpCommand(help(root))
	// cobra's own template says "[command]" in a line below ours, which says COMMAND.
	root.SetUsageTemplate(strings.NewReplacer("{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}", "", "[command]", "COMMAND").
		Replace(root.UsageTemplate()))
}

// help is cobra's help command, except that an unknown command is an error.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

// report tells of a command's error on stderr and gives the exit code.
func report(stderr io.Writer, cmd *cobra.Command, err error) int {
	program := cmd.Root().Name()
	var e *Exit
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		if e.Message != "" {
			fmt.Fprintf(stderr, "%s: %s\n", program, e.Message)
		}
		return e.Code
	default:
		fmt.Fprintf(stderr, "%s: %s\nhint: %s --help\n", program, strings.TrimSpace(err.Error()), cmd.CommandPath())
		return Usage
	}
}

// NoArguments is a command's Args when it takes none.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("takes no arguments")
	}
	return nil
}

// Version is the command that prints the version of a program.
func Version(program string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  " + program + " version",
		Args:    NoArguments,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), program, BuildVersion())
		},
	}
}

// BuildVersion is what the Go toolchain recorded: the module's version, the commit if it knows it, and its own version.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	if text == "" {
		text = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}

// Plain words an error of the file system without the name of the call that failed.
func Plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Underlying is the output that [Run] was given, for a command that wants to know what it writes to; any other writer is
// itself.
func Underlying(w io.Writer) io.Writer {
	if c, ok := w.(*checkedWriter); ok {
		return c.to
	}
	return w
}

// checkedWriter remembers that a write failed.
type checkedWriter struct {
	to  io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}
