//go:build unix

package sqlstore

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("locked by another process")

func lockFile(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
