package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// typing is a person on a terminal who can be asked.
type typing struct {
	out   io.Writer
	lines *bufio.Reader
}

// newTyping gives nil where nobody can be asked: what is typed comes from elsewhere, or what is asked goes elsewhere.
func newTyping(cmd *cobra.Command) *typing {
	if !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.ErrOrStderr()) {
		return nil
	}
	return &typing{cmd.ErrOrStderr(), bufio.NewReader(cmd.InOrStdin())}
}

// ask prints a prompt and reads one line, without white space around it. The end of the input is an empty line.
func (t *typing) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(t.out, prompt)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // reading cannot be interrupted; the program ends before it does
		text, err := t.lines.ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err != nil && l.err != io.EOF {
			return "", exitf(exitFailed, "cannot read the answer: %s", oneLine(l.err.Error()))
		}
		if l.err == io.EOF {
			fmt.Fprintln(t.out)
		}
		return strings.TrimSpace(l.text), nil
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", exitf(exitInterrupted, "interrupted; the question stays pending")
	}
}
