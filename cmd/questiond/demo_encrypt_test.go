//go:build goolm

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// In an encrypted demo nobody but the two people can read what is asked and said; starting again resumes, also without the
// flag.
func TestEncryptedDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	first := playDemo(ctx, t, demoFlags{data: dir, encrypted: true})
	first.terminal.waitFor(ctx, t, "DEMO, encrypted")
	first.terminal.waitFor(ctx, t, "Which way should v1.4.0 go?")
	var line strings.Builder
	if err := first.writeJSON(&line); err != nil || !strings.Contains(line.String(), `"room":{"id":"`+first.room+`","code":"DEMO","encrypted":true}`) {
		t.Errorf("the line is %s, %v", line.String(), err)
	}
	first.types("bob: 2")
	first.terminal.waitFor(ctx, t, "bob (in the thread): 2\n")
	first.terminal.waitFor(ctx, t, "Canary first") // in the outcome too
	first.waitAnswered(ctx, t, "canary")
	for _, e := range first.events(ctx, t) {
		if e.Type == "m.room.message" {
			t.Errorf("the homeserver reads %s", e.Content)
		}
	}
	first.types("/quit")
	if err := <-first.ended; err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{demoPickleKey, demoBotPassword} {
		info, err := os.Stat(dir + "/" + name)
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}

	again := playDemo(ctx, t, demoFlags{data: dir})
	again.terminal.waitFor(ctx, t, "DEMO, encrypted")
	again.terminal.waitFor(ctx, t, "Which way should v1.4.0 go?")
	again.types("alice: 1")
	again.waitAnswered(ctx, t, "deploy")
	again.types("/quit")
	if err := <-again.ended; err != nil {
		t.Fatal(err)
	}
}

// played is a demo in this process, with somebody at its terminal.
type played struct {
	*demo
	terminal *screen
	keyboard io.Writer
	ended    chan error
}

func playDemo(ctx context.Context, t *testing.T, flags demoFlags) *played {
	t.Helper()
	keys, keyboard := io.Pipe()
	p := &played{terminal: &screen{more: make(chan struct{}, 1)}, keyboard: keyboard, ended: make(chan error, 1)}
	p.demo = &demo{flags: flags, stdin: keys, stdout: p.terminal, stderr: io.Discard, bridge: app.Run}
	p.seated = true
	go func() { p.ended <- p.run(ctx) }()
	return p
}

func (p *played) types(line string) { _, _ = io.WriteString(p.keyboard, line+"\n") }

// waitAnswered waits until the newest question is answered.
func (p *played) waitAnswered(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	var asked struct {
		Questions []struct{ ID string }
	}
	if err := p.callAPI(ctx, http.MethodGet, "/api/agent/questions?limit=1", "", &asked); err != nil || len(asked.Questions) != 1 {
		t.Fatal(asked, err)
	}
	var got struct {
		Answer struct{ Value string }
	}
	for got.Answer.Value == "" && ctx.Err() == nil {
		if err := p.callAPI(ctx, http.MethodGet, "/api/agent/questions/"+asked.Questions[0].ID+"/wait?timeout=20", "", &got); err != nil {
			t.Fatal(err)
		}
	}
	if got.Answer.Value != value {
		t.Errorf("answered with %q, want %q", got.Answer.Value, value)
	}
}

func (p *played) events(ctx context.Context, t *testing.T) []testserver.Event {
	t.Helper()
	events, err := p.alice.Messages(ctx, p.room)
	if err != nil || !strings.HasPrefix(p.room, "!") {
		t.Fatal(p.room, err)
	}
	return events
}
