package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The systemd unit of the docs runs a command line that there is, and systemd takes it, where there is one to ask.
func TestUnit(t *testing.T) {
	unit := read(t, "../../docs/questiond.service")
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/questiond (.*)$`).FindStringSubmatch(unit)
	if m == nil {
		t.Fatal("it does not run questiond")
	}
	args := strings.Fields(strings.ReplaceAll(m[1], "/etc/question-bridge/", filepath.Join(t.TempDir(), "none")+"/"))
	call(t, args...).want(t, exitFailed, "", "no such file or directory") // and no usage error

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "questiond.service")
	writeFile(t, path, strings.ReplaceAll(unit, "/usr/local/bin/questiond", program))
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// The image's commands are there too.
func TestContainerfile(t *testing.T) {
	text := read(t, "../../docs/Containerfile")
	for _, line := range []string{`CMD ["/usr/local/bin/questiond", "health"]`, `ENTRYPOINT ["/usr/local/bin/questiond"]`, "\nCMD [\"serve\"]\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("it does not say %s", line)
		}
	}
	for _, command := range []string{"health", "serve", "registration"} {
		call(t, command, "-c", "/nonexistent/config.yaml").want(t, exitFailed, "", "no such file or directory")
	}
}
