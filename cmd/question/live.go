package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// liveTick is how often the live line is drawn again.
var liveTick = time.Second

const eraseLine = "\r\x1b[K"

// liveLine keeps one line up to date at the bottom of a terminal. On anything but a terminal it draws nothing, and say
// prints its lines alone.
type liveLine struct {
	out   io.Writer
	width int // 0 for no terminal

	mu      sync.Mutex
	text    func(now time.Time) string
	running bool
	stop    chan struct{}
	stopped chan struct{}
}

func newLiveLine(out io.Writer) *liveLine {
	return &liveLine{out: out, width: terminalWidth(out), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// start draws the text at once and then with every tick, until end.
func (l *liveLine) start(text func(now time.Time) string) {
	if l.width == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.running = text, true
	l.draw()
	go l.run()
}

func (l *liveLine) run() {
	defer close(l.stopped)
	t := time.NewTicker(liveTick)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
			l.mu.Lock()
			l.draw()
			l.mu.Unlock()
		}
	}
}

// draw never fills the last column: a terminal that wraps there would leave a line behind.
func (l *liveLine) draw() {
	runes := []rune(l.text(time.Now()))
	fmt.Fprint(l.out, eraseLine, string(runes[:min(len(runes), l.width-1)]))
}

// say prints a line above the live one.
func (l *liveLine) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		fmt.Fprint(l.out, eraseLine)
	}
	fmt.Fprintf(l.out, "question: "+format+"\n", args...)
	if l.running {
		l.draw()
	}
}

// end erases the line, so that what is printed next begins on a clean one.
func (l *liveLine) end() {
	l.mu.Lock()
	was := l.running
	l.running = false
	l.mu.Unlock()
	if !was {
		return
	}
	close(l.stop)
	<-l.stopped
	fmt.Fprint(l.out, eraseLine)
}
