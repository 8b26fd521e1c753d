package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

// connection is where and as whom the commands that need a server reach it.
type connection struct {
	server, token string
	person        bool // as a person with a responder token, and not as an agent
}

func (c *connection) flags(cmd *cobra.Command) {
	whose := "the agent's"
	if c.person {
		whose = "your own responder"
	}
	cmd.Flags().StringVar(&c.server, "server", "", "address of the server (default $QUESTION_SERVER)")
	cmd.Flags().StringVar(&c.token, "token", "", whose+" token (default $"+c.variable()+", which other users cannot read as they can a command line)")
}

// variable is where the token is, unless a flag gives it.
func (c *connection) variable() string {
	if c.person {
		return "QUESTION_RESPONDER_TOKEN"
	}
	return "QUESTION_TOKEN"
}

// retryFor is how long an ask or a cancel is tried again. Tests put less here.
var retryFor = client.DefaultRetryFor

// open makes the client of an agent.
func (c *connection) open(cmd *cobra.Command, onPoll func(client.Poll)) (*client.Client, error) {
	return opened(c, cmd, func(cfg client.Config) (*client.Client, error) {
		cfg.OnPoll, cfg.RetryFor = onPoll, retryFor
		cfg.OnRetry = func(err error, in time.Duration) {
			fmt.Fprintf(cmd.ErrOrStderr(), "question: %s; trying again in %s\n", worded(err), max(time.Second, in.Round(time.Second)))
		}
		return client.New(cfg)
	})
}

// respond makes the client of a person.
func (c *connection) respond(cmd *cobra.Command) (*client.Responder, error) {
	return opened(c, cmd, client.NewResponder)
}

// opened makes a client. A flag that is given goes before the environment, even when it is empty.
func opened[T any](c *connection, cmd *cobra.Command, open func(client.Config) (T, error)) (api T, err error) {
	server, token := c.server, c.token
	if !cmd.Flags().Changed("server") {
		server = os.Getenv("QUESTION_SERVER")
	}
	if !cmd.Flags().Changed("token") {
		token = os.Getenv(c.variable())
	}
	switch {
	case server == "":
		return api, errors.New("no server: set QUESTION_SERVER, or give --server")
	case token == "":
		return api, errors.New("no token: set " + c.variable() + ", or give --token")
	}
	if api, err = open(client.Config{Server: server, Token: token}); err != nil {
		return api, errors.New(worded(err))
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
	case errors.As(err, &response):
		return refusedBy(response, cmd)
	}
	return exitf(exitFailed, "%s", worded(err))
}

// refusedBy tells of a response that is no success, with the faults that it names.
func refusedBy(response *client.Error, cmd *cobra.Command) error {
	exit := &command.Exit{Code: exitFailed, Message: worded(response), Problem: command.Problem{
		Code: response.Code, Status: response.Status, RetryAfter: response.RetryAfter.Seconds(),
	}}
	switch {
	case len(response.Faults) == 0:
	case command.WantsJSON(cmd):
		exit.Problem.Errors, exit.Problem.More = response.Faults, response.More
	default:
		writeFaults(cmd.ErrOrStderr(), &schema.Refusal{Faults: response.Faults, More: response.More})
	}
	return exit
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
