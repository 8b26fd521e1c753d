package testserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a program we started and wait for.
type child struct {
	process *os.Process
	done    chan struct{} // closed once the program has ended and was reaped
	err     error         // how it ended; read only after done
}

// startChild starts cmd in a process group of its own, so that a Ctrl-C in the terminal reaches us alone, and tells the
// kernel to send it onDeath when we die. The kernel sends that signal when the thread that forked dies, not the
// process, so one thread is held for the child's whole life.
func startChild(cmd *exec.Cmd, onDeath syscall.Signal) (*child, error) {
	tieToParent(cmd, onDeath)
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start %s: %w", cmd.Path, err)
			return
		}
		c.process = cmd.Process
		started <- nil
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// stop asks with sig, and kills after patience. It returns once the child is gone.
func (c *child) stop(sig os.Signal, patience time.Duration) error {
	if !c.running() {
		return nil
	}
	if err := c.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", c.process.Pid, err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
	}
	if err := c.kill(); err != nil {
		return err
	}
	return fmt.Errorf("process %d was killed: it did not end within %s of %s", c.process.Pid, patience, sig)
}

func (c *child) kill() error {
	if err := c.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", c.process.Pid, err)
	}
	<-c.done
	return nil
}
