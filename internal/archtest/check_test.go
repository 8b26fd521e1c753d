package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// goPackage is what `go list -json` says of a package that concerns us.
type goPackage struct {
	ImportPath string
	Imports    []string // of its non-test files
}

// goFile is one Go file, tests included.
type goFile struct {
	path  string // relative to the module, with slashes
	lines int
}

// checkImports gives every import that the table does not allow, and every package that the table does not have.
func checkImports(module string, table []row, packages []goPackage) []string {
	var faults []string
	for _, p := range packages {
		name := ownName(module, p.ImportPath)
		r, ok := rowOf(table, name)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s is not in the import table", name))
			continue
		}
		for _, i := range p.Imports {
			if !r.allows(module, i) {
				faults = append(faults, fmt.Sprintf("%s may not import %s", name, i))
			}
		}
	}
	return faults
}

// ownName is the path of one of our packages within the module; "" for the module's own folder.
func ownName(module, importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func rowOf(table []row, name string) (row, bool) {
	for _, r := range table {
		if matchesAny(r.packages, name) {
			return r, true
		}
	}
	return row{}, false
}

func (r row) allows(module, importPath string) bool {
	if importPath == module || strings.HasPrefix(importPath, module+"/") {
		name := ownName(module, importPath)
		return matchesAny(r.own, name) && !matchesAny(r.never, name)
	}
	if first, _, _ := strings.Cut(importPath, "/"); !strings.Contains(first, ".") {
		return importPath != "C" // the standard library has no dot in its first element
	}
	for _, m := range r.outside {
		if importPath == m || strings.HasPrefix(importPath, m+"/") {
			return true
		}
	}
	return false
}

// matchesAny compares with package patterns: [path.Match], and "..." for everything.
func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok || p == "..." {
			return true
		}
	}
	return false
}

// vagueNames are folder names that do not say what is in the package.
var vagueNames = []string{"util", "common", "models", "types", "helpers", "pkg"}

const maxLines = 400

// checkFiles gives every package folder with a name that says nothing, and every file that is too long.
func checkFiles(files []goFile) []string {
	var faults []string
	for _, f := range files {
		for _, folder := range strings.Split(path.Dir(f.path), "/") {
			if slices.Contains(vagueNames, folder) {
				faults = append(faults, fmt.Sprintf("%s: a package folder may not be called %s", f.path, folder))
			}
		}
		if f.lines > maxLines {
			faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d: it is two files", f.path, f.lines, maxLines))
		}
	}
	return faults
}
