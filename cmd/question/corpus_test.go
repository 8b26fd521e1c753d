package main

import (
	"os"
	"strings"
	"testing"
)

func TestConformFindsCases(t *testing.T) {
	one := func(name string) string { return `{"case": "` + name + `", "content": ` + event + `}` }
	bare := `{"content": ` + event + `}`
	tests := []struct {
		name  string
		args  string
		files map[string]string
		want  result
	}{
		{
			"a folder, sorted, with folders and corpus files in it", "d",
			map[string]string{
				"d/b.json": one("second"), "d/a/z.json": one("first"), "d/c/x.json": corpusFile(one("third")+","+one("fourth"), ""),
				"d/README.md": "not JSON",
			},
			result{0, "ok   first\nok   second\nok   third\nok   fourth\n4 passed, 0 failed\n", ""},
		},
		{
			"several paths, in their order", "b.json a.json",
			map[string]string{"a.json": one("a"), "b.json": one("b")},
			result{0, "ok   b\nok   a\n2 passed, 0 failed\n", ""},
		},
		{
			"other JSON is skipped", "d",
			map[string]string{"d/a.json": one("a"), "d/list.json": "[1]", "d/schema.json": `{"type": "object", "valid": true}`, "d/event.json": bare},
			result{0, "ok   a\n1 passed, 0 failed, 3 skipped\n", "note: d/event.json: neither a case nor a corpus, skipped\n" +
				"note: d/list.json: neither a case nor a corpus, skipped\nnote: d/schema.json: neither a case nor a corpus, skipped\n"},
		},
		{
			"what is not JSON fails", "d", map[string]string{"d/a.json": one("a"), "d/b.json": "{"},
			result{1, "ok   a\nFAIL d/b.json: is not JSON (d/b.json)\n1 passed, 1 failed\n", ""},
		},
		{
			"a case without content fails", "d", map[string]string{"d/a.json": `{"case": "a", "kontent": {}}`},
			result{1, "FAIL a: has no content (d/a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a refused case without content or name fails", "d", map[string]string{"d/a.json": `{"refused_by": "json"}`},
			result{1, "FAIL a: has no content (d/a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"names that are not text fail", "a.json", map[string]string{"a.json": `{"case": 1, "content": {}}`},
			result{1, "FAIL a: case is not text (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a case without a name gets one in a corpus", "a.json", map[string]string{"a.json": corpusFile(one("a")+","+bare, "")},
			result{0, "ok   a\nok   valid 2\n2 passed, 0 failed\n", ""},
		},
		{
			"names cannot write to the terminal", "a.json", map[string]string{"a.json": one(`x\n2 passed\u001b[2J\u202e`)},
			result{0, "ok   x\\u{000A}2 passed\\u{001B}[2J\\u{202E}\n1 passed, 0 failed\n", ""},
		},
		{
			"a valid case that names a rule", "a.json",
			map[string]string{"a.json": corpusFile(`{"case": "a", "refused_by": "schema", "content": {}}`, "")},
			result{1, "FAIL a: is among the valid cases, but a rule refuses it (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a refused case that names none", "a.json", map[string]string{"a.json": corpusFile("", `{"case": "a", "content": {}}`)},
			result{1, "FAIL a: does not say which rule refuses it (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a case that is no object", "a.json", map[string]string{"a.json": corpusFile("1", "")},
			result{1, "FAIL valid 1: is not an object (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a misspelt list", "a.json", map[string]string{"a.json": `{"dev.superpipeline.question.v2": {"valid": [], "refsued": []}}`},
			result{1, "FAIL dev.superpipeline.question.v2: \"refsued\" is not a list of valid or refused cases (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a list that is none", "a.json", map[string]string{"a.json": `{"dev.superpipeline.question.v2": {"valid": null}}`},
			result{1, "FAIL dev.superpipeline.question.v2: \"valid\" is not a list of valid or refused cases (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"no lists at all", "a.json", map[string]string{"a.json": `{"dev.superpipeline.question.v2": [1]}`},
			result{1, "FAIL dev.superpipeline.question.v2: holds no lists of cases (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"a list given twice", "a.json",
			map[string]string{"a.json": `{"dev.superpipeline.question.v2": {"valid": [1], "valid": [` + one("a") + `]}}`},
			result{1, "FAIL dev.superpipeline.question.v2: \"valid\" is given twice (a.json)\n", ""},
		},
		{
			"a kind given twice", "a.json",
			map[string]string{"a.json": `{"dev.superpipeline.question.v2": {"valid": []}, "dev.superpipeline.question.v2": {}}`},
			result{1, "FAIL a.json: \"dev.superpipeline.question.v2\" is given twice (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"kinds that we do not know", "a.json",
			map[string]string{"a.json": `{"dev.superpipeline.question.v2": {"valid": [` + one("a") + `]},
				"$comment": "x", "x.v1": {"valid": [{}], "refused": [1, {"case": "n"}], "about": "y"}}`},
			result{0, "ok   a\n1 passed, 0 failed, 3 skipped\n",
				"note: a.json: $comment: a kind that we do not know, 0 cases skipped\n" +
					"note: a.json: x.v1: a kind that we do not know, 3 cases skipped\n"},
		},
		{
			"a case of a kind that we do not know", "a.json b.json",
			map[string]string{"a.json": one("a"), "b.json": `{"case": "b", "kind": "x.v1", "content": {}}`},
			result{0, "ok   a\n1 passed, 0 failed, 1 skipped\n", "note: b.json: x.v1: a kind that we do not know, 1 case skipped\n"},
		},
		{
			"a case that names its kind", "a.json",
			map[string]string{"a.json": `{"case": "a", "kind": "dev.superpipeline.question.v2", "content": ` + event + `}`},
			result{0, "ok   a\n1 passed, 0 failed\n", ""},
		},
		{
			"a kind that is not text", "a.json", map[string]string{"a.json": `{"case": "a", "kind": 2, "content": {}}`},
			result{1, "FAIL a: kind is not text (a.json)\n0 passed, 1 failed\n", ""},
		},
		{
			"only cases of kinds that we do not know", "a.json", map[string]string{"a.json": `{"x.v1": {"valid": [{}]}}`},
			result{2, "0 passed, 0 failed, 1 skipped\n", "note: a.json: x.v1: a kind that we do not know, 1 case skipped\nquestion: no cases found\n"},
		},
		{"an empty folder", ".", nil, result{2, "0 passed, 0 failed\n", "question: no cases found\n"}},
		{"an empty corpus", "a.json", map[string]string{"a.json": corpusFile("", "")}, result{2, "0 passed, 0 failed\n", "question: no cases found\n"}},
		{
			"no such path, and nothing is run", "a.json b.json", map[string]string{"a.json": one("a")},
			result{2, "", "question: cannot read b.json: no such file or directory\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: append([]string{"conform"}, strings.Fields(tt.args)...), files: tt.files}.run(t)
			if tt.name == "a list given twice" { // what is in the list is beside the point
				want(tt.want).check(t, got)
			} else if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestForgetSkipped(t *testing.T) {
	var c corpus
	c.add("a.json", []byte(`{"case": "a", "content": 1}`))
	c.add("b.json", []byte(`{"case": "b"}`))
	c.add("c.json", []byte(`[]`))
	c.forgetSkipped()
	if len(c.cases) != 2 || c.cases[0].name != "a" || c.cases[1].broken == "" || c.notes != nil {
		t.Errorf("%+v", c)
	}
}

func TestConformCannotReadAFileInAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", dir+"/a.json"); err != nil {
		t.Skip(err)
	}
	got := call{args: []string{"conform", dir}}.run(t)
	want{2, "", "a.json: no such file or directory"}.check(t, got)
}

func TestConformBoundsACorpusFile(t *testing.T) {
	name := t.TempDir() + "/a.json"
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(maxCorpusBytes + 1); err != nil {
		t.Fatal(err)
	}
	want{2, "", "larger than 64 MiB"}.check(t, call{args: []string{"conform", name}}.run(t))
}
