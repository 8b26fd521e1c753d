package testserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// binaryEnv names the environment variable that holds the path of the homeserver's program.
const binaryEnv = "QUESTION_DENDRITE"

const (
	programName = "dendrite"
	moduleLine  = "module superpipeline.dev/question-bridge"
	howToBuild  = "run `make build` to build it"
)

// findBinary returns the absolute path of the Dendrite program: the given one, else the one QUESTION_DENDRITE names,
// else the one beside our executable, else bin/dendrite of the source tree we stand in. A path that was asked for and
// is missing is an error; nothing else is tried instead.
func findBinary(given string) (string, error) {
	if given != "" {
		return namedBinary(given, "--dendrite")
	}
	if path := os.Getenv(binaryEnv); path != "" {
		return namedBinary(path, binaryEnv)
	}
	var tried []string
	for _, path := range usualPlaces() {
		if err := checkProgram(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("homeserver program: %w; %s", err, howToBuild)
		}
		tried = append(tried, path)
	}
	return "", fmt.Errorf("no homeserver program at %s, and %s is not set; %s",
		strings.Join(tried, " or "), binaryEnv, howToBuild)
}

func namedBinary(path, from string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = checkProgram(path)
	}
	if err != nil {
		return "", fmt.Errorf("homeserver program named by %s: %w; %s", from, err, howToBuild)
	}
	return path, nil
}

func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}

func usualPlaces() []string {
	var places []string
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		places = append(places, filepath.Join(filepath.Dir(self), programName))
	}
	if root, ok := moduleRoot(); ok {
		places = append(places, filepath.Join(root, "bin", programName))
	}
	return places
}

// moduleRoot returns the nearest directory above the working directory that holds our own go.mod.
func moduleRoot() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := strings.Cut(string(data), "\n")
		if err == nil && strings.TrimSpace(first) == moduleLine {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
