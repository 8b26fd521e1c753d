package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile(`([\w/]+): (Test\w+)`)
	namedCase = regexp.MustCompile(`corpus "([^"…]+)`)
)

// The tests and the cases that the documents name are there.
func TestDocumentsNameTestsThatAreThere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(moduleFolder, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	tests, cases, found := map[string]map[string]bool{}, corpusCases(t), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range namedTest.FindAllStringSubmatch(string(text), -1) {
			folder, name := named[1], named[2]
			if tests[folder] == nil {
				tests[folder] = testsIn(t, folder)
			}
			if found++; !tests[folder][name] {
				t.Errorf("%s names %s in %s, which is not there", filepath.Base(page), name, folder)
			}
		}
		for _, named := range namedCase.FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(cases, "\n"+strings.TrimSpace(named[1])) {
				t.Errorf("%s names the case %q, which is not there", filepath.Base(page), named[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d tests and cases are named: nothing was checked", found)
	}
}

func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleFolder, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// corpusCases is every case of the published corpus, each on a line of its own.
func corpusCases(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(moduleFolder, "fixtures", "matrix-events", "examples.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds map[string]struct{ Valid, Refused []struct{ Case string } }
	if err := json.Unmarshal(raw, &kinds); err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, examples := range kinds {
		for _, c := range append(examples.Valid, examples.Refused...) {
			all += "\n" + c.Case
		}
	}
	return all
}

// Each sentence of the specification has a test, or the reason why it has none.
func TestEverySentenceHasItsTest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleFolder, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), " | ")
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| ---") || strings.HasPrefix(row, "| the document ") {
			continue
		}
		rows++
		if len(cells) == 2 { // what does not apply, and why
			cells = append(cells, "–")
		}
		if len(cells) != 3 {
			t.Errorf("not three cells: %s", row)
			continue
		}
		kept, shown := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if kept == "" || shown != "–" && !namedTest.MatchString(shown) && !namedCase.MatchString(shown) {
			t.Errorf("neither a test nor a reason: %s", row)
		}
	}
	if rows < 200 {
		t.Errorf("only %d sentences were found", rows)
	}
}
