// Package archtest holds the shape of this module: who may import whom, how packages are called, how long a file is.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "superpipeline.dev/question-bridge"

var moduleFolder = filepath.Join("..", "..")

func TestImports(t *testing.T) {
	packages := listPackages(t)
	for _, fault := range checkImports(module, imports, packages) {
		t.Error(fault)
	}
	if _, ok := findPackage(packages, module+"/schema"); !ok {
		t.Error("go list did not find the package schema: nothing was checked")
	}
}

func TestFiles(t *testing.T) {
	files := listFiles(t)
	for _, fault := range checkFiles(files) {
		t.Error(fault)
	}
	if len(files) == 0 {
		t.Error("no Go files found: nothing was checked")
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = moduleFolder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func findPackage(packages []goPackage, importPath string) (goPackage, bool) {
	for _, p := range packages {
		if p.ImportPath == importPath {
			return p, true
		}
	}
	return goPackage{}, false
}

// listFiles finds the Go files of the module and of the modules within it, whatever they are built for.
func listFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(moduleFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := entry.Name()
			if name != moduleFolder && (strings.HasPrefix(base, ".") || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(moduleFolder, name)
		files = append(files, goFile{filepath.ToSlash(rel), bytes.Count(raw, []byte("\n"))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
