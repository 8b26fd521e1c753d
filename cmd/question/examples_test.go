package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"superpipeline.dev/question-bridge/schema"
)

// example is the absolute name of a file in examples.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil { // this is what makes `go test` forget a result when the file changes
		t.Fatal(err)
	}
	return path
}

// workbench is where an example runs: a folder of its own, a path with question and with programs of the test.
type workbench struct {
	t      *testing.T
	api    *fakeAPI
	folder string
	env    []string
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	path := program(t)
	b := &workbench{t: t, api: served(t), folder: t.TempDir()}
	b.env = append(os.Environ(), "PATH="+path+":"+filepath.Join(b.folder, "bin")+":"+os.Getenv("PATH"))
	return b
}

// program adds a program that writes its arguments into a file of the folder, named done.
func (b *workbench) program(name string) string {
	b.t.Helper()
	path := filepath.Join(b.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"${0##*/}:$*\" >> '%s'\n", filepath.Join(b.folder, "done"))
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// done is what the programs were called with.
func (b *workbench) done() string {
	raw, _ := os.ReadFile(filepath.Join(b.folder, "done"))
	_ = os.Remove(filepath.Join(b.folder, "done"))
	return string(raw)
}

// run starts a command; meanwhile the next question that is waited for ends somehow.
func (b *workbench) run(how func(*schema.Question), env []string, args ...string) (code int, stderr string) {
	b.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = b.folder, append(b.env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that nothing that it started outlives the test
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	waiting := b.api.waiting
	var err error
	for running := true; running; {
		select {
		case id := <-waiting:
			waiting = nil
			if how == nil {
				_ = cmd.Process.Signal(os.Interrupt)
			} else {
				b.api.change(id, how)
			}
		case err = <-ended:
			running = false
		case <-time.After(time.Minute):
			b.t.Fatalf("it goes on: %v", args)
		}
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		b.t.Fatal(err)
	}
	if out.Len() > 0 {
		b.t.Errorf("%v prints %q", args, out.String())
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

// The ways in which a question ends, and whether that is a yes.
var ends = map[string]struct {
	how  func(*schema.Question)
	code int // of gate.sh
}{
	"yes":       {func(q *schema.Question) { choose(q, "approve") }, 0},
	"no":        {func(q *schema.Question) { choose(q, "deny") }, 10},
	"expired":   {func(q *schema.Question) { end(q, schema.Expired) }, exitExpired},
	"withdrawn": {func(q *schema.Question) { end(q, schema.Cancelled) }, exitCancelled},
}

func TestExampleScript(t *testing.T) {
	gate := example(t, "gate.sh")
	for _, shell := range []string{"sh", "bash"} {
		if said, err := exec.Command(shell, "-n", gate).CombinedOutput(); err != nil {
			t.Errorf("%s cannot read it: %v %s", shell, err, said)
		}
	}
	if shellcheck, err := exec.LookPath("shellcheck"); err == nil {
		if said, err := exec.Command(shellcheck, gate).CombinedOutput(); err != nil {
			t.Errorf("%s", said)
		}
	}
	b := newWorkbench(t)
	deploy := b.program("deploy")
	for name, end := range ends {
		code, says := b.run(end.how, nil, gate, "OPS", "--is this a flag?", deploy, "one two", "three")
		if code != end.code {
			t.Errorf("%s: exit code %d, %s", name, code, says)
		}
		want := ""
		if name == "yes" {
			want = "deploy:one two three\n"
		}
		if got := b.done(); got != want {
			t.Errorf("%s: ran %q", name, got)
		}
		if code, _ := b.run(end.how, nil, gate, "OPS", "Deploy?"); code != end.code {
			t.Errorf("%s: without a command, exit code %d", name, code)
		}
	}
	bodies, rooms := b.api.asks()
	if !strings.Contains(bodies[0], `"prompt":"--is this a flag?"`) || !strings.Contains(bodies[0], `"ttl":1800`) || rooms[0] != "OPS" {
		t.Errorf("asked %s in %s", bodies[0], rooms[0])
	}
	if code, says := b.run(nil, []string{"QUESTION_TOKEN=another"}, gate, "OPS", "Deploy?", deploy); code != exitFailed || b.done() != "" {
		t.Errorf("exit code %d, %s", code, says)
	}
	if code, says := b.run(nil, nil, gate, "OPS"); code != exitUsage || !strings.HasPrefix(says, "usage: gate.sh ROOM PROMPT") {
		t.Errorf("exit code %d, %s", code, says)
	}
}

// workflow is what there is to know of one to run it.
type workflow struct {
	Defaults struct {
		Run struct{ Shell string }
	}
	Jobs map[string]struct {
		Timeout int `yaml:"timeout-minutes"`
		Steps   []step
	}
}

type step struct {
	Name, Uses, Run string
	Env             map[string]string
}

var expression = regexp.MustCompile(`\$\{\{\s*(?:vars|secrets)\.(\w+)\s*\}\}`)

func TestExampleWorkflow(t *testing.T) {
	raw, err := os.ReadFile(example(t, "github-actions.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["deploy"].Steps
	if w.Defaults.Run.Shell != "bash" || w.Jobs["deploy"].Timeout <= 30 || len(steps) < 5 {
		t.Fatalf("read %+v", w)
	}
	for _, s := range steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression within a script can be more than a word of it", s.Name)
		}
		if s.Uses != "" && !strings.Contains(s.Uses, "@v") || (s.Uses == "") == (s.Run == "") {
			t.Errorf("%+v", s)
		}
	}

	for name, end := range ends {
		b := newWorkbench(t)
		failed, says := b.workflow(steps, end.how)
		want, done := map[string]string{"yes": "", "no": "Go on with a yes alone"}[name], b.done()
		if name != "yes" && name != "no" {
			want = "Ask"
		}
		if failed != want {
			t.Errorf("%s: it fails at %q, want %q: %s", name, failed, want, says)
		}
		if !strings.HasPrefix(done, "go:install superpipeline.dev/question-bridge/cmd/question@latest\n") || strings.HasSuffix(done, "deploy.sh:v1.4.0\n") != (name == "yes") {
			t.Errorf("%s: ran %q", name, done)
		}
		bodies, _ := b.api.asks()
		for _, part := range []string{`"prompt":"Deploy v1.4.0 to production?"`, `"context":"acme/shop"`, `"correlation_id":"77"`, `"ttl":1800`} {
			if !strings.Contains(bodies[0], part) {
				t.Errorf("asked %s, without %s", bodies[0], part)
			}
		}
		if b.api.keys["77-1"] == "" {
			t.Errorf("asked under %v", b.api.keys)
		}
	}

	b := newWorkbench(t) // a run that is cancelled: the runner interrupts the shell
	if failed, says := b.workflow(steps, nil); failed != "Ask" || !strings.Contains(says, "the question was withdrawn") {
		t.Errorf("it fails at %q: %s", failed, says)
	}
	if q, _ := b.api.document("q_1"); q.State != schema.Cancelled {
		t.Errorf("the question is %s", q.State)
	}
}

// workflow runs the steps one after the other, as a runner does, and gives the name of the one that failed.
func (b *workbench) workflow(steps []step, how func(*schema.Question)) (failed, stderr string) {
	b.t.Helper()
	b.program(filepath.Join("bin", "go")) // the module is here, and not where go install looks for it
	b.program("deploy.sh")
	for _, s := range steps {
		if s.Run == "" {
			continue
		}
		script := filepath.Join(b.folder, "step")
		if err := os.WriteFile(script, []byte(s.Run), 0o600); err != nil {
			b.t.Fatal(err)
		}
		env := []string{"GITHUB_REF_NAME=v1.4.0", "GITHUB_REPOSITORY=acme/shop", "GITHUB_RUN_ID=77", "GITHUB_RUN_ATTEMPT=1", "RUNNER_TEMP=" + b.folder}
		for _, name := range []string{"QUESTION_SERVER", "QUESTION_TOKEN"} {
			env = append(env, name+"=") // only a step that asks for it has it
		}
		for name, value := range s.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string { return os.Getenv(expression.FindStringSubmatch(e)[1]) }))
		}
		if code, says := b.run(how, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", script); code != 0 {
			return s.Name, says
		}
	}
	return "", ""
}

func TestExampleUnit(t *testing.T) {
	b := newWorkbench(t)
	replaced := map[string]string{
		"/usr/local/bin/gate.sh": example(t, "gate.sh"), "/usr/local/sbin/prune-backups": b.program("prune-backups"),
		"/etc/question/backups.env": filepath.Join(b.folder, "backups.env"),
	}
	units := map[string]string{}
	for _, name := range []string{"prune-backups.service", "prune-backups.timer"} {
		raw, err := os.ReadFile(example(t, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for path, by := range replaced {
			if strings.HasSuffix(name, ".service") && !strings.Contains(text, path) {
				t.Errorf("%s does not name %s", name, path)
			}
			text = strings.ReplaceAll(text, path, by)
		}
		units[name] = text
		if err := os.WriteFile(filepath.Join(b.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		verify := exec.Command(analyze, "verify", "--man=no", filepath.Join(b.folder, "prune-backups.service"), filepath.Join(b.folder, "prune-backups.timer"))
		if said, err := verify.CombinedOutput(); err != nil || strings.Contains(string(said), "prune-backups") {
			t.Errorf("systemd-analyze: %v %s", err, said)
		}
	}
	if !strings.Contains(units["prune-backups.timer"], "\nOnCalendar=") {
		t.Error("the timer is none")
	}

	service := units["prune-backups.service"]
	start := strings.ReplaceAll(setting(t, service, "ExecStart"), "%H", "db-1")
	success := strings.Fields(setting(t, service, "SuccessExitStatus"))
	for name, end := range ends {
		code, says := b.run(end.how, []string{setting(t, service, "Environment")}, unitWords(start)...)
		if code != end.code || code != 0 && !strings.Contains(strings.Join(success, " "), fmt.Sprint(code)) {
			t.Errorf("%s: exit code %d, %s", name, code, says)
		}
		want := ""
		if name == "yes" {
			want = "prune-backups:--older-than 30d\n"
		}
		if got := b.done(); got != want {
			t.Errorf("%s: ran %q", name, got)
		}
	}
	if bodies, _ := b.api.asks(); !strings.Contains(bodies[0], `"prompt":"Prune the backups on db-1 that are older than 30 days?"`) || !strings.Contains(bodies[0], `"ttl":28800`) {
		t.Errorf("asked %s", bodies[0])
	}
}

// setting is the value of a setting of a unit file.
func setting(t *testing.T, unit, name string) string {
	t.Helper()
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// unitWords splits a command line of a unit file at its blanks, but for those within quotes.
func unitWords(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
