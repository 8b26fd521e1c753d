package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serving is a configuration whose homeserver is down, with free ports, a log beside it, and its registration.
func serving(t *testing.T) (config, log string) {
	t.Helper()
	config = folder(t, leastConfig+`
api: {listen: "127.0.0.1:0"}
appservice: {listen: "`+freeAddress(t)+`"}
logging: {writers: [{type: file, filename: bridge.log}]}
`)
	call(t, "registration", "-c", config).want(t, exitOK, "Wrote ", "")
	return config, filepath.Join(filepath.Dir(config), "bridge.log")
}

func TestCheckFails(t *testing.T) {
	config, _ := serving(t)
	got := call(t, "check", "-c", config)
	got.want(t, exitFailed, "FAIL  the homeserver answers at http://127.0.0.1:1: ", "questiond: 1 of the checks failed\n")
	for _, line := range []string{"ok    the configuration and the registration are in order\n", "(hint: is homeserver.url ", "ok    the sqlite database opens\n"} {
		if !strings.Contains(got.out, line) {
			t.Errorf("stdout is %q, want %q in it", got.out, line)
		}
	}
}

// Serve waits for the homeserver and says so, keeps other servers off its database, and ends well when asked to.
func TestServe(t *testing.T) {
	config, log := serving(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "-c", config}, strings.NewReader(""), &bytes.Buffer{}, &errs)
	}()
	said := func(text string) bool {
		data, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(data), text)
	}
	for until := time.Now().Add(20 * time.Second); !said("The homeserver cannot be reached yet"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) || len(ended) > 0 {
			t.Fatalf("it does not wait for the homeserver; stderr: %s", errs.String())
		}
	}
	_, address, _ := strings.Cut(read(t, config), `appservice: {listen: "`)
	address, _, _ = strings.Cut(address, `"`)
	for name, other := range map[string]struct{ more, refusal string }{
		"same": {"", "the database is served by another process already: process "},
		"next": {"database: {path: next.db}\n", "appservice.listen: listen tcp " + address + ": bind: address already in use"},
	} {
		path := filepath.Join(filepath.Dir(config), name+".yaml") // each with a log of its own
		text := strings.ReplaceAll(read(t, config), "bridge.log", name+".log") + other.more
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call(t, "serve", "-c", path).want(t, exitFailed, "", other.refusal)
		if log := filepath.Join(filepath.Dir(config), name+".log"); strings.Contains(read(t, log), "Asked to end") {
			t.Error("a server that cannot start says that it was asked to end")
		}
	}
	end()
	if code := <-ended; code != exitOK || errs.Len() > 0 {
		t.Errorf("exit code %d, stderr %s", code, errs.String())
	}
	if !said("Asked to end") || !said(`"Ended"`) {
		t.Errorf("the log does not say that it ended: %s", read(t, log))
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
