package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

func TestServerRefuses(t *testing.T) {
	newFakeAPI().serve(t, "127.0.0.1:0")
	got := call{args: []string{"ask", "NOWHERE", "Deploy?"}}.run(t)
	want{1, "", "room  /room  is \\u{001B}[31munknown\\u{202E}\nquestion: There is no room \\u{202E}NOWHERE (404 room_not_found)\n"}.check(t, got)
	for _, command := range []string{"watch", "show", "cancel"} {
		got = call{args: []string{command, "q_9"}}.run(t)
		want{1, "", "question: There is no such question (404 question_not_found)\n"}.check(t, got)
		if strings.Contains(got.err, "wait again") {
			t.Errorf("waiting again for nothing is advised: %s", got.err)
		}
	}
	t.Setenv("QUESTION_TOKEN", "another")
	for _, command := range [][]string{{"ask", "OPS", "?", "--wait"}, {"watch", "q_1"}, {"show", "q_1"}, {"list"}, {"cancel", "q_1"}} {
		got = call{args: command}.run(t)
		want{1, "", "question: The bearer token is not valid (401 invalid_token)\n"}.check(t, got)
	}
}

func TestConnection(t *testing.T) {
	defer func(was time.Duration) { retryFor = was }(retryFor)
	retryFor = -1
	api := newFakeAPI()
	server := api.serve(t, "127.0.0.1:0").URL
	commands := [][]string{{"ask", "OPS", "?"}, {"watch", "q_1"}, {"show", "q_1"}, {"list"}, {"cancel", "q_1"}, {"pending"}, {"answer", "q_1", "1", "--yes"}}
	for _, command := range commands {
		variable, token := "QUESTION_TOKEN", agentToken
		if command[0] == "pending" || command[0] == "answer" { // an agent's token is none of a person
			variable, token = "QUESTION_RESPONDER_TOKEN", personToken
		}
		for name, env := range map[string][3]string{
			"no server":          {"", token, "no server: set QUESTION_SERVER, or give --server"},
			"no token":           {server, "", "no token: set " + variable + ", or give --token"},
			"a bad server":       {"example.org", token, "the server address is not an http or https URL"},
			"a multi-line token": {server, token + "\n", "the token holds a space, a line break"},
		} {
			t.Setenv("QUESTION_SERVER", env[0])
			t.Setenv(variable, env[1])
			got := call{args: command}.run(t)
			if (want{2, "", env[2]}).check(t, got); t.Failed() {
				t.Fatalf("%s of %v", name, command)
			}
			if strings.Contains(got.err, token) {
				t.Errorf("%s shows the token: %s", name, got.err)
			}
		}
	}
	t.Setenv("QUESTION_SERVER", "http://127.0.0.1:1")
	t.Setenv("QUESTION_TOKEN", "another")
	asked(t, api, nil)
	for _, command := range [][]string{{"ask", "OPS", "?"}, {"show", "q_1"}, {"list"}, {"cancel", "q_2"}} {
		got := call{args: append(command, "--server", server, "--token", agentToken)}.run(t)
		if got.code != 0 || got.out == "" {
			t.Errorf("%v: flags do not go before the environment: %+v", command, got)
		}
		got = call{args: command}.run(t)
		want{1, "", "question: cannot reach 127.0.0.1:1: "}.check(t, got)
		// An empty flag is most likely a variable that was never set: it is not made up for.
		want{2, "", "no token: "}.check(t, call{args: append(command, "--token", "")}.run(t))
		want{2, "", "no server: "}.check(t, call{args: append(command, "--server", "")}.run(t))
	}
}

func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	asked(t, api, func(q *schema.Question) { choose(q, "approve") })
	for _, args := range [][]string{
		{"ask", "OPS", "?"}, {"watch", "q_1"}, {"watch", "q_1", "--json"}, {"show", "q_1"}, {"list"}, {"list", "--json"}, {"pending"}, {"pending", "--json"},
		{"cancel", "q_2"},
	} {
		var errs bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), failingWriter{}, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "cannot write the output: disk full") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}
