package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test program be questiond itself: tests start it as a process, and kill it.
const asProgram = "QUESTIOND_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const leastConfig = `
homeserver: {url: "http://127.0.0.1:1", domain: example.org}
rooms: [{code: OPS, room: "#ops:example.org"}]
agents: [{id: ci, name: Build server}]
`

// folder is a new folder with a configuration, and files beside it.
func folder(t *testing.T, text string) (config string) {
	t.Helper()
	config = filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, config, text)
	return config
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

type result struct {
	code     int
	out, err string
}

func call(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// want demands an exit code and parts of both outputs; "" demands that there is none.
func (r result) want(t *testing.T, code int, out, errs string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, s := range []struct{ name, got, want string }{{"stdout", r.out, out}, {"stderr", r.err, errs}} {
		if s.want == "" && s.got != "" || !strings.Contains(s.got, s.want) {
			t.Errorf("%s is %q, want %q in it", s.name, s.got, s.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name, args string
		code       int
		out, err   string
	}{
		{"no command", "", 2, "", "questiond: a command is needed\nhint: questiond --help\n"},
		{"unknown command", "vote", 2, "", "unknown command \"vote\" for \"questiond\"\nhint: questiond --help\n"},
		{"unknown flag", "serve --loud", 2, "", "unknown flag: --loud\nhint: questiond serve --help\n"},
		{"help", "--help", 0, "questiond demo", ""},
		{"help for an unknown command", "help vote", 2, "", "unknown command \"vote\""},
		{"version", "version", 0, "questiond ", ""},
		{"version of something", "version x", 2, "", "takes no arguments\n"},
		{"no token command", "token", 2, "", "a command is needed: add, list or revoke\n"},
		{"unknown token command", "token steal", 2, "", "hint: questiond token --help\n"},
		{"a token for nobody", "token add", 2, "", "one AGENT is needed, or --user\n"},
		{"revoke nothing", "token revoke", 2, "", "one ID is needed\n"},
		{"a port that is none", "demo --port-api 65536", 2, "", "65536 is not a port"},
		{"a port that is no number", "demo --port-api x", 2, "", "invalid argument \"x\" for \"--port-api\" flag\n"},
		{"no configuration", "serve -c /nonexistent/config.yaml", 1, "", "/nonexistent/config.yaml: no such file or directory; config.example.yaml is one to begin with, and -c names another\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call(t, strings.Fields(tt.args)...).want(t, tt.code, tt.out, tt.err)
		})
	}
}

func TestEveryFaultIsShown(t *testing.T) {
	path := folder(t, "homeserver: {url: x}\nextra: 1\n")
	for _, command := range []string{"serve", "check", "registration"} {
		call(t, command, "-c", path).want(t, exitFailed, "", path+" is not right:\n"+
			"  extra: is not a setting (line 2)\n"+
			"  homeserver.url: must be an http:// or https:// address without a user, a query or a fragment\n"+
			"  homeserver.domain: must be set: the part of user ids after the first colon\n")
	}
}

func TestRegistrationIsMadeOnce(t *testing.T) {
	path := folder(t, leastConfig)
	made := filepath.Join(filepath.Dir(path), "registration.yaml")
	call(t, "registration", "-c", path).want(t, exitOK, "app_service_config_files: [\""+made+"\"]", "")
	first := read(t, made)
	call(t, "registration", "-c", path).want(t, exitFailed, "", made+" exists: with --force it is replaced")
	if read(t, made) != first {
		t.Error("the file changed")
	}
	call(t, "registration", "-c", path, "--force").want(t, exitOK, "Wrote "+made, "")
	if read(t, made) == first {
		t.Error("the file did not change")
	}
	elsewhere := filepath.Join(t.TempDir(), "r.yaml")
	call(t, "registration", "-c", path, "-o", elsewhere).want(t, exitOK, "Wrote "+elsewhere, "")
	call(t, "registration", "-c", path, "-o", "-").want(t, exitOK, "\nnamespaces:\n", "")
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
