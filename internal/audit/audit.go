// Package audit keeps the audit log: one JSON object on each line of a file, as docs/audit.md describes it.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// Stdout and Stderr in place of a path are the streams of the process.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Log is the audit log. A record that cannot be written is lost, and that is logged: nobody waits for the disk to have
// room again.
type Log struct {
	mu   sync.Mutex
	path string // "" for a stream
	to   io.Writer
	info os.FileInfo // of the file that is open

	half     bool      // the last line was cut off
	lost     int       // lines, since trouble began
	reported time.Time // when trouble was last said; zero while there is none
}

// Open opens the log for appending, and makes its file, readable by its owner alone, where there is none.
func Open(path string) (*Log, error) {
	switch path {
	case Stdout:
		return &Log{to: os.Stdout}, nil
	case Stderr:
		return &Log{to: os.Stderr}, nil
	}
	l := &Log{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return l, nil
}

// IsStream says whether a path stands for a stream of the process.
func IsStream(path string) bool { return path == Stdout || path == Stderr }

var _ bridge.Auditor = (*Log)(nil)

// Record implements [bridge.Auditor]. The line is written when it returns.
func (l *Log) Record(ctx context.Context, r bridge.AuditRecord) {
	log := zerolog.Ctx(ctx)
	raw, err := json.Marshal(lineOf(r))
	if err != nil {
		log.Error().Err(err).Msg("Could not write to the audit log") // there is nothing in it that has no JSON
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	moved := l.follow()
	err = l.write(append(raw, '\n'))
	switch {
	case err != nil:
		l.lost++
		l.trouble(log, err, "Could not write to the audit log: who did what is not recorded")
	case moved != nil:
		l.trouble(log, moved, "Could not open the audit log anew: it goes on where it was moved to")
	case !l.reported.IsZero():
		log.Warn().Int("lost", l.lost).Msg("The audit log is written again")
		l.lost, l.reported = 0, time.Time{}
	}
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if file, ok := l.to.(*os.File); ok && l.path != "" {
		return file.Close()
	}
	return nil
}

// write writes one line, by one call, after the end of one that was cut off.
func (l *Log) write(line []byte) error {
	if l.half {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.to.Write(line)
	l.half = err != nil && (l.half || n > 0)
	return err
}

// follow opens the file anew where it was moved away or removed, as a rotation does. While that cannot be done, the old
// one is written to.
func (l *Log) follow() error {
	if l.path == "" {
		return nil
	}
	if now, err := os.Stat(l.path); err == nil && os.SameFile(now, l.info) {
		return nil
	}
	old, _ := l.to.(*os.File)
	if err := l.open(); err != nil {
		return err
	}
	l.half = false
	_ = old.Close()
	return nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.to, l.info = file, info
	return nil
}

// quiet is how long trouble that goes on is not said again.
const quiet = time.Minute

// trouble says what is wrong, at once and then at most every minute.
func (l *Log) trouble(log *zerolog.Logger, err error, what string) {
	if time.Since(l.reported) >= quiet {
		log.Error().Err(err).Int("lost", l.lost).Msg(what)
		l.reported = time.Now()
	}
}
