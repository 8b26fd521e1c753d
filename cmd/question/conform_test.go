package main

import (
	"fmt"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// noStage is an event that the JSON Schema refuses.
func noStage(t *testing.T) string { return edited(t, `"stage_key": "build", `, "") }

func corpusFile(valid, refused string) string {
	return fmt.Sprintf(`{%q: {"valid": [%s], "refused": [%s]}}`, schema.EventType, valid, refused)
}

// A case is judged alike in a file of its own, in a folder, and in a corpus file.
func TestConformJudgesACase(t *testing.T) {
	dup := edited(t, `"msgtype"`, `"schema_version": 1, "msgtype"`)
	two := edited(t, `"stage_key": "build", `, "", `"needs_comment": false`, `"needs_comment": 0`)
	crowd := edited(t, `"options": [`, `"options": [`+strings.Repeat(`{"id":1},`, 60))
	tests := []struct {
		name, members, content string
		line                   string
	}{
		{"valid", ``, event, "ok   c"},
		{"valid but refused", ``, noStage(t), "FAIL c: refused by schema: (the whole document): lacks stage_key"},
		{"refused", `"refused_by": "schema"`, noStage(t), "ok   c"},
		{"refused but valid", `"refused_by": "schema"`, event, "FAIL c: accepted, should be refused by schema"},
		{"refused by another rule", `"refused_by": "unique"`, noStage(t), "FAIL c: should be refused by unique, was refused by schema: "},
		{"a rule that there is not, refused", `"refused_by": "taste"`, noStage(t), "FAIL c: should be refused by taste, was refused by schema: "},
		{"a rule that there is not, valid", `"refused_by": "taste"`, event, "FAIL c: accepted, should be refused by taste"},
		{"no rule named", `"refused_by": ""`, noStage(t), "FAIL c: does not say which rule refuses it"},
		{"a rule that is not text", `"refused_by": 1`, noStage(t), "FAIL c: refused_by is not text"},
		{"expected", `"refused_by": "schema", "expect": {"instance_location": "", "keyword": "required"}`, noStage(t), "ok   c"},
		{"expected, other spelling", `"refused_by": "schema", "expect": {"instanceLocation": "", "keyword": "required"}`, noStage(t), "ok   c"},
		{"expected, location alone", `"refused_by": "schema", "expect": {"instanceLocation": ""}`, noStage(t), "ok   c"},
		{"expected, keyword alone", `"refused_by": "schema", "expect": {"keyword": "required"}`, noStage(t), "ok   c"},
		{"expected nothing", `"refused_by": "schema", "expect": {}`, noStage(t), "ok   c"},
		{
			"other location", `"refused_by": "schema", "expect": {"instanceLocation": "/options", "keyword": "required"}`, noStage(t),
			`FAIL c: no fault is required at "/options"; the faults are required at ""`,
		},
		{
			"other location, no keyword", `"refused_by": "schema", "expect": {"instance_location": "/options"}`, noStage(t),
			`FAIL c: no fault is anything at "/options"; the faults are required at ""`,
		},
		{
			"other keyword, no location", `"refused_by": "schema", "expect": {"keyword": "type"}`, noStage(t),
			`FAIL c: no fault is type anywhere; the faults are required at ""`,
		},
		{
			"location and keyword in two faults", `"refused_by": "schema", "expect": {"instanceLocation": "", "keyword": "type"}`, two,
			`FAIL c: no fault is type at ""; the faults are required at "", type at "/options/0/needs_comment"`,
		},
		{"second fault", `"refused_by": "schema", "expect": {"instanceLocation": "/options/0/needs_comment", "keyword": "type"}`, two, "ok   c"},
		{"many faults", `"refused_by": "schema", "expect": {"keyword": "nil"}`, crowd, "more (c.json)"},
		{"expectation of a valid case", `"expect": {"keyword": "type"}`, event, "FAIL c: expects a fault, but no rule refuses it"},
		{"misspelt expectation", `"refused_by": "schema", "expect": {"location": ""}`, noStage(t), "FAIL c: expect: names neither a location nor a keyword"},
		{"expectation that is no object", `"refused_by": "schema", "expect": "type"`, noStage(t), "FAIL c: expect is not an object"},
		{"keyword that is not text", `"refused_by": "schema", "expect": {"keyword": 1}`, noStage(t), "FAIL c: expect: keyword is not text"},
		{
			"two locations", `"refused_by": "schema", "expect": {"instanceLocation": "", "instance_location": "/a"}`, noStage(t),
			"FAIL c: expect: names two locations",
		},
		{"a member given twice", `"refused_by": "schema", "refused_by": "schema"`, noStage(t), `FAIL c: "refused_by" is given twice`},
		{"members for people", `"why": "x", "note": "y", "mutated_from": "z"`, event, "ok   c"},

		// the content reaches the decoder as it is written
		{"duplicate key", `"refused_by": "json", "expect": {"instance_location": "/schema_version", "keyword": "duplicate"}`, dup, "ok   c"},
		{"invalid UTF-8", `"refused_by": "json", "expect": {"keyword": "utf8"}`, edited(t, "Go on?", "Go \xff?"), "ok   c"},
		{"lone surrogate", `"refused_by": "json", "expect": {"keyword": "utf8"}`, edited(t, "Go on?", `Go \ud800?`), "ok   c"},
		{"hostile number", `"refused_by": "json", "expect": {"keyword": "number"}`, edited(t, `"schema_version": 1`, `"schema_version": 1e999999`), "ok   c"},
		{"odd number", ``, edited(t, `"schema_version": 1`, `"schema_version": 10e-1`), "ok   c"},
		{"too deep", `"refused_by": "json", "expect": {"keyword": "depth"}`, strings.Repeat("[", 70) + strings.Repeat("]", 70), "ok   c"},
		{"null", `"refused_by": "schema", "expect": {"keyword": "type"}`, "null", "ok   c"},
		{"too large only by its blanks", `"refused_by": "json", "expect": {"keyword": "size"}`, edited(t, ",", ","+strings.Repeat(" ", schema.MaxBytes)), "ok   c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members := `"case": "c"`
			if tt.members != "" {
				members += ", " + tt.members
			}
			one := fmt.Sprintf(`{%s, "content": %s}`, members, tt.content)
			corpus := corpusFile(one, "")
			if strings.Contains(tt.members, "refused_by") {
				corpus = corpusFile("", one)
			}
			for _, form := range []struct {
				name string
				call call
			}{
				{"a case file", call{args: []string{"conform", "c.json"}, files: map[string]string{"c.json": one}}},
				{"a folder", call{args: []string{"conform", "."}, files: map[string]string{"c.json": one}}},
				{"a corpus file", call{args: []string{"conform", "c.json"}, files: map[string]string{"c.json": corpus}}},
			} {
				got := form.call.run(t)
				code, summary := 0, "\n1 passed, 0 failed\n"
				if !strings.HasPrefix(tt.line, "ok") {
					code, summary = 1, "\n0 passed, 1 failed\n"
				}
				want{code, tt.line, ""}.check(t, got)
				if !strings.HasSuffix(got.out, summary) {
					t.Errorf("%s: the last line of %q is not %q", form.name, got.out, summary)
				}
			}
		})
	}
}

func TestConformBodies(t *testing.T) {
	valid := func(content string) string { return corpusFile(`{"case": "c", "content": `+content+`}`, "") }
	tests := []struct {
		name, content string
		want          want
	}{
		{"its own", event, want{0, "ok   c", ""}},
		{"another body", edited(t, "1. Yes", "1. No"), want{1, "FAIL c: body differs at line 5, column 4: ", ""}},
		{"its own formatted_body", formattedEvent(t, "", ""), want{0, "ok   c", ""}},
		{"another formatted_body", formattedEvent(t, "Go on?", "Stop?"), want{1, "FAIL c: formatted_body differs at line ", ""}},
		{"formatted_body that is no text", edited(t, `"msgtype"`, `"formatted_body": [], "msgtype"`), want{1, "FAIL c: formatted_body is not text", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"c.json": valid(tt.content)}
			tt.want.check(t, call{args: []string{"conform", "--bodies", "c.json"}, files: files}.run(t))
			want{0, "ok   c", ""}.check(t, call{args: []string{"conform", "c.json"}, files: files}.run(t))
		})
	}
	t.Run("a refused case has no body to check", func(t *testing.T) {
		files := map[string]string{"c.json": corpusFile("", `{"case": "c", "refused_by": "schema", "content": `+noStage(t)+`}`)}
		want{0, "ok   c", ""}.check(t, call{args: []string{"conform", "--bodies", "c.json"}, files: files}.run(t))
	})
}

func TestConformEmbedded(t *testing.T) {
	got := call{args: []string{"conform", "--embedded", "--bodies"}}.run(t)
	if got.code != 0 || !strings.Contains(got.out, " passed, 0 failed") {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	both := call{args: []string{"conform", "--embedded", "c.json"}, files: map[string]string{"c.json": `{"case": "mine", "content": 1}`}}.run(t)
	want{1, "FAIL mine: ", ""}.check(t, both)
	if !strings.Contains(both.out, "ok   ") {
		t.Errorf("the embedded corpus did not run beside a path: %s", both.out)
	}
}
