package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is a demo in a process of its own.
type running struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startDemo(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(os.Args[0], append([]string{"demo"}, args...)...)}
	r.cmd.Env = append(os.Environ(), asProgram+"=1")
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewReader(out)
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	return r
}

// line reads the JSON line.
func (r *running) line(t *testing.T) (demoLine, []byte) {
	t.Helper()
	raw, err := r.stdout.ReadBytes('\n')
	if err != nil {
		_ = r.cmd.Wait()
		t.Fatalf("no line: %v; stderr: %s", err, r.stderr.String())
	}
	var line demoLine
	if err := json.Unmarshal(raw, &line); err != nil {
		t.Fatal(err)
	}
	return line, raw
}

// stop asks the demo to end, and demands that it ends well, says no more and leaves nobody behind.
func (r *running) stop(t *testing.T) {
	t.Helper()
	children := childrenOf(t, r.cmd.Process.Pid)
	if len(children) == 0 {
		t.Error("the demo has no homeserver")
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(r.stdout)
	if err := r.cmd.Wait(); err != nil || len(rest) > 0 || r.stderr.Len() > 0 {
		t.Errorf("ended with %v, more output %q, stderr %q", err, rest, r.stderr.String())
	}
	waitGone(t, children)
}

func TestDemoPrintsOneLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "the demo #1")
	demo := startDemo(t, "--json", "--data", dir)
	line, raw := demo.line(t)
	checkShape(t, raw)
	if line.Bot != "@questions:question.test" || line.Room.Code != "DEMO" || line.DataDir != dir {
		t.Errorf("got %s", raw)
	}
	if len(line.Users) != 2 || !line.Users[0].Admin || line.Users[1].Admin || line.Users[1].UserID != "@bob:question.test" {
		t.Errorf("users: %+v", line.Users)
	}
	for _, user := range line.Users {
		var joined struct {
			Rooms []string `json:"joined_rooms"`
		}
		ask(t, "GET", line.Homeserver+"/_matrix/client/v3/joined_rooms", user.AccessToken, "", &joined)
		if !slices.Contains(joined.Rooms, line.Room.ID) {
			t.Errorf("%s is in %q", user.UserID, joined.Rooms)
		}
		var session struct {
			UserID string `json:"user_id"`
		}
		ask(t, "POST", line.Homeserver+"/_matrix/client/v3/login", "", fmt.Sprintf(
			`{"type":"m.login.password","identifier":{"type":"m.id.user","user":%q},"password":%q}`, user.UserID, user.Password), &session)
		if session.UserID != user.UserID {
			t.Errorf("logged in as %q", session.UserID)
		}
	}
	if questions := questionsIn(t, line); questions != 1 {
		t.Errorf("%d questions in the room", questions)
	}
	if token := strings.TrimSpace(read(t, filepath.Join(dir, demoTokenFile))); token != line.Agent.Token {
		t.Errorf("the file's token is %q", token)
	}
	for _, name := range []string{demoTokenFile, demoConfig, demoRegistration, demoStateFile, demoServerLog} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	if kept := read(t, filepath.Join(dir, demoConfig)); !strings.Contains(kept, "workspace_admins:\n    users:\n        - '@alice:question.test'\n") {
		t.Errorf("alice is no workspace admin: %s", kept)
	}
	call(t, "token", "list", "-c", filepath.Join(dir, demoConfig)).want(t, exitOK, "valid", "")

	second := startDemo(t, "--json", "--data", dir)
	if err := second.cmd.Wait(); err == nil || !strings.Contains(second.stderr.String(), "another demo runs in") {
		t.Errorf("a second demo: %v, %s", err, second.stderr.String())
	}
	demo.stop(t)
}

// Starting again resumes, also after the demo was killed; the killed one leaves no child behind.
func TestDemoResumes(t *testing.T) {
	dir := t.TempDir()
	demo := startDemo(t, "--json", "--data", dir)
	first, raw := demo.line(t)
	children := childrenOf(t, demo.cmd.Process.Pid)
	if len(children) == 0 {
		t.Error("the demo has no homeserver")
	}
	if err := demo.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = demo.cmd.Wait()
	waitGone(t, children)

	demo = startDemo(t, "--json", "--data", dir)
	_, again := demo.line(t)
	if !bytes.Equal(raw, again) {
		t.Errorf("was %swhat resumed is %s", raw, again)
	}
	if questions := questionsIn(t, first); questions != 1 {
		t.Errorf("%d questions in the room", questions)
	}
	demo.stop(t)

	// Somebody took a port meanwhile.
	taken, err := net.Listen("tcp", strings.TrimPrefix(first.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenToo, err := net.Listen("tcp", strings.TrimPrefix(first.Homeserver, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer takenToo.Close()
	demo = startDemo(t, "--json", "--data", dir)
	moved, _ := demo.line(t)
	if moved.API == first.API || moved.Homeserver == first.Homeserver || moved.Appservice != first.Appservice || moved.Room != first.Room {
		t.Errorf("got %+v, before %+v", moved, first)
	}
	demo.stop(t)
}

func TestDemoOnTakenPorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	for _, name := range []string{"homeserver", "api", "appservice"} {
		demo := startDemo(t, "--json", "--port-"+name, port)
		_ = demo.cmd.Wait()
		want := `{"code":"failed","detail":"port ` + port + " is taken: choose another with --port-" + name
		if demo.cmd.ProcessState.ExitCode() != exitFailed || !strings.HasPrefix(demo.stderr.String(), want) {
			t.Errorf("%s: exit code %d, stderr %s", name, demo.cmd.ProcessState.ExitCode(), demo.stderr.String())
		}
	}
}

// Without a folder, everything is removed at the end.
func TestDemoInATemporaryFolder(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	demo := startDemo(t)
	var said strings.Builder
	for !strings.Contains(said.String(), "Reply in this thread with") { // the last line of the sample question
		text, err := demo.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("%v; stdout %s; stderr %s", err, said.String(), demo.stderr.String())
		}
		said.WriteString(text)
	}
	for _, part := range []string{"Which way should v1.4.0 go?", "Log in from a Matrix client", "password", "  export QUESTION_SERVER=http://127.0.0.1:", "  export QUESTION_TOKEN=qb_",
		`question ask DEMO "Deploy to production?" --yes-no --wait`, parent} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("%q is not said in:\n%s", part, said.String())
		}
	}
	demo.stop(t)
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoWithoutAHomeserver(t *testing.T) {
	demo := startDemo(t, "--json", "--dendrite", "/nonexistent/dendrite")
	_ = demo.cmd.Wait()
	if demo.cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(demo.stderr.String(), "make build") {
		t.Errorf("exit code %d, stderr %s", demo.cmd.ProcessState.ExitCode(), demo.stderr.String())
	}
}

// checkShape demands exactly the fields of the demo's line.
func checkShape(t *testing.T, raw []byte) {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal(raw, &line); err != nil {
		t.Fatal(err)
	}
	fields := func(v any) string { return strings.Join(slices.Sorted(maps.Keys(v.(map[string]any))), " ") }
	for got, want := range map[string]string{
		fields(line):                     "agent api appservice bot data_dir homeserver room users",
		fields(line["room"]):             "code id",
		fields(line["agent"]):            "id token",
		fields(line["users"].([]any)[0]): "access_token admin password user_id",
	} {
		if got != want {
			t.Errorf("fields %q, want %q", got, want)
		}
	}
}

func questionsIn(t *testing.T, line demoLine) (n int) {
	t.Helper()
	var page struct {
		Chunk []struct{ Content map[string]any }
	}
	ask(t, "GET", line.Homeserver+"/_matrix/client/v3/rooms/"+line.Room.ID+"/messages?dir=b&limit=100", line.Users[1].AccessToken, "", &page)
	for _, e := range page.Chunk {
		if e.Content["suite_event_type"] == "dev.superpipeline.question.v2" {
			n++
		}
	}
	return n
}

func ask(t *testing.T, method, url, token, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s: %v", method, url, resp.Status, data, err)
	}
}

// childrenOf lists the processes that a process started, as Linux tells it.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(tasks) == 0 {
		t.Skip("this system does not list children")
	}
	for _, path := range tasks {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that ended meanwhile
		}
		for _, child := range strings.Fields(string(data)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, n)
		}
	}
	return children
}

func waitGone(t *testing.T, pids []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for alive(pid) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("process %d is still there", pid)
			}
		}
	}
}

// alive is false of a zombie too: nobody reaps the orphans of a container without an init.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
