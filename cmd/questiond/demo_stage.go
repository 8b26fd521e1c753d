package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// stage shows the room as it happens, and lets people who sit at the terminal talk in it.
type stage struct {
	alice  *testserver.User // through whose eyes the room is seen
	people map[string]talker
	names  map[string]string // of the people, by their user ids
	open   func(ctx context.Context, e testserver.Event, patience time.Duration) testserver.Event
	room   string
	bot    string
	in     io.Reader // nil when nobody can type
	out    io.Writer

	mu       sync.Mutex
	question string // the newest question's event
	shown    map[string]string
}

// talker is somebody who says something in a room.
type talker interface {
	Send(ctx context.Context, room, text string) (string, error)
	ThreadReply(ctx context.Context, room, root, text string) (string, error)
	React(ctx context.Context, room, event, key string) (string, error)
}

func newStage(d *demo) *stage {
	s := &stage{
		alice: d.alice, people: map[string]talker{"alice": d.alice, "bob": d.bob}, open: d.open,
		names: map[string]string{d.alice.ID: "alice", d.bob.ID: "bob"},
		room:  d.room, bot: d.config.BotID(), out: d.stdout, shown: map[string]string{},
	}
	for name, client := range d.sealed {
		s.people[name] = client
	}
	if d.seated {
		s.in = d.stdin
	}
	return s
}

const stageHelp = `Type as alice or bob; without a name, as the one who spoke last.

  alice: 2            reply in the newest question's thread
  bob: /react 1       react to the newest question with 1️⃣, or with any emoji
  bob: /plain hello   say something in the room, outside any thread
  /help  /quit
`

// play runs until ctx ends, somebody quits, or the homeserver is gone.
func (s *stage) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := s.alice.Watch(ctx, s.room)
	if err != nil {
		return err
	}
	past, err := s.alice.Messages(ctx, s.room)
	if err != nil {
		return err
	}
	if s.in != nil {
		s.print(stageHelp + "\n")
	}
	s.print(s.newest(ctx, past))
	if s.in == nil {
		return s.follow(ctx, watch)
	}
	failed := make(chan error, 1)
	go func() { failed <- s.follow(ctx, watch) }()
	go func() { failed <- s.listen(ctx) }()
	return <-failed
}

// newest takes up what happened before, and gives the lines that show the newest question.
func (s *stage) newest(ctx context.Context, past []testserver.Event) (lines string) {
	for _, e := range past {
		e = s.open(ctx, e, 0)
		if line := s.seen(e); isQuestion(e) {
			lines = line + "\n"
		}
	}
	return lines
}

// follow shows one event after another.
func (s *stage) follow(ctx context.Context, watch *testserver.Watch) error {
	for {
		e, err := watch.Next(ctx, func(testserver.Event) bool { return true })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if line := s.seen(s.open(ctx, e, keyPatience)); line != "" {
			s.print(line + "\n")
		}
	}
}

// listen takes one line after another to the room, until somebody quits or there are no more.
func (s *stage) listen(ctx context.Context) error {
	lines := bufio.NewScanner(s.in)
	who := "alice"
	for lines.Scan() {
		said := parseLine(lines.Text(), who)
		who = said.who
		if said.kind == sayQuit {
			return nil
		}
		if err := s.say(ctx, said); err != nil {
			s.print(fmt.Sprintf("! %s\n", err))
			continue
		}
		s.prompt()
	}
	return lines.Err()
}

// say does what somebody typed.
func (s *stage) say(ctx context.Context, said said) error {
	s.mu.Lock()
	question := s.question
	s.mu.Unlock()
	user := s.people[said.who]
	var err error
	switch said.kind {
	case sayNothing:
	case sayHelp:
		s.print(stageHelp)
	case sayPlain:
		_, err = user.Send(ctx, s.room, said.text)
	case sayReaction, sayReply:
		if question == "" {
			return errors.New("there is no question yet")
		}
		if said.kind == sayReaction {
			_, err = user.React(ctx, s.room, question, said.text)
		} else {
			_, err = user.ThreadReply(ctx, s.room, question, said.text)
		}
	}
	return err
}

// print writes above the line that is being typed.
func (s *stage) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in == nil {
		_, _ = io.WriteString(s.out, text)
		return
	}
	_, _ = fmt.Fprintf(s.out, "\r\x1b[K%s> ", text)
}

func (s *stage) prompt() { s.print("") }
