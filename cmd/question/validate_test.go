package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

func TestValidate(t *testing.T) {
	two := edited(t, `"needs_comment": false}`, `"needs_comment": 1}`, `"run_id": "run_1", `, "")
	tests := []struct {
		name string
		call call
		want want
	}{
		{"a file", call{args: []string{"validate", "e.json"}, files: map[string]string{"e.json": event}}, want{0, "valid\n", ""}},
		{"standard input", call{args: []string{"validate"}, stdin: event}, want{0, "valid\n", ""}},
		{"standard input as -", call{args: []string{"validate", "-"}, stdin: event}, want{0, "valid\n", ""}},
		{
			"refused, one line a fault", call{args: []string{"validate"}, stdin: two},
			want{1, "schema  (the whole document)      lacks run_id\nschema  /options/0/needs_comment  must be of type boolean\n", ""},
		},
		{"empty", call{args: []string{"validate"}}, want{1, "json", ""}},
		{"no such file", call{args: []string{"validate", "e.json"}}, want{2, "", "question: cannot read e.json: no such file or directory\n"}},
		{"a folder", call{args: []string{"validate", "."}}, want{2, "", "question: cannot read .: is a directory\n"}},
		{"an unknown kind", call{args: []string{"validate", "--kind", "x"}, stdin: event}, want{2, "", `unknown kind "x"; the kinds are ` + strings.Join(kindNames(), ", ")}},
		{"a kind by name", call{args: []string{"validate", "--kind", schema.EventType}, stdin: event}, want{0, "valid\n", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.want.check(t, tt.call.run(t)) })
	}
}

func TestValidateHidesControlCharacters(t *testing.T) {
	got := call{args: []string{"validate"}, stdin: "{\"a\x1b[2J\\u001b[2J\":1,\"\\u001b\":2,\"\\u001b\":3}"}.run(t)
	if got.code != exitFailed || strings.Contains(got.out, "\x1b") {
		t.Errorf("exit code %d, stdout %q", got.code, got.out)
	}
}

func TestValidateKnowsEveryKind(t *testing.T) {
	for _, k := range schema.Kinds() {
		got := call{args: []string{"validate", "--json", "--kind", k.Name}, stdin: "{"}.run(t)
		var v verdictJSON
		if err := json.Unmarshal([]byte(got.out), &v); err != nil || v.Kind != k.Name || v.Rule != schema.RuleJSON {
			t.Errorf("%s: %v, %s", k.Name, err, got.out)
		}
		if !slices.Contains(kindNames(), k.Name) {
			t.Errorf("%s is not in the list of kinds", k.Name)
		}
	}
}

func TestValidateJSON(t *testing.T) {
	crowd := strings.Repeat(`{"id":1},`, 60)
	tests := []struct {
		name, stdin string
		code        int
		want        string // without faults
		faults      int
	}{
		{"valid", event, 0, `{"valid":true,"kind":"dev.superpipeline.question.v2","rule":"","faults":[],"more":0}`, 0},
		{
			"refused", edited(t, `"stage_key": "build", `, ""), 1,
			`{"valid":false,"kind":"dev.superpipeline.question.v2","rule":"schema","faults":[{"rule":"schema",` +
				`"instance_location":"","keyword":"required","limit":["stage_key"],"reason":"lacks stage_key"}],"more":0}`, 1,
		},
		{"more faults than are told", edited(t, `"options": [`, `"options": [`+crowd), 1, "", 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: []string{"validate", "--json"}, stdin: tt.stdin}.run(t)
			want{code: tt.code, out: "{"}.check(t, got)
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(got.out)); err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && compact.String() != tt.want {
				t.Errorf("got  %s\nwant %s", &compact, tt.want)
			}
			var v verdictJSON
			if err := json.Unmarshal(compact.Bytes(), &v); err != nil || len(v.Faults) != tt.faults || (tt.faults == 50) != (v.More > 0) {
				t.Errorf("%v, %d faults and %d more", err, len(v.Faults), v.More)
			}
		})
	}
	t.Run("as text", func(t *testing.T) {
		got := call{args: []string{"validate"}, stdin: tests[2].stdin}.run(t)
		if lines := strings.Split(got.out, "\n"); len(lines) != 52 || !strings.HasPrefix(lines[50], "and ") {
			t.Errorf("%d lines, the last %q", len(lines), lines[50:])
		}
	})
}

// endless gives one character for ever, and counts.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	e.read += len(p)
	return len(p), nil
}

func TestInputIsBounded(t *testing.T) {
	for _, command := range []string{"validate", "render"} {
		in := &endless{}
		var out bytes.Buffer
		if code := run(context.Background(), []string{command}, in, &out, &out); code != exitFailed {
			t.Errorf("%s: exit code %d", command, code)
		}
		if in.read > schema.MaxBytes+1 {
			t.Errorf("%s read %d bytes", command, in.read)
		}
		if !strings.Contains(out.String(), "is larger than") {
			t.Errorf("%s: %s", command, out.String())
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("line went dead") }

func TestInputThatBreaks(t *testing.T) {
	var errs bytes.Buffer
	code := run(context.Background(), []string{"validate"}, brokenReader{}, io.Discard, &errs)
	if code != exitUsage || errs.String() != "question: cannot read standard input: line went dead\n" {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}
