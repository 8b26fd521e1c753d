package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// demoDir is the demo's folder. What is in it is for its owner alone.
type demoDir struct {
	path      string // absolute
	temporary bool
	lock      *os.File
	state     demoState
}

// demoState is what the next demo on the same folder needs to know. It is saved before it is used: a demo that is
// killed while it starts for the first time leaves nothing that the next one cannot take up.
type demoState struct {
	Ports demoPorts  `json:"ports"`
	Alice demoPerson `json:"alice"`
	Bob   demoPerson `json:"bob"`
	// Encrypted is true once the room is: that cannot be undone.
	Encrypted bool `json:"encrypted,omitempty"`
}

type demoPerson struct {
	Password    string `json:"password"`
	AccessToken string `json:"access_token,omitempty"`
}

// The names of the files in the folder.
const (
	demoConfig       = "config.yaml"
	demoRegistration = "registration.yaml"
	demoDatabase     = "question-bridge.db"
	demoBridgeLog    = "questiond.log"
	demoServerLog    = "homeserver.log"
	demoServerDir    = "homeserver"
	demoTokenFile    = "agent.token"
	demoPickleKey    = "pickle.key"
	demoBotPassword  = "bot.password"
	demoStateFile    = "demo.json"
	demoLock         = "demo.lock"
)

func (d *demoDir) file(name string) string { return filepath.Join(d.path, name) }

// logAt says where a log is, or will be next time.
func (d *demoDir) logAt(name string) string {
	if d.temporary {
		return "with --data DIR its log is kept, as " + name
	}
	return "its log is " + d.file(name)
}

// openDemoDir makes the folder if need be and keeps other demos out of it; path "" means a temporary one.
func openDemoDir(ctx context.Context, path string) (*demoDir, error) {
	d := &demoDir{temporary: path == ""}
	var err error
	if d.temporary {
		d.path, err = os.MkdirTemp("", "questiond-demo-")
	} else if d.path, err = filepath.Abs(path); err == nil {
		err = os.MkdirAll(d.path, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if d.lock, err = testserver.LockFile(ctx, d.file(demoLock)); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another demo runs in %s: end it, or choose another folder with --data", d.path)
		}
		return nil, errors.Join(err, d.close())
	}
	if err = d.readState(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close lets other demos in, and removes a temporary folder.
func (d *demoDir) close() error {
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if !d.temporary {
		return nil
	}
	return os.RemoveAll(d.path)
}

func (d *demoDir) readState() error {
	data, err := os.ReadFile(d.file(demoStateFile))
	if errors.Is(err, fs.ErrNotExist) {
		d.state.Alice.Password, d.state.Bob.Password = newPassword(), newPassword()
		return d.saveState()
	}
	if err == nil {
		err = json.Unmarshal(data, &d.state)
	}
	if err != nil {
		return fmt.Errorf("read what the last demo left in %s: %w", d.file(demoStateFile), err)
	}
	return nil
}

// newPassword makes one that can be typed.
func newPassword() string { return strings.ToLower(rand.Text()[:12]) }

func (d *demoDir) saveState() error {
	data, err := json.MarshalIndent(d.state, "", "  ")
	if err != nil {
		return err
	}
	return d.write(demoStateFile, append(data, '\n'))
}

// write puts a whole file in place at once.
func (d *demoDir) write(name string, data []byte) error {
	half := d.file(name + ".new")
	if err := os.WriteFile(half, data, 0o600); err != nil {
		return err
	}
	return os.Rename(half, d.file(name))
}
