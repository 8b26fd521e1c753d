package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

func TestParseLine(t *testing.T) {
	tests := []struct {
		line, last string
		want       said
	}{
		{"alice: 2", "bob", said{"alice", sayReply, "2"}},
		{"bob: yes", "alice", said{"bob", sayReply, "yes"}},
		{" Bob :no", "alice", said{"bob", sayReply, "no"}},
		{"2", "bob", said{"bob", sayReply, "2"}},
		{"3: use a mirror", "alice", said{"alice", sayReply, "3: use a mirror"}},
		{"carol: 2", "alice", said{"alice", sayReply, "carol: 2"}},
		{"alice: bob: 2", "bob", said{"alice", sayReply, "bob: 2"}},
		{"", "bob", said{"bob", sayNothing, ""}},
		{"alice:", "bob", said{"alice", sayNothing, ""}},
		{"/react 1", "bob", said{"bob", sayReaction, "1\ufe0f\u20e3"}},
		{"alice: /react 👍", "bob", said{"alice", sayReaction, "👍"}},
		{"bob: /plain hello  there", "alice", said{"bob", sayPlain, "hello  there"}},
		{"/react", "bob", said{"bob", sayHelp, "/react"}},
		{"/help", "bob", said{"bob", sayHelp, "/help"}},
		{"/shout x", "bob", said{"bob", sayHelp, "/shout x"}},
		{"/quit", "bob", said{"bob", sayQuit, "/quit"}},
	}
	for _, tt := range tests {
		if got := parseLine(tt.line, tt.last); got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.line, got, tt.want)
		}
	}
}

// screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// waitFor waits until the terminal has shown a text.
func (s *screen) waitFor(ctx context.Context, t *testing.T, part string) {
	t.Helper()
	for {
		s.mu.Lock()
		text := s.text.String()
		s.mu.Unlock()
		if strings.Contains(text, part) {
			return
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			t.Fatalf("%q was not shown:\n%s", part, text)
		}
	}
}

func TestPeopleTalkOnTheTerminal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := testserver.Start(ctx, testserver.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	person := func(name string) *testserver.User {
		user, err := server.Register(ctx, testserver.Account{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return user
	}
	alice, bob, bot := person("alice"), person("bob"), person("questions")
	room, err := alice.CreateRoom(ctx, testserver.Room{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []*testserver.User{bob, bot} {
		if _, err := user.Join(ctx, room); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := alice.Watch(ctx, room)
	if err != nil {
		t.Fatal(err)
	}

	keyboard, typed := io.Pipe()
	terminal := &screen{more: make(chan struct{}, 1)}
	s := newStage(&demo{alice: alice, bob: bob, room: room, stdin: keyboard, seated: true, stdout: terminal})
	s.bot = bot.ID
	ended := make(chan error, 1)
	go func() { ended <- s.play(ctx) }()
	typeLine := func(line string) {
		if _, err := io.WriteString(typed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	terminal.waitFor(ctx, t, "/quit")
	typeLine("alice: 2")
	terminal.waitFor(ctx, t, "! there is no question yet")
	question, err := bot.SendEvent(ctx, room, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": "Go on?\x1b[31m\n\n1. Yes\n2. No", "suite_event_type": "dev.superpipeline.question.v2",
	})
	if err != nil {
		t.Fatal(err)
	}
	terminal.waitFor(ctx, t, ": Go on?[31m\n    \n    1. Yes\n    2. No\n")

	typeLine("bob: 2")
	terminal.waitFor(ctx, t, "bob (in the thread): 2\n")
	next := func() testserver.Event {
		e, err := watch.Next(ctx, func(e testserver.Event) bool { return e.Sender != bot.ID })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := next(); e.Sender != bob.ID || e.Relation().Type != "m.thread" || e.Relation().EventID != question {
		t.Errorf("got %s %s", e.Sender, e.Content)
	}
	typeLine("/react 1")
	terminal.waitFor(ctx, t, "bob reacted 1️⃣ to: Go on?[31m\n")
	if e := next(); e.Relation().EventID != question || e.Relation().Key != "1️⃣" {
		t.Errorf("got %s", e.Content)
	}
	typeLine("alice: /plain hello")
	terminal.waitFor(ctx, t, "alice: hello\n")
	if e := next(); e.Sender != alice.ID || e.Relation() != (testserver.Relation{}) {
		t.Errorf("got %s", e.Content)
	}
	typeLine("/quit")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
