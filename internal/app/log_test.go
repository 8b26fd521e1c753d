package app

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// logBuffer is what a process has logged so far.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logs waits until the bridge has logged something since it was started.
func (s *stage) logs(what string) {
	s.t.Helper()
	for !strings.Contains(s.log.String(), what) {
		select {
		case <-s.ctx.Done():
			s.t.Fatalf("the bridge never says %q", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
