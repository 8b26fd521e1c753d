package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/internal/command"
)

const maxCorpusBytes = 64 << 20

// corpus is the cases found so far, in the order of the paths and, within a folder, of the file names.
type corpus struct {
	cases []testCase
	notes []string // what was skipped, for stderr
}

// addPath adds what a file or a folder holds. The error says what cannot be read.
func (c *corpus) addPath(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return unreadable(name, err)
	}
	if info.IsDir() {
		return c.addFolder(os.DirFS(name), name)
	}
	f, err := os.Open(name)
	if err != nil {
		return unreadable(name, err)
	}
	return c.addFile(f, name)
}

// addFolder adds every .json file below the top of a file system that is shown under a name.
func (c *corpus) addFolder(fsys fs.FS, shown string) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		at := filepath.Join(shown, filepath.FromSlash(name))
		if err != nil {
			return unreadable(at, err)
		}
		if entry.IsDir() || !strings.EqualFold(path.Ext(name), ".json") {
			return nil
		}
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return unreadable(at, err)
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		f, err := fsys.Open(name)
		if err != nil {
			return unreadable(at, err)
		}
		return c.addFile(f, at)
	})
}

func (c *corpus) addFile(f io.ReadCloser, name string) error {
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCorpusBytes+1))
	if err == nil && len(raw) > maxCorpusBytes {
		err = fmt.Errorf("larger than %d MiB", maxCorpusBytes>>20)
	}
	if err != nil {
		return unreadable(name, err)
	}
	c.add(name, raw)
	return nil
}

func unreadable(name string, err error) error {
	return exitf(exitUsage, "cannot read %s: %s", name, command.Plain(err))
}

// add sorts out what one file is: a case, a corpus of cases, or neither.
func (c *corpus) add(file string, raw []byte) {
	top, err := readObject(raw)
	switch {
	case errors.Is(err, errNotJSON):
		c.cases = append(c.cases, testCase{name: file, file: file, broken: err.Error()})
	case err == nil && isCase(top):
		c.addCases(readCase(top, place{file: file, name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}))
	case err == nil && isCorpus(top):
		if top.repeated != "" {
			c.addCases(testCase{name: file, file: file, broken: givenTwice(top.repeated)})
		}
		for _, kind := range top.names {
			c.addKind(place{file: file, kind: kind}, top.values[kind])
		}
	default:
		c.note("%s: neither a case nor a corpus, skipped", file)
		c.addCases(testCase{name: file, file: file, skipped: "neither a case nor a corpus"})
	}
}

func (c *corpus) addKind(p place, raw []byte) {
	cases := readKind(raw, p)
	if !knownKind(p.kind) {
		cases = slices.DeleteFunc(cases, func(c testCase) bool { return c.notOne })
		for i := range cases {
			cases[i].broken, cases[i].skipped = "", unknownKind
		}
		c.note("%s: %s: %s, %s skipped", p.file, p.kind, unknownKind, plural(len(cases), "case"))
	}
	c.addCases(cases...)
}

func (c *corpus) addCases(cases ...testCase) {
	for _, each := range cases {
		if each.broken == "" && each.skipped == "" && !knownKind(each.kind) {
			each.skipped = unknownKind
			c.note("%s: %s: %s, 1 case skipped", each.file, each.kind, unknownKind)
		}
		c.cases = append(c.cases, each)
	}
}

// forgetSkipped leaves only what is to be run.
func (c *corpus) forgetSkipped() {
	c.cases = slices.DeleteFunc(c.cases, func(each testCase) bool { return each.skipped != "" })
	c.notes = nil
}

func (c *corpus) note(format string, args ...any) {
	c.notes = append(c.notes, oneLine(fmt.Sprintf(format, args...)))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
