//go:build !unix

package sqlstore

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked by another process")

// lockFile locks nothing here: the operator has to see to it that one process serves a database.
func lockFile(*os.File) error { return nil }
