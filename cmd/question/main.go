// Command question is the shell gate of question-bridge: it asks people questions and waits for their answers. Offline it
// validates documents, renders fallback bodies, and runs conformance corpora.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it carries out one command line and says with what code to exit.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &checkedWriter{to: stdout}
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for "read the arguments yourself"
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)

	cmd, err := root.ExecuteContextC(ctx)
	code := report(stderr, cmd, err)
	if out.err != nil && code == exitOK {
		fmt.Fprintln(stderr, "question: cannot write the output:", plain(out.err))
		return exitUsage
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:                   "question COMMAND",
		Short:                 "Ask people questions and wait for their answers; check documents of question-bridge",
		Long:                  rootHelp,
		Example:               rootExample,
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
	root.AddGroup(&cobra.Group{ID: "asking", Title: "Asking:"}, &cobra.Group{ID: "offline", Title: "Offline:"})
	addGroup(root, "asking", newAsk(), newWatch(), newShow(), newList(), newCancel())
	addGroup(root, "offline", newValidate(), newRender(), newConform())
	root.AddCommand(newVersion())
	return root
}

func addGroup(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

const rootHelp = `Ask people questions and wait for their answers; check documents of question-bridge.

Asking needs the address of the server in QUESTION_SERVER and the agent's token in QUESTION_TOKEN.

A wait prints the value of the chosen option, or the typed text, alone on standard output. Everything else goes to
standard error. Exit codes:
    0  somebody answered, whatever the answer is; for the other commands: done
    1  an error
    2  the command line is wrong
    3  nobody answered before the question expired
    4  the question was cancelled
  130  interrupted; a question that was waited for stays pending`

const rootExample = `  if [ "$(question ask "$ROOM" "Deploy?" --yes-no --wait)" = approve ]; then ./deploy.sh; fi
  question validate event.json`

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

// checkedWriter remembers that a write failed, so that a result that nobody got is not a success.
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
