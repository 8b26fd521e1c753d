// Command questiond is the server of question-bridge, and what its operator needs beside it.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it carries out one command line and says with what code to exit.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for "read the arguments yourself"
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return report(stderr, cmd, err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:                   "questiond COMMAND",
		Short:                 "Let programs ask people in Matrix rooms, and get one clear answer back",
		Example:               "  questiond demo\n  questiond serve -c config.yaml",
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is needed")
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		message, _, _ := strings.Cut(err.Error(), ": strconv.")
		return errors.New(message)
	})
	root.SetHelpCommand(newHelp(root))
	root.SetUsageTemplate(usageTemplate(root))
	root.AddCommand(newServe(), newDemo(), newRegistration(), newCheck(), newToken(), newVersion())
	return root
}

// usageTemplate is cobra's, without the line that says "[command]" below ours, which says COMMAND.
func usageTemplate(root *cobra.Command) string {
	return strings.NewReplacer("{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}", "", "[command]", "COMMAND").
		Replace(root.UsageTemplate())
}

// newHelp is cobra's help command, except that an unknown command is an error.
func newHelp(root *cobra.Command) *cobra.Command {
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

// untilSignalled ends the context when the program is asked to end. Asked a second time, it ends at once.
func untilSignalled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("takes no arguments")
	}
	return nil
}
