package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEncryptionCommands(t *testing.T) {
	path := folder(t, leastConfig+"encryption: {enabled: true, pickle_key: {file: pickle.key}}\n")
	key := filepath.Join(filepath.Dir(path), "pickle.key")
	write := func(text string) {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	call(t, "check", "-c", path).want(t, exitFailed, "", "encryption.pickle_key")
	write("short")
	call(t, "check", "-c", path).want(t, exitFailed, "", "encryption.pickle_key: must be at least 20 characters")
	write("a key for tests, which is long enough")
	call(t, "encryption", "key", "-c", path).want(t, exitFailed, "", "there are no keys yet")
	call(t, "encryption", "reset", "-c", path).want(t, exitUsage, "", "are lost\n")
	call(t, "encryption", "reset", "--yes", "-c", path).want(t, exitOK, "forgotten", "")
	call(t, "encryption").want(t, exitUsage, "", "a command is needed: key or reset\n")
}
