package schema

import (
	"slices"
	"testing"
)

// TestUniqueByPaths holds every form of path against values that repeat at it and values that do not.
func TestUniqueByPaths(t *testing.T) {
	for _, c := range []struct {
		path, doc string
		want      []string // the locations of the repeated values
	}{
		{"a", `{"a":1}`, nil},
		{"a.b", `{"a":{"b":[1,1]}}`, nil},
		{"a[]", `{"a":["x","y","x","x"]}`, []string{"/a/2", "/a/3"}},
		{"a[]", `{"a":[1,1.0,"1",true,[1],[1e0]]}`, []string{"/a/1", "/a/5"}},
		{"a[]", `{"a":[{"x":1,"y":2},{"y":2,"x":1},{"x":1},null,null]}`, []string{"/a/1", "/a/4"}},
		{"a[]", `{"a":"xx"}`, nil},
		{"a.b[]", `{"a":{"b":[1,2,1]}}`, []string{"/a/b/2"}},
		{"a[].b", `{"a":[{"b":1},{"c":1},{"b":1},3,{"b":null}]}`, []string{"/a/2/b"}},
		{"a[].b.c", `{"a":[{"b":{"c":1}},{"b":{"c":1}}]}`, []string{"/a/1/b/c"}},
		{"a[].b[].c", `{"a":[{"b":[{"c":1},{"c":2}]},{"b":[{"c":3},{"c":2}]}]}`, []string{"/a/1/b/1/c"}},
		{"a[].b[]", `{"a":[{"b":[1]},{"b":[1]}]}`, []string{"/a/1/b/0"}},
		{"a~b[].c/d", `{"a~b":[{"c/d":1},{"c/d":1}]}`, []string{"/a~0b/1/c~1d"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			got := uniqueFaults(t, map[string]any{uniqueByKeyword: []any{c.path}}, c.doc)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s in %s: repeated at %v, want %v", c.path, c.doc, got, c.want)
			}
		})
	}
}

// TestUniqueByInASubschema shows that a path starts at the value its schema describes.
func TestUniqueByInASubschema(t *testing.T) {
	s := map[string]any{"properties": map[string]any{"list": map[string]any{"items": map[string]any{uniqueByKeyword: []any{"ids[]"}}}}}
	if got := uniqueFaults(t, s, `{"list":[{"ids":[1,2]},{"ids":[1,1]}]}`); !slices.Equal(got, []string{"/list/1/ids/1"}) {
		t.Errorf("repeated at %v", got)
	}
}

func uniqueFaults(t *testing.T, s map[string]any, doc string) []string {
	t.Helper()
	c := newCompiler()
	if err := c.AddResource("https://example.org/s", s); err != nil {
		t.Fatal(err)
	}
	tree, err := read([]byte(doc), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range validate(c.MustCompile("https://example.org/s"), tree) {
		if f.Rule != RuleUnique || f.Keyword != uniqueByKeyword {
			t.Errorf("an unexpected fault: %v", f)
		}
		got = append(got, f.Location)
	}
	return got
}

func TestUniqueByRefusesWhatIsNoPath(t *testing.T) {
	for _, path := range []any{"", "a..b", "a[0]", "[]", "a[", 1.0} {
		c := newCompiler()
		if err := c.AddResource("https://example.org/s", map[string]any{uniqueByKeyword: []any{path}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("https://example.org/s"); err == nil {
			t.Errorf("%v is taken for a path", path)
		}
	}
}

func TestECMASpace(t *testing.T) {
	space, err := ecmaRegexp(`^\s$`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecmaRegexp(`^[\S]$`)
	if err != nil {
		t.Fatal(err)
	}
	ecma := []rune("\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff")
	for r := rune(0); r <= 0x10ffff; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		want := slices.Contains(ecma, r)
		if space.MatchString(string(r)) != want || other.MatchString(string(r)) == want {
			t.Fatalf("%U: \\s is %v, want %v, and \\S is %v", r, space.MatchString(string(r)), want, other.MatchString(string(r)))
		}
	}
	if re, err := ecmaRegexp(`\\s[^\s<>]`); err != nil || !re.MatchString(`\sx`) || re.MatchString("\\s\u00a0") {
		t.Errorf("an escaped backslash before an s: %v", err)
	}
	if _, err := ecmaRegexp(`(`); err == nil {
		t.Error("a broken pattern is taken")
	}
}
