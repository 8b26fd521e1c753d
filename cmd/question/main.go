// Command question is the shell gate of question-bridge: it asks people questions and waits for their answers, and answers
// them as a person. Offline it validates documents, renders fallback bodies, and runs conformance corpora.
package main

import (
	"context"
	"io"
	"os"

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
		Use:     "question COMMAND",
		Short:   "Ask people questions, wait for their answers, and answer; check documents of question-bridge",
		Long:    rootHelp,
		Example: rootExample,
	}
	root.AddGroup(&cobra.Group{ID: "asking", Title: "Asking:"}, &cobra.Group{ID: "answering", Title: "Answering, as a person:"}, &cobra.Group{ID: "offline", Title: "Offline:"})
	addGroup(root, "asking", newAsk(), newWatch(), newShow(), newList(), newCancel())
	addGroup(root, "answering", newPending(), newAnswer())
	addGroup(root, "offline", newValidate(), newRender(), newConform(), newCertificate())
	root.AddCommand(command.Version("question"))
	return root
}

func addGroup(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

const rootHelp = `Ask people questions, wait for their answers, and answer; check documents of question-bridge.

Asking needs the address of the server in QUESTION_SERVER and the agent's token in QUESTION_TOKEN. Answering needs a person's
own token, in QUESTION_RESPONDER_TOKEN.

A wait prints the value of the chosen option, or the typed text, alone on standard output. Everything else goes to
standard error. Exit codes:
    0  somebody answered, whatever the answer is; for the other commands: done
    1  an error
    2  the command line is wrong
    3  nobody answered before the question expired
    4  the question was cancelled
    5  of certificate verify: it is not genuine
    6  of certificate verify: it is, but not of what was expected
    7  of answer: another answer stands, most likely because somebody else was first
  130  interrupted; a question that was waited for stays pending`

const rootExample = `  if [ "$(question ask "$ROOM" "Deploy?" --yes-no --wait)" = approve ]; then ./deploy.sh; fi
  question validate event.json`
