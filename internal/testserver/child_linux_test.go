package testserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// helper is the parent that gets killed. It prints a child's process id and the directory, and then waits for its end.
func helper(kind string) {
	ctx := context.Background()
	switch kind {
	case "dendrite":
		server, err := Start(ctx, Options{DataDir: os.Getenv("TESTSERVER_DIR")})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(server.Pid())
	case "postgres":
		dsn, _, err := Postgres(ctx)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		address, _ := serverURL(dsn)
		text, _ := os.ReadFile(filepath.Join(address.Query().Get("host"), "data", "postmaster.pid"))
		pid, _, _ := strings.Cut(string(text), "\n")
		fmt.Println(pid)
	}
	select {}
}

// No child outlives a parent that was killed.
func TestKilledParent(t *testing.T) {
	binary := must(findBinary(""))(t)
	for _, kind := range []string{"dendrite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			ctx := within(t)
			dir := t.TempDir()
			if os.Geteuid() == 0 {
				noError(t, os.Chmod(dir, 0o755))
				noError(t, os.Chmod(filepath.Dir(dir), 0o755))
			}
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), helperEnv+"="+kind, "TESTSERVER_DIR="+dir, "TMPDIR="+dir,
				binaryEnv+"="+binary, postgresEnv+"=")
			out := must(parent.StdoutPipe())(t)
			noError(t, parent.Start())
			lines := bufio.NewReader(out)
			line, _ := lines.ReadString('\n')
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				rest, _ := io.ReadAll(lines)
				_ = parent.Wait()
				t.Fatalf("the parent said:\n%s%s", line, rest)
			}
			family := append(childrenOf(t, pid), pid)
			noError(t, parent.Process.Kill())
			_ = parent.Wait()
			for _, pid := range family {
				waitGone(ctx, t, pid)
			}
			if kind == "dendrite" { // and the directory is free again
				noError(t, own(t, Options{DataDir: dir}).Stop())
			}
		})
	}
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	var found []int
	for _, path := range must(filepath.Glob("/proc/[0-9]*/stat"))(t) {
		if stat, err := readStat(path); err == nil && stat.parent == pid {
			found = append(found, stat.pid)
		}
	}
	return found
}

// waitGone waits until a process that is not our child has ended; what init has yet to reap has ended too.
func waitGone(ctx context.Context, t *testing.T, pid int) {
	t.Helper()
	for {
		stat, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || stat.state == "Z" {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("process %d lives on in state %s", pid, stat.state)
		}
		runtime.Gosched()
	}
}

type procStat struct {
	pid, parent int
	state       string
}

func readStat(path string) (procStat, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return procStat{}, err
	}
	before, after, _ := strings.Cut(string(text), "(")
	fields := strings.Fields(after[strings.LastIndex(after, ")")+1:])
	pid, _ := strconv.Atoi(strings.TrimSpace(before))
	parent, _ := strconv.Atoi(fields[1])
	return procStat{pid: pid, parent: parent, state: fields[0]}, nil
}

// The kernel's signal follows the thread that forked: the end of the thread that called Start must not end the child.
func TestChildOutlivesTheThreadThatStartedIt(t *testing.T) {
	type result struct {
		server *Server
		err    error
	}
	ctx := within(t)
	opts := Options{DataDir: t.TempDir()}
	started := make(chan result)
	thread := make(chan int, 1)
	var start func()
	start = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if syscall.Gettid() == os.Getpid() {
			go start() // the main thread never ends, so not on this one, which stays locked until the other is done
			<-ctx.Done()
			return
		}
		thread <- syscall.Gettid()
		server, err := Start(ctx, opts)
		started <- result{server, err}
	}
	go start()
	got := <-started
	noError(t, got.err)
	defer got.server.Stop()
	waitThreadGone(ctx, t, <-thread)
	var versions struct{ Versions []string }
	noError(t, got.server.Do(ctx, Request{Path: "/_matrix/client/versions"}, &versions))
	select {
	case <-got.server.Done():
		t.Fatal("the homeserver died with the thread")
	default:
	}
}

func waitThreadGone(ctx context.Context, t *testing.T, tid int) {
	t.Helper()
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("thread %d lives on", tid)
		}
		runtime.Gosched()
	}
}

// A Ctrl-C in the terminal goes to the whole process group, and the homeserver must outlast those who stop it.
func TestChildHasItsOwnProcessGroup(t *testing.T) {
	group := must(syscall.Getpgid(shared(t).Pid()))(t)
	equal(t, "process group", group, shared(t).Pid())
}

// A process that ignores the polite signal is killed, and stop says so.
func TestStopKillsTheStubborn(t *testing.T) {
	script := exec.Command("/bin/sh", "-c", `trap "" TERM; echo deaf; exec sleep 60`)
	out, in, err := os.Pipe()
	noError(t, err)
	script.Stdout = in
	c := must(startChild(script, syscall.SIGKILL))(t)
	noError(t, in.Close())
	must(bufio.NewReader(out).ReadString('\n'))(t)
	wantError(t, c.stop(syscall.SIGTERM, 1), "was killed")
	equal(t, "running", c.running(), false)
	noError(t, c.stop(syscall.SIGTERM, 1)) // it is gone already
	if _, err := startChild(exec.Command("/nonexistent"), syscall.SIGKILL); err == nil {
		t.Fatal("started nothing")
	}
}
