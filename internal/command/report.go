package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
)

// Exit is an error that ends the program with a code. Any other error of a command is a usage error.
type Exit struct {
	Code    int
	Message string // for stderr; "" when all is said
	Problem Problem
}

func (e *Exit) Error() string { return e.Message }

// Exitf makes an [Exit].
func Exitf(code int, format string, args ...any) error {
	return &Exit{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Problem is what a program is told of an error besides its words and its exit code. With --json the last line of stderr
// is such a document in place of the message, with the names that a server's problem documents have (RFC 9457).
type Problem struct {
	Code       string  `json:"code"`                  // a stable word: a server's own, or one for the exit code
	Detail     string  `json:"detail"`                // what the message says
	ExitCode   int     `json:"exit_code"`             // the program's
	Status     int     `json:"status,omitempty"`      // of a server's response
	Errors     any     `json:"errors,omitempty"`      // the faults of what was asked, one by one
	More       int     `json:"more,omitempty"`        // how many faults there are beside those
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds
	Hint       string  `json:"hint,omitempty"`        // a command that tells more
}

// WantsJSON says whether a command was asked for documents and not for text.
func WantsJSON(cmd *cobra.Command) bool {
	asked, err := cmd.Flags().GetBool("json")
	return err == nil && asked
}

// reporter tells of a command's error on stderr.
type reporter struct {
	stderr io.Writer
	args   []string
}

// report gives the exit code.
func (r reporter) report(cmd *cobra.Command, err error) int {
	var e *Exit
	hint := ""
	switch {
	case err == nil:
		return OK
	case !errors.As(err, &e):
		hint = cmd.CommandPath() + " --help"
		e = &Exit{Code: Usage, Message: strings.TrimSpace(err.Error())}
	}
	switch {
	case e.Message == "":
	case WantsJSON(cmd) || slices.Contains(r.args, "--json"): // also where the flags could not be read
		r.document(e, hint)
	case hint != "":
		fmt.Fprintf(r.stderr, "%s: %s\nhint: %s\n", cmd.Root().Name(), e.Message, hint)
	default:
		fmt.Fprintf(r.stderr, "%s: %s\n", cmd.Root().Name(), e.Message)
	}
	return e.Code
}

func (r reporter) document(e *Exit, hint string) {
	p := e.Problem
	p.Detail, p.ExitCode, p.Hint = e.Message, e.Code, hint
	if p.Code == "" {
		p.Code = map[int]string{Usage: "usage"}[e.Code]
	}
	if p.Code == "" {
		p.Code = "failed"
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p)                                           // a Problem can always be encoded
	_, _ = io.WriteString(r.stderr, EscapedJSON(line.String())) // there is nowhere left to tell of a stderr that fails
}

// EscapedJSON is a JSON text in which every character that is not printable is escaped, but for line breaks, so that it is
// harmless on a terminal. Such characters stand only within strings, where an escape means the same.
func EscapedJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
