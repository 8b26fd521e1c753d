package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
)

// waiting is how a command line wants to wait.
type waiting struct {
	asJSON   bool // print the question as it ended
	withdraw bool // cancel it when interrupted
}

// waiter waits for one question and tells on stderr how it goes.
type waiter struct {
	waiting
	cmd  *cobra.Command
	line *liveLine

	mu      sync.Mutex // line's goroutine reads what polled writes
	id      string
	expires time.Time // zero while unknown
	lost    bool
	reason  string // why nobody can see the question, as it was last said
}

func newWaiter(cmd *cobra.Command, how waiting) *waiter {
	return &waiter{waiting: how, cmd: cmd, line: newLiveLine(cmd.ErrOrStderr())}
}

func cancelFlag(cmd *cobra.Command, withdraw *bool) {
	cmd.Flags().BoolVar(withdraw, "cancel-on-interrupt", false, "withdraw the question when the wait is interrupted, rather than leave it pending")
}

// wait waits for a question that was just asked.
func (w *waiter) wait(ctx context.Context, api *client.Client, q *client.Question) error {
	w.see(q)
	if w.line.width == 0 {
		w.line.say("asked %s; waiting until %s", oneLine(q.ID), q.Expires().UTC().Format(timeFormat))
	}
	return w.await(ctx, api, q.ID)
}

// await waits for a question by its id.
func (w *waiter) await(ctx context.Context, api *client.Client, id string) error {
	w.id = id
	w.line.start(w.status)
	o, err := api.Await(ctx, id)
	w.line.end()
	if err == nil {
		return writeOutcome(w.cmd, o, w.asJSON)
	}
	if ctx.Err() != nil {
		return w.interrupted(api, id)
	}
	if refused := new(client.Error); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		w.line.say("to wait again: question watch %s", shellWord(id))
	}
	return failed(ctx, w.cmd, err)
}

// withdrawTime is how long an interrupted wait has to withdraw its question. Whoever interrupts may not wait much longer.
const withdrawTime = 5 * time.Second

// interrupted leaves the question pending, or withdraws it. A second interrupt ends the program meanwhile.
func (w *waiter) interrupted(api *client.Client, id string) error {
	if !w.withdraw {
		return exitf(exitInterrupted, "interrupted; the question stays pending. To go on waiting: question watch %s", shellWord(id))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(w.cmd.Context()), withdrawTime)
	defer stop()
	q, err := api.Cancel(ctx, id)
	if err != nil {
		return exitf(exitInterrupted, "interrupted; the question may still be pending, since it could not be withdrawn: %s", worded(err))
	}
	switch o, _ := q.Outcome(); {
	case o.Answered():
		return exitf(exitInterrupted, "interrupted; %s", answeredBy(o))
	case o.NoAnswer():
		return exitf(exitInterrupted, "interrupted; %s", noAnswer(q))
	}
	return exitf(exitInterrupted, "interrupted; the question was withdrawn")
}

// see takes note of a question as it stands.
func (w *waiter) see(q *client.Question) {
	w.mu.Lock()
	w.id, w.expires = q.ID, q.Expires()
	reason := undelivered(q)
	news := reason != "" && reason != w.reason
	w.reason = reason
	w.mu.Unlock()
	if news {
		w.line.say("%s; still waiting", reason)
	}
}

// polled is the client's OnPoll.
func (w *waiter) polled(p client.Poll) {
	w.mu.Lock()
	was := w.lost
	w.lost = p.Err != nil
	w.mu.Unlock()
	switch {
	case p.Err != nil && !was:
		w.line.say("lost the server, reconnecting: %s", worded(p.Err))
	case p.Err == nil:
		if was {
			w.line.say("reconnected")
		}
		w.see(p.Question)
	}
}

// status is the live line. The time left comes first: a narrow terminal cuts the rest.
func (w *waiter) status(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "waiting for an answer to " + oneLine(w.id)
	if w.lost {
		text = "reconnecting"
	}
	if !w.expires.IsZero() {
		text = fmt.Sprintf("%s left, %s", max(0, w.expires.Sub(now)).Truncate(time.Second), text)
	}
	return text + " (Ctrl-C leaves it pending)"
}

// shellWord quotes an id for a shell, unless it is as harmless as ids are.
func shellWord(id string) string {
	for _, r := range id {
		if !strings.ContainsRune("_-.:", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "'" + strings.ReplaceAll(oneLine(id), "'", `'\''`) + "'"
		}
	}
	return id
}
