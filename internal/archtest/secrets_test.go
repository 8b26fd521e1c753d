package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// Where the token of a request is checked, no secret or hash of one is compared by an operator or by bytes.Equal, which take
// longer the more of it is right.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	for _, file := range []string{"internal/httpapi/auth.go", "internal/matrix/transactions.go"} {
		found, n := comparisons(t, filepath.Join(moduleFolder, file), nil)
		if n != 1 {
			t.Errorf("%s has %d comparisons in constant time", file, n)
		}
		for _, name := range found {
			t.Errorf("%s compares %s", file, name)
		}
	}
	source := "package p\n\nfunc f() bool { return t.Hash == hash || bytes.Equal(r.ServerToken, b) || subtle.ConstantTimeCompare(t.Hash, h) == 1 }\n"
	if found, n := comparisons(t, "p.go", source); len(found) != 2 || n != 1 {
		t.Errorf("of two comparisons and one in constant time, found %q and %d", found, n)
	}
}

// comparisons finds the secrets that are compared in a way that may tell something of them, and how many comparisons take
// constant time.
func comparisons(t *testing.T, file string, source any) (found []string, constant int) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				found = append(found, secretsIn(n.X, n.Y)...)
			}
		case *ast.CallExpr:
			switch called(n) {
			case "Equal", "Compare", "EqualFold", "HasPrefix":
				found = append(found, secretsIn(n.Args...)...)
			case "ConstantTimeCompare":
				constant++
			}
		}
		return true
	})
	return found, constant
}

func called(call *ast.CallExpr) string {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		return f.Sel.Name
	}
	return ""
}

// secretsIn are the operands that hold a secret or the hash of one, by their names.
func secretsIn(operands ...ast.Expr) (names []string) {
	for _, e := range operands {
		if s, ok := e.(*ast.SelectorExpr); ok && (s.Sel.Name == "Hash" || s.Sel.Name == "ServerToken") {
			names = append(names, s.Sel.Name)
		}
	}
	return names
}
