package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// completed is what a shell is offered for the last of the arguments, and whether it offers names of files too.
func completed(t *testing.T, args ...string) (offers string, files bool) {
	t.Helper()
	got := runs(t, 0, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	last := len(lines) - 1
	return strings.Join(lines[:last], "|"), lines[last] == ":0"
}

func TestCompletion(t *testing.T) {
	served(t,
		func(q *schema.Question) { byFederica(q); q.Prompt = "Deploy\nv1\x1b[2J?" },
		func(q *schema.Question) { byFederica(q); choose(q, "deny") },
		func(q *schema.Question) {
			byFederica(q)
			q.Prompt = ""
			q.Items = []schema.QuestionItem{
				{Header: "Where", Prompt: "Where to?", Options: []schema.QuestionOption{{Value: "eu", Label: "Europe"}}},
				{Header: "When", Options: []schema.QuestionOption{{Value: "now", Label: "Now"}, {Value: "a b", Label: "No word"}}},
			}
		},
		func(q *schema.Question) { q.ID = "$(reboot)" },
	)
	const pending = "q_3\tWhere to?|q_1\tDeploy v1\\u{001B}[2J?"
	for _, tt := range []struct{ args, offers string }{
		{"li", "list\tList the questions that this agent asked, newest first"},
		{"list --state ", "pending|answered|expired|cancelled"},
		{"list --state=", "pending|answered|expired|cancelled"},
		{"list --correlation-id ", ""},
		{"list ", ""},
		{"ask ", ""},
		{"ask OPS ", ""},
		{"ask OPS Deploy? --scope ", "direct\tone person, whom --to names|room\tanyone in the room"},
		{"ask OPS Deploy? --option a:A", ""},
		{"ask OPS Deploy? --option a:A:", "a:A:primary|a:A:danger|a:A:default"},
		{"ask OPS Deploy? --option a:at:10:", "a:at:10:primary|a:at:10:danger|a:at:10:default"},
		{"ask OPS Deploy? --ttl ", ""},
		{"ask OPS Deploy? --yes-", "--yes-no\tthe answers are Yes (approve) and No (deny)"},
		{"watch ", pending},
		{"await ", pending},
		{"cancel ", pending},
		{"show ", "q_3\tWhere to?|q_2\tDeploy?|q_1\tDeploy v1\\u{001B}[2J?"},
		{"watch q_1 ", ""},
		{"answer ", "q_3\tWhere to?|q_2\tDeploy?|q_1\tDeploy v1\\u{001B}[2J?"}, // all that this API calls pending
		{"answer q_1 ", "approve\tYes|deny\tNo"},
		{"answer q_1 deny ", ""},
		{"answer q_3 ", "eu\tEurope"},
		{"answer q_3 eu ", "now\tNow"},
		{"answer q_9 ", ""},
		{"answer q_1 approve --digest ", ""}, // says what was seen
		{"validate --kind ", strings.Join(kindNames(), "|")},
		{"completion ", "bash|zsh|fish"},
		{"version ", ""},
		{"help certificate ", "verify\tSay whether a certificate is genuine, and what it is of"},
	} {
		if offers, files := completed(t, strings.Split(tt.args, " ")...); offers != tt.offers || files {
			t.Errorf("%q is offered %q (files: %t), want %q", tt.args, offers, files, tt.offers)
		}
	}
	for _, args := range []string{
		"validate ", "render ", "conform ", "certificate verify ", "certificate verify a --keys ", "show q_1 --certificate ",
		"answer q_1 approve --certificate ", "conform --junit ",
	} {
		if offers, files := completed(t, strings.Split(args, " ")...); offers != "" || !files {
			t.Errorf("%q is offered %q and no files", args, offers)
		}
	}
}

// What a command line calls a FILE is completed as one.
func TestFilesAreCompletedAsFiles(t *testing.T) {
	placeholder := regexp.MustCompile(`--(\S+) FILE`)
	found := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		if strings.Contains(cmd.Use, "FILE") || strings.Contains(cmd.Use, "PATH") {
			found++
			if _, files := completed(t, append(path, "")...); !files {
				t.Errorf("%s is offered no files", cmd.CommandPath())
			}
		}
		for _, flag := range placeholder.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			found++
			if _, files := completed(t, append(path, "--"+flag[1], "")...); !files {
				t.Errorf("%s --%s is offered no files", cmd.CommandPath(), flag[1])
			}
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newRoot())
	if found < 6 {
		t.Errorf("found only %d", found)
	}
}

// Somebody who types waits at most two seconds for a server, and is offered nothing where there is none.
func TestCompletionDoesNotHang(t *testing.T) {
	came := make(chan struct{}, 10)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(func() { hanging.CloseClientConnections(); hanging.Close() })
	t.Setenv("QUESTION_SERVER", hanging.URL)
	t.Setenv("QUESTION_TOKEN", agentToken)
	if completionTime != 2*time.Second {
		t.Errorf("it waits %s", completionTime)
	}
	started := time.Now()
	if offers, files := completed(t, "watch", ""); offers != "" || files || len(came) != 1 {
		t.Errorf("offered %q", offers)
	}
	if waited := time.Since(started); waited > client.DefaultRequestTimeout/2 {
		t.Errorf("it waited %s, as any other command would", waited)
	}
	for _, server := range []string{"", "http://127.0.0.1:1", "nonsense"} {
		t.Setenv("QUESTION_SERVER", server)
		if offers, files := completed(t, "watch", ""); offers != "" || files {
			t.Errorf("%q: offered %q", server, offers)
		}
	}
}

// The scripts are what a shell can read, and bash completes with its own.
func TestCompletionScripts(t *testing.T) {
	served(t, byFederica)
	path := program(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := runs(t, 0, "completion", shell)
		if !strings.Contains(got.out, "question") || !strings.Contains(got.out, "__complete") || got.err != "" {
			t.Errorf("%s: %+v", shell, got)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		check := exec.Command(shell, "-n")
		check.Stdin = strings.NewReader(got.out)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s cannot read it: %v %s", shell, err, said)
		}
	}
	runs(t, exitUsage, "completion")
	runs(t, exitUsage, "completion", "tcsh")

	// The package bash-completion, in a few lines: it gives the words of the line and the one under the cursor.
	const script = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
__ltrim_colon_completions() { :; }
source <(question completion bash)
complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=(); __start_question; printf '%s;' "${COMPREPLY[@]}"; echo; }
complete_line question list --state pe
complete_line question wat
complete_line question watch ""`
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	lines := strings.Split(out.String(), "\n")
	if err != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], "pending") || !strings.HasPrefix(lines[1], "watch") || !strings.HasPrefix(lines[2], "q_1") {
		t.Errorf("%v: bash completes\n%s%s", err, out.String(), errs.String())
	}
}
