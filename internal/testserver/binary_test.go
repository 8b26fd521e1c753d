package testserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindBinary(t *testing.T) {
	t.Setenv(binaryEnv, "")
	root, ok := moduleRoot()
	if !ok {
		t.Fatal("no module root above the working directory")
	}
	built := filepath.Join(root, "bin", "dendrite")
	equal(t, "in the source tree", must(findBinary(""))(t), built)

	t.Setenv(binaryEnv, built)
	t.Chdir(t.TempDir())
	equal(t, "from the environment", must(findBinary(""))(t), built)

	fake := filepath.Join(t.TempDir(), "fake")
	noError(t, os.WriteFile(fake, nil, 0o700))
	equal(t, "from the option, before the environment", must(findBinary(fake))(t), fake)
}

func TestMissingBinaryNamesMakeBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	plain := filepath.Join(t.TempDir(), "plain")
	noError(t, os.WriteFile(plain, nil, 0o600))

	t.Setenv(binaryEnv, "")
	_, err := findBinary("")
	wantError(t, err, "make build")
	wantError(t, err, binaryEnv)
	for _, path := range []string{plain, "nowhere", t.TempDir()} {
		_, err := findBinary(path)
		wantError(t, err, "make build")
		t.Setenv(binaryEnv, path)
		_, err = findBinary("")
		wantError(t, err, "named by "+binaryEnv)
		wantError(t, err, "make build")
	}
	_, err = Start(within(t), Options{DataDir: t.TempDir()})
	wantError(t, err, "make build")
}
