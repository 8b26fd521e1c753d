package testserver

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Options says what homeserver to start.
type Options struct {
	// DataDir holds everything the homeserver keeps, and its log. It is made if missing; starting again on it resumes.
	DataDir string
	// Binary is the Dendrite program; empty means QUESTION_DENDRITE, then beside our executable, then bin/dendrite of
	// the source tree.
	Binary string
	// ServerName is the part of user ids after the colon; "question.test" if empty. It may not change later.
	ServerName string
	// Port is the loopback port; 0 means any free one. A given port that is taken is an error.
	Port int
	// LogFile is where the homeserver logs to; dendrite.log in DataDir if empty.
	LogFile string
	// Registrations are the paths of appservice registration files.
	Registrations []string
}

// Server is a homeserver running as our child. Its methods may be called from several goroutines.
type Server struct {
	// Name is the server name: the part of user ids after the colon.
	Name string
	// URL is the base address, like http://127.0.0.1:23456. It stays the same over Restart.
	URL string
	// DataDir is the absolute path of the data directory.
	DataDir string

	logFile       string
	binary        string
	registrations []string
	port          int // 0 until the first start found one
	pickPort      func(context.Context) (int, error)
	secret        string
	key           ed25519.PublicKey
	http          *http.Client

	mu    sync.Mutex
	child *child
}

// Start starts a homeserver and returns once it answers. ctx bounds the start alone, which takes no longer than a
// minute; the homeserver runs until Stop or Kill, or until this process ends. A directory that another homeserver
// still runs on is waited for, a few seconds.
func Start(ctx context.Context, opts Options) (*Server, error) {
	s, err := prepare(opts)
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start homeserver: %w", err)
	}
	return s, nil
}

// prepare finds the program and makes the data directory.
func prepare(opts Options) (*Server, error) {
	if opts.DataDir == "" {
		return nil, errors.New("no data directory given")
	}
	s := &Server{
		Name:          opts.ServerName,
		port:          opts.Port,
		pickPort:      freePort,
		secret:        rand.Text(),
		registrations: []string{},
		// Longer than any long poll: a request without a deadline must not hang for ever.
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 2 * time.Minute},
	}
	if s.Name == "" {
		s.Name = "question.test"
	}
	var err error
	if s.binary, err = findBinary(opts.Binary); err != nil {
		return nil, err
	}
	for _, path := range opts.Registrations {
		if path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("registration file: %w", err)
		}
		s.registrations = append(s.registrations, path)
	}
	if s.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, err
	}
	if s.logFile, err = filepath.Abs(cmp.Or(opts.LogFile, filepath.Join(s.DataDir, logFile))); err != nil {
		return nil, err
	}
	s.key, err = signingKey(filepath.Join(s.DataDir, keyFile))
	return s, err
}

// LogPath is the file the homeserver logs to; later starts append to it.
func (s *Server) LogPath() string { return s.logFile }

// Pid is the process id of the homeserver, or of the last one when none runs.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.process.Pid
}

// Done is closed when the homeserver that runs now has ended, for whatever reason. Restart makes a new one.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.done
}

// Stop ends the homeserver in good order and waits for it, at most 15 seconds; after that it is killed, and Stop says
// so. Stopping a stopped homeserver does nothing.
func (s *Server) Stop() error {
	return s.end(func(c *child) error { return c.stop(syscall.SIGTERM, 15*time.Second) })
}

// Kill ends the homeserver with SIGKILL and waits until it is gone.
func (s *Server) Kill() error {
	return s.end((*child).kill)
}

func (s *Server) end(how func(*child) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.http.CloseIdleConnections()
	if !s.child.running() {
		return nil
	}
	if err := how(s.child); err != nil {
		return fmt.Errorf("end homeserver: %w", err)
	}
	return nil
}

// Restart stops the homeserver if it runs, and starts it again at the same address with the same data.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("restart homeserver: %w", err)
	}
	return nil
}
