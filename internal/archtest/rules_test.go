package archtest

import (
	"reflect"
	"testing"
)

func TestCheckImports(t *testing.T) {
	const module = "example.org/m"
	table := []row{
		{packages: []string{"core"}, outside: []string{"example.com/log"}},
		{packages: []string{"adapters/*"}, own: []string{"core"}},
		{packages: []string{"app"}, own: []string{"..."}, never: []string{"demo"}},
		{packages: []string{"demo"}},
	}
	tests := []struct {
		name, pkg, imports string
		want               []string
	}{
		{"the standard library", "core", "net/http", nil},
		{"cgo", "core", "C", []string{"core may not import C"}},
		{"an allowed module", "core", "example.com/log", nil},
		{"a package of an allowed module", "core", "example.com/log/json", nil},
		{"a module whose name only begins alike", "core", "example.com/logger", []string{"core may not import example.com/logger"}},
		{"a module that is not allowed", "adapters/a", "example.com/log", []string{"adapters/a may not import example.com/log"}},
		{"an allowed package of ours", "adapters/a", module + "/core", nil},
		{"a package of ours that is not allowed", "core", module + "/app", []string{"core may not import example.org/m/app"}},
		{"one adapter by another", "adapters/a", module + "/adapters/b", []string{"adapters/a may not import example.org/m/adapters/b"}},
		{"everything", "app", module + "/adapters/a", nil},
		{"everything, with an exception", "app", module + "/demo", []string{"app may not import example.org/m/demo"}},
		{"a package without a row", "core/inner", "fmt", []string{"core/inner is not in the import table"}},
		{"a module whose name begins like ours", "adapters/a", module + "2/core", []string{"adapters/a may not import example.org/m2/core"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			packages := []goPackage{{ImportPath: module + "/" + tt.pkg, Imports: []string{tt.imports}}}
			if got := checkImports(module, table, packages); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckFiles(t *testing.T) {
	tests := []struct {
		name string
		file goFile
		want int
	}{
		{"a good file", goFile{"bridge/ids.go", 400}, 0},
		{"a file that is too long", goFile{"bridge/ids.go", 401}, 1},
		{"a vague folder", goFile{"internal/util/x.go", 1}, 1},
		{"a vague folder further up", goFile{"pkg/bridge/x.go", 1}, 1},
		{"a vague file name is no folder", goFile{"bridge/types.go", 1}, 0},
		{"a name that holds a vague one", goFile{"internal/commonmark/x.go", 1}, 0},
		{"both faults", goFile{"helpers/x.go", 500}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := checkFiles([]goFile{tt.file}); len(got) != tt.want {
				t.Errorf("got %q, want %d faults", got, tt.want)
			}
		})
	}
	for _, name := range vagueNames {
		if len(checkFiles([]goFile{{name + "/x.go", 1}})) != 1 {
			t.Errorf("a folder called %s passes", name)
		}
	}
}
