package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // a direct one: no comment behind it
	npmPackage  = regexp.MustCompile(`(?m)^    "([^"]+)": "[0-9]`)
	link        = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
)

// Every direct dependency has its reason in the README's table.
func TestDependenciesAreExplained(t *testing.T) {
	_, table, _ := strings.Cut(readTop(t, "README.md"), "## Dependencies")
	modules := requirement.FindAllStringSubmatch(readTop(t, "go.mod"), -1)
	var packages [][]string
	for _, folder := range []string{"schema/ajv", "internal/webhook/receiver", "internal/app/person"} {
		packages = append(packages, npmPackage.FindAllStringSubmatch(readTop(t, filepath.Join(folder, "package.json")), -1)...)
	}
	if len(modules) < 10 || len(packages) < 4 {
		t.Fatalf("found only %d modules and %d npm packages", len(modules), len(packages))
	}
	for _, m := range append(modules, packages...) {
		if name := strings.TrimPrefix(m[1], "github.com/"); !strings.Contains(table, name) {
			t.Errorf("the README does not say what %s is for", m[1])
		}
	}
}

// What the README and the pages beside it link to in this repository is there.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(moduleFolder, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(moduleFolder, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

func readTop(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
