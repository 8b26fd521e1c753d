package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// connection is where and as whom the commands that ask a server do so.
type connection struct{ server, token string }

func (c *connection) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.server, "server", "", "address of the server (default $QUESTION_SERVER)")
	cmd.Flags().StringVar(&c.token, "token", "", "the agent's token (default $QUESTION_TOKEN, which other users cannot read as they can a command line)")
}

// open makes the client. A flag that is given goes before the environment, even when it is empty.
func (c *connection) open(cmd *cobra.Command, onPoll func(client.Poll)) (*client.Client, error) {
	server, token := c.server, c.token
	if !cmd.Flags().Changed("server") {
		server = os.Getenv("QUESTION_SERVER")
	}
	if !cmd.Flags().Changed("token") {
		token = os.Getenv("QUESTION_TOKEN")
	}
	switch {
	case server == "":
		return nil, errors.New("no server: set QUESTION_SERVER, or give --server")
	case token == "":
		return nil, errors.New("no token: set QUESTION_TOKEN, or give --token")
	}
	api, err := client.New(client.Config{Server: server, Token: token, OnPoll: onPoll})
	if err != nil {
		return nil, errors.New(worded(err))
	}
	return api, nil
}

// interruptible gives a context that ends with the first SIGINT or SIGTERM. The second one ends the program.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// failed words an error of the client for stderr, and says with what code to exit.
func failed(ctx context.Context, cmd *cobra.Command, err error) error {
	var refusal *schema.Refusal
	var response *client.Error
	switch {
	case ctx.Err() != nil:
		return exitf(exitInterrupted, "interrupted")
	case errors.As(err, &refusal): // nothing was sent: it is the command line that asks what may not be asked
		return errors.New(refusedArguments(refusal))
	case errors.As(err, &response) && len(response.Faults) > 0:
		writeFaults(cmd.ErrOrStderr(), &schema.Refusal{Faults: response.Faults, More: response.More})
	}
	return exitf(exitFailed, "%s", worded(err))
}

// worded says in one line, harmless on a terminal, what went wrong.
func worded(err error) string {
	var response *client.Error
	if errors.As(err, &response) {
		name := response.Code
		if name == "" {
			name = "without a code"
		}
		return fmt.Sprintf("%s (%d %s)", oneLine(strings.TrimSuffix(response.Detail, ".")), response.Status, oneLine(name))
	}
	return oneLine(strings.TrimPrefix(err.Error(), "client: "))
}

// oneID takes the ID of a question as the only argument.
func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("one question ID is needed")
	}
	return nil
}
