package testserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = time.Minute
	startTries   = 10
	lockTimeout  = 5 * time.Second
)

// ErrPortTaken means that somebody else listens on the port, perhaps since a moment after we found it free.
var ErrPortTaken = errors.New("the port is taken")

// launch starts the program and waits until it answers, with another port when somebody takes the one we chose.
func (s *Server) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && s.child.running() {
		return errors.New("it already runs")
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.writeConfig(); err != nil {
		return err
	}
	for try := 1; ; try++ {
		port := s.port
		if port == 0 {
			if port, err = s.pickPort(ctx); err != nil {
				return err
			}
		}
		err := s.launchOn(ctx, port, lock)
		if err == nil {
			if s.URL == "" { // else it is the same, and others may be reading it
				s.port, s.URL = port, "http://"+loopback(port)
			}
			return nil
		}
		if port == s.port || !errors.Is(err, ErrPortTaken) || try == startTries {
			return fmt.Errorf("on port %d: %w", port, err)
		}
	}
}

// lock waits no longer than the last homeserver on this directory, whose parent was killed, may take to die.
func (s *Server) lock(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	lock, err := LockFile(ctx, filepath.Join(s.DataDir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%s is in use by another homeserver: %w", s.DataDir, err)
	}
	return lock, nil
}

func (s *Server) launchOn(ctx context.Context, port int, lock *os.File) error {
	log, err := os.OpenFile(s.LogPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.binary, "-config", configFile, "-http-bind-address", loopback(port))
	cmd.Dir = s.DataDir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	child, err := startChild(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, "http://"+loopback(port), child); err != nil {
		_ = child.kill()
		tail := s.logSince(logged)
		if strings.Contains(tail, "address already in use") {
			err = ErrPortTaken
		}
		return fmt.Errorf("%w; %s ends with:\n%s", err, s.LogPath(), tail)
	}
	s.child = child
	return nil
}

// waitReady polls until the homeserver answers, and makes sure that it is ours: whoever took our port may be a
// homeserver too, or take calls and never answer.
func (s *Server) waitReady(ctx context.Context, url string, child *child) error {
	polling, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-child.done:
			stop()
		case <-polling.Done():
		}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-child.done:
			return fmt.Errorf("it ended while starting: %w", child.err)
		case <-ctx.Done():
			return fmt.Errorf("it did not answer: %w", context.Cause(ctx))
		case <-tick.C:
		}
		var versions struct{ Versions []string }
		if err := s.get(polling, url+"/_matrix/client/versions", &versions); err != nil || len(versions.Versions) == 0 {
			continue
		}
		if key, err := s.keyAt(polling, url); err == nil && key.Equal(s.key) {
			return nil
		}
	}
}

func (s *Server) keyAt(ctx context.Context, url string) (ed25519.PublicKey, error) {
	var keys struct {
		VerifyKeys map[string]struct{ Key string } `json:"verify_keys"`
	}
	if err := s.get(ctx, url+"/_matrix/key/v2/server", &keys); err != nil {
		return nil, err
	}
	for _, key := range keys.VerifyKeys {
		return base64.RawStdEncoding.DecodeString(key.Key)
	}
	return nil, errors.New("the homeserver names no key")
}

func (s *Server) get(ctx context.Context, url string, into any) error {
	return s.do(ctx, call{method: http.MethodGet, url: url}, into)
}

// logSince returns the last lines logged after offset.
func (s *Server) logSince(offset int64) string {
	data, err := os.ReadFile(s.LogPath())
	if err != nil {
		return err.Error()
	}
	data = data[min(offset, int64(len(data))):]
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	lines = lines[max(0, len(lines)-15):]
	return string(bytes.Join(lines, []byte("\n")))
}
