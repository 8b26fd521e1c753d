package app

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// bridgeProcess is the bridge as a process that is killed and started again.
type bridgeProcess struct {
	t            *testing.T
	config, logs string

	mu     sync.Mutex
	now    *exec.Cmd
	ended  chan struct{} // closed when now has ended
	killed bool          // by us
}

func newBridgeProcess(t *testing.T, config, logs string) *bridgeProcess {
	b := &bridgeProcess{t: t, config: config, logs: logs, ended: make(chan struct{})}
	close(b.ended)
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("the bridge's last words:\n%s", b.tail(20_000))
		}
	})
	return b
}

// start runs the bridge unless it runs; that one ended which nobody killed is a failure, unless somebody else had its
// port. ready is closed when it serves; it may die before that.
func (b *bridgeProcess) start() (ready <-chan struct{}) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	served := make(chan struct{})
	select {
	case <-b.ended:
	default:
		close(served)
		return served
	}
	if b.now != nil && !b.killed && !bytes.Contains(b.tail(1000), []byte("address already in use")) {
		b.t.Error("the bridge ended by itself")
	}
	log, err := os.OpenFile(b.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"="+b.config)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	b.now, b.ended, b.killed = cmd, ended, false
	go func() {
		if n, _ := out.Read(make([]byte, 6)); n > 0 {
			close(served)
		}
		_ = cmd.Wait()
		close(ended)
	}()
	return served
}

// kill ends the bridge without a word and returns when it is gone.
func (b *bridgeProcess) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.ended:
		return
	default:
	}
	b.killed = true
	_ = b.now.Process.Kill()
	<-b.ended
}

// startAndWait starts the bridge unless it runs, and waits until it serves. One whose port somebody else has taken
// meanwhile is started again.
func (b *bridgeProcess) startAndWait(ctx context.Context) {
	b.t.Helper()
	for range 20 {
		ready := b.start()
		select {
		case <-ready:
			return
		case <-b.gone():
		case <-ctx.Done():
			b.t.Fatal("the bridge does not get ready")
		}
	}
	b.t.Fatal("the bridge does not stay")
}

func (b *bridgeProcess) gone() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

func (b *bridgeProcess) tail(n int) []byte {
	log, _ := os.ReadFile(b.logs)
	return log[max(0, len(log)-n):]
}

// victim is what dies in a round.
type victim int

const (
	killBridge victim = iota
	killServer
	killBoth
)

// round kills once, at a random moment: at the n-th passing of a random place, or when a random time is over, whichever
// comes first. The bridge may die before it is ready; then everything is up again.
func (s *soak) round(r *rand.Rand, v victim) {
	s.t.Helper()
	at, n := place(r.IntN(int(places))), 1+r.IntN(12)
	latest := 50*time.Millisecond + time.Duration(r.IntN(2000))*time.Millisecond
	if r.IntN(10) == 0 { // long enough for what waits for an earlier try
		n, latest = 100, 7*time.Second
	}
	pause := time.Duration(r.IntN(200)) * time.Millisecond
	var kill func()
	switch v {
	case killBridge:
		kill = s.bridge.kill
	case killServer:
		kill = func() { _ = s.server.Kill() }
	case killBoth:
		kill = func() { _ = s.server.Kill(); s.bridge.kill() }
	}
	s.bridge.start()
	sprung := s.trap.set(at, n, kill)
	timer := time.NewTimer(latest)
	defer timer.Stop()
	select {
	case <-sprung:
	case <-timer.C:
		if s.trap.lift() {
			kill()
		} else {
			<-sprung
		}
	case <-s.ctx.Done():
		s.t.Fatal("the soak takes too long")
	}
	if v != killBridge {
		down := time.NewTimer(pause)
		defer down.Stop()
		<-down.C // the homeserver is away for a moment, which people and the bridge notice
		s.restartServer()
	}
}

func (s *soak) restartServer() {
	s.t.Helper()
	var err error
	for range 10 {
		if err = s.server.Restart(s.ctx); !errors.Is(err, testserver.ErrPortTaken) {
			break
		}
	}
	s.ok(err)
}
