//go:build !linux

package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// tieToParent does nothing here: only Linux can end a child when its parent dies.
func tieToParent(*exec.Cmd, syscall.Signal) {}

func runAs(*exec.Cmd, uint32, uint32) error {
	return errors.New("running a program as another user works on Linux only: do not run this as root")
}

// LockFile opens the file and locks nothing.
func LockFile(_ context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return file, nil
}
