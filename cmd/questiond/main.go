// Command questiond is the server of question-bridge, and what its operator needs beside it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it carries out one command line and says with what code to exit.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Run(ctx, newRoot(), args, command.Streams{In: stdin, Out: stdout, Err: stderr})
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:     "questiond COMMAND",
		Short:   "Let programs ask people in Matrix rooms, and get one clear answer back",
		Example: "  questiond demo\n  questiond serve -c config.yaml",
	}
	root.AddCommand(newServe(), newDemo(), newRegistration(), newCheck(), newHealth(), newToken(), newKey(), newEncryption(), newWebhook(),
		newBackup(), newForget(), command.Version("questiond"))
	return root
}

// untilSignalled ends the context when the program is asked to end. Asked a second time, it ends at once.
func untilSignalled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
