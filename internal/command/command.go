// Package command is what our two programs have in common as command lines: how they refuse, exit, help and name their
// version.
package command

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes that every command has.
const (
	OK     = 0
	Failed = 1 // it could not be done, or a check failed
	Usage  = 2 // the command line is wrong, or something named by it cannot be read or written
)

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
	if err == nil && out.err != nil {
		err = Exitf(Usage, "cannot write the output: %s", Plain(out.err))
	}
	return reporter{s.Err, args}.report(cmd, err)
}

func prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage, root.DisableFlagsInUseLine = true, true, true
	root.CompletionOptions.DisableDefaultCmd = true // ours is another
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(completion(root.Name()))
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
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cmd, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

// NoArguments is a command's Args when it takes none.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("takes no arguments")
	}
	return nil
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
