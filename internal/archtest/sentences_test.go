package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What the bridge says to people stands in bridge/texts, where it can be reviewed and translated: the packages that have
// something to say hold no whole sentence themselves.
func TestSentencesStandInTexts(t *testing.T) {
	checked := 0
	for _, folder := range []string{"bridge", "internal/matrix", "internal/queue", "internal/gate/decision"} {
		files, err := filepath.Glob(filepath.Join(moduleFolder, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			checked++
			for _, s := range sentencesIn(t, file, nil) {
				t.Errorf("%s says %q", file, s)
			}
		}
	}
	if checked == 0 {
		t.Error("no files were checked")
	}
	source := "package p\n\nvar a, b, c = \"Please write a number.\", \"not a sentence\", `{\"a\": 1, \"b\": 2}`\n"
	if found := sentencesIn(t, "p.go", source); len(found) != 1 {
		t.Errorf("of one sentence, found %q", found)
	}
}

// sentencesIn gives the literals of a Go file that are several words with a full stop.
func sentencesIn(t *testing.T, file string, source any) (found []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if s, err := strconv.Unquote(literal.Value); err == nil && strings.Count(s, " ") >= 2 && strings.HasSuffix(s, ".") {
			found = append(found, s)
		}
		return true
	})
	return found
}
