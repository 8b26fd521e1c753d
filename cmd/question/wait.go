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

// waiter waits for one question and tells on stderr how it goes.
type waiter struct {
	cmd    *cobra.Command
	asJSON bool
	line   *liveLine

	mu      sync.Mutex // line's goroutine reads what polled writes
	id      string
	expires time.Time // zero while unknown
	lost    bool
	reason  string // why nobody can see the question, as it was last said
}

func newWaiter(cmd *cobra.Command, asJSON bool) *waiter {
	return &waiter{cmd: cmd, asJSON: asJSON, line: newLiveLine(cmd.ErrOrStderr())}
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
		return exitf(exitInterrupted, "interrupted; the question stays pending. To go on waiting: question watch %s", shellWord(id))
	}
	if refused := new(client.Error); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		w.line.say("to wait again: question watch %s", shellWord(id))
	}
	return failed(ctx, w.cmd, err)
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
