package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// event is a valid question with the body that belongs to it. Tests change parts of it.
const event = `{
  "msgtype": "m.text", "body": ` + eventBody + `,
  "suite_event_type": "dev.superpipeline.question.v2", "schema_version": 1,
  "elicitation_id": "elc_1", "board_id": "brd_1", "card_id": "crd_1", "run_id": "run_1", "stage_key": "build", "asked_by": "agt_1",
  "card_title": "Title", "question": "Go on?",
  "options": [{"id": "yes", "label": "Yes", "meaning": "choose", "needs_comment": false}],
  "deep_link": "https://example.org/c/1"
}`

const eventBody = `"An agent is waiting on you — \"Title\" at stage ` + "`build`" + `.\n\nGo on?\n\n1. Yes\n\n` +
	`Reply with the number, or the option's name. [Open the card](https://example.org/c/1)"`

const eventText = "An agent is waiting on you — \"Title\" at stage `build`.\n\nGo on?\n\n1. Yes\n\n" +
	"Reply with the number, or the option's name. [Open the card](https://example.org/c/1)\n"

// edited is the event with parts of its JSON replaced: old, new, old, new.
func edited(t *testing.T, parts ...string) string {
	t.Helper()
	text := event
	for i := 0; i < len(parts); i += 2 {
		if !strings.Contains(text, parts[i]) {
			t.Fatalf("the event has no %s", parts[i])
		}
		text = strings.Replace(text, parts[i], parts[i+1], 1)
	}
	return text
}

// call is one run of the program in a folder that holds files.
type call struct {
	args  []string
	stdin string
	files map[string]string
}

type result struct {
	code     int
	out, err string
}

func (c call) run(t *testing.T) result {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range c.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), c.args, strings.NewReader(c.stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// want is what a call should give. The texts are parts of the output; "" demands that there is none.
type want struct {
	code     int
	out, err string
}

func (w want) check(t *testing.T, got result) {
	t.Helper()
	if got.code != w.code {
		t.Errorf("exit code %d, want %d", got.code, w.code)
	}
	for _, s := range []struct{ name, got, want string }{{"stdout", got.out, w.out}, {"stderr", got.err, w.err}} {
		if s.want == "" && s.got != "" || !strings.Contains(s.got, s.want) {
			t.Errorf("%s is %q, want %q in it", s.name, s.got, s.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name string
		args string
		want want
	}{
		{"no command", "", want{2, "", "question: a command is needed\nhint: question --help\n"}},
		{"unknown command", "vote", want{2, "", "question: unknown command \"vote\" for \"question\"\nhint: question --help\n"}},
		{"unknown flag", "--loud", want{2, "", "question: unknown flag: --loud\nhint: question --help\n"}},
		{"unknown flag of a command", "render --loud", want{2, "", "question: unknown flag: --loud\nhint: question render --help\n"}},
		{"flag without its value", "validate --kind", want{2, "", "flag needs an argument: --kind\nhint: question validate --help\n"}},
		{"bad value of a flag", "validate --json=perhaps", want{2, "", "invalid argument \"perhaps\" for \"--json\" flag\n"}},
		{"two files to validate", "validate a b", want{2, "", "one FILE at most\nhint: question validate --help\n"}},
		{"two files to render", "render a b", want{2, "", "one FILE at most\nhint: question render --help\n"}},
		{"version of something", "version x", want{2, "", "takes no arguments\n"}},
		{"help for an unknown command", "help vote", want{2, "", "unknown command \"vote\""}},
		{"nothing to conform", "conform", want{2, "", "a PATH is needed, or --embedded\nhint: question conform --help\n"}},
		{"no file for JUnit", "conform --embedded --junit=", want{2, "", "--junit needs a FILE\n"}},
		{"help", "--help", want{0, "question validate event.json", ""}},
		{"help as a command", "help render", want{0, "question render --check event.json", ""}},
		{"help of validate", "validate --help", want{0, "question validate event.json", ""}},
		{"help of conform", "conform --help", want{0, "question conform --bodies examples.json", ""}},
		{"help of asking", "ask --help", want{0, "question ask \"$ROOM\" \"Deploy?\" --yes-no --wait", ""}},
		{"help by another name", "await --help", want{0, "question watch \"$id\"", ""}},
		{"version", "version", want{0, "question ", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: strings.Fields(tt.args)}.run(t)
			tt.want.check(t, got)
			for _, internal := range []string{"strconv", "pflag", "*schema", "parsing"} {
				if strings.Contains(got.err, internal) {
					t.Errorf("stderr shows %q: %q", internal, got.err)
				}
			}
		})
	}
}

func TestNoExampleHasATokenOnTheCommandLine(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if strings.Contains(cmd.Example+cmd.Long, "--token") {
			t.Errorf("%s: %s", cmd.Name(), cmd.Example)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"validate"}, {"validate", "--json"}, {"render"}, {"render", "--json"}, {"render", "--check", "--json"}, {"conform", "--embedded"}, {"version", "--json"}, {"completion", "bash"}} {
		var errs bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(event), failingWriter{}, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "cannot write the output: disk full") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

func TestRunTakesNoArgumentsFromTheProcess(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = []string{"question", "version"}
	var errs bytes.Buffer
	if code := run(context.Background(), nil, strings.NewReader(""), io.Discard, &errs); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(errs.String(), "a command is needed") {
		t.Errorf("stderr %q", errs.String())
	}
}
