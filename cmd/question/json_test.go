package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

// problemIn is the document that the last line of stderr is.
func problemIn(t *testing.T, got result) (p command.Problem) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(got.err, "\n"), "\n")
	dec := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || p.ExitCode != got.code || p.Code == "" || p.Detail == "" {
		t.Errorf("the last line of stderr is no problem (%v): %s", err, got.err)
	}
	return p
}

// Every command that gives a result gives it as JSON too.
func TestEveryCommandSpeaksJSON(t *testing.T) {
	// What a shell reads, and what people read, are no results.
	const others = "completion help"
	var paths []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		if cmd.HasSubCommands() || strings.Contains(others, cmd.Name()) {
			return
		}
		paths = append(paths, cmd.CommandPath())
		flag := cmd.Flags().Lookup("json")
		if flag == nil || flag.Hidden || flag.Value.Type() != "bool" {
			t.Errorf("%s has no --json", cmd.CommandPath())
		}
	}
	walk(newRoot())
	slices.Sort(paths)
	want := "question answer, question ask, question cancel, question certificate verify, question conform, question list, question pending, " +
		"question render, question show, question validate, question version, question watch"
	if got := strings.Join(paths, ", "); got != want {
		t.Errorf("the commands are %s", got)
	}
}

// With --json standard output holds one document and nothing else, whatever the command and however it ends.
func TestOneDocumentOnStdout(t *testing.T) {
	decodes := func(text string) bool {
		dec := json.NewDecoder(strings.NewReader(text))
		var object map[string]any
		return dec.Decode(&object) == nil && dec.Decode(&object) == io.EOF
	}
	for _, tt := range []struct {
		args string
		code int
	}{
		{"ask OPS Deploy?", 0}, {"watch q_1", 0}, {"watch q_2", exitExpired}, {"watch q_3", exitCancelled}, {"show q_1", 0}, {"list", 0},
		{"list --all", 0}, {"list --state pending", 0}, {"cancel q_3", 0}, {"cancel q_1", exitFailed}, {"pending", 0}, {"answer q_1 approve --yes", 0},
		{"answer q_1 deny --yes", exitOther}, {"answer q_2 deny --yes", exitExpired}, {"validate", 0}, {"render", 0}, {"render --check", 0},
		{"version", 0}, {"certificate verify - --key " + someKey, exitNotGenuine},
	} {
		t.Run(tt.args, func(t *testing.T) {
			served(t, func(q *schema.Question) { byFederica(q); choose(q, "approve") }, func(q *schema.Question) { end(q, schema.Expired) }, func(q *schema.Question) { end(q, schema.Cancelled) })
			got := call{args: append(strings.Fields(tt.args), "--json"), stdin: event}.run(t)
			if got.code != tt.code || !decodes(got.out) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

const someKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

func TestErrorsAsJSON(t *testing.T) {
	api := served(t)
	refusing := func(status int, header, body string) {
		api.answerBy(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", header)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	asked(t, api, nil)
	tests := []struct {
		name, args string
		want       command.Problem
	}{
		{"a wrong command line", "ask OPS --json", command.Problem{Code: "usage", Detail: "a ROOM and a PROMPT are needed, and nothing else", ExitCode: 2, Hint: "question ask --help"}},
		{"flags that cannot be read", "list --loud --json", command.Problem{Code: "usage", Detail: "unknown flag: --loud", ExitCode: 2, Hint: "question list --help"}},
		{"no command", "vote --json", command.Problem{Code: "usage", Detail: `unknown command "vote" for "question"`, ExitCode: 2, Hint: "question --help"}},
		{"the server's code", "show q_9 --json", command.Problem{Code: "question_not_found", Detail: "There is no such question (404 question_not_found)", ExitCode: 1, Status: 404}},
		{"an ask that is not sent", "ask OPS ? --option a --json", command.Problem{Code: "usage", Detail: "--option has fewer than 2 items", ExitCode: 2, Hint: "question ask --help"}},
		{"how long to wait", "answer q_1 deny --yes --json", command.Problem{Code: "rate_limited", Detail: "Slow down (429 rate_limited)", ExitCode: 1, Status: 429, RetryAfter: 7}},
		{"a file that is not there", "validate none.json --json", command.Problem{Code: "usage", Detail: "cannot read none.json: no such file or directory", ExitCode: 2}},
	}
	refusing(429, "7", `{"code": "rate_limited", "detail": "Slow down."}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: strings.Fields(tt.args)}.run(t)
			if p := problemIn(t, got); got.out != "" || !reflect.DeepEqual(p, tt.want) {
				t.Errorf("got %+v\n%+v", p, got)
			}
		})
	}

	got := call{args: []string{"ask", "NOWHERE", "Deploy?", "--json"}}.run(t)
	p := problemIn(t, got)
	faults, _ := json.Marshal(p.Errors)
	if p.Code != "room_not_found" || strings.Count(got.err, "\n") != 1 || !bytes.Contains(faults, []byte(`"instance_location":"/room"`)) {
		t.Errorf("got %s", got.err)
	}
	if strings.ContainsAny(got.err, "\x1b\u202e") {
		t.Errorf("stderr is not harmless: %q", got.err)
	}
	got = call{args: []string{"render", "--json"}, stdin: "{}"}.run(t)
	if p := problemIn(t, got); p.Code != "invalid" || p.Errors == nil || got.out != "" || got.code != exitFailed {
		t.Errorf("got %+v", got)
	}
}
