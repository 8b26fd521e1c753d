package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

// mixed holds a case that passes, one that fails and a file that is skipped.
func mixed() map[string]string {
	return map[string]string{
		"d/a.json": `{"case": "good \u0001 & <b>\uffff", "content": ` + event + `}`,
		"d/b.json": `{"case": "bad", "refused_by": "json", "content": ` + event + `}`,
		"d/c.json": `{}`,
	}
}

func TestConformJSON(t *testing.T) {
	got := call{args: []string{"conform", "--json", "d"}, files: mixed()}.run(t)
	var have any
	if err := json.Unmarshal([]byte(got.out), &have); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	var expected any
	if err := json.Unmarshal([]byte(`{"passed": 1, "failed": 1, "skipped": 1, "cases": [
		{"case": "good \u0001 & <b>\uffff", "file": "d/a.json", "kind": "dev.superpipeline.question.v2", "outcome": "passed", "detail": ""},
		{"case": "bad", "file": "d/b.json", "kind": "dev.superpipeline.question.v2", "outcome": "failed",
			"detail": "accepted, should be refused by json"},
		{"case": "d/c.json", "file": "d/c.json", "kind": "", "outcome": "skipped", "detail": "neither a case nor a corpus"}
	]}`), &expected); err != nil {
		t.Fatal(err)
	}
	if got.code != exitFailed || !reflect.DeepEqual(have, expected) {
		t.Errorf("exit code %d: %s", got.code, got.out)
	}
	none := call{args: []string{"conform", "--json", "."}}.run(t)
	want{2, `"cases": []`, "no cases found"}.check(t, none)
}

func TestConformJUnit(t *testing.T) {
	got := call{args: []string{"conform", "--junit", "out.xml", "d"}, files: mixed()}.run(t)
	want{1, "1 passed, 1 failed, 1 skipped\n", "note: "}.check(t, got)
	raw, err := os.ReadFile("out.xml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(raw), xml.Header) {
		t.Error("no XML declaration")
	}
	for dec := xml.NewDecoder(bytes.NewReader(raw)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
	}
	type count struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
	}
	type note struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Name    string `xml:"name,attr"`
		Class   string `xml:"classname,attr"`
		Failure *note  `xml:"failure"`
		Skipped *note  `xml:"skipped"`
	}
	type suite struct {
		count
		Cases []testcase `xml:"testcase"`
	}
	var report struct {
		count
		Suites []suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(raw, &report); err != nil {
		t.Fatal(err)
	}
	const kind = "dev.superpipeline.question.v2"
	expected := []suite{
		{count{Name: "d/a.json", Tests: 1}, []testcase{{Name: "good \ufffd & <b>\ufffd", Class: kind}}},
		{count{Name: "d/b.json", Tests: 1, Failures: 1}, []testcase{{Name: "bad", Class: kind, Failure: &note{"accepted, should be refused by json"}}}},
		{count{Name: "d/c.json", Tests: 1, Skipped: 1}, []testcase{{Name: "d/c.json", Skipped: &note{"neither a case nor a corpus"}}}},
	}
	if report.count != (count{Name: "question conform", Tests: 3, Failures: 1, Skipped: 1}) || !reflect.DeepEqual(report.Suites, expected) {
		t.Errorf("%s", raw)
	}
}

func TestConformJUnitThatCannotBeWritten(t *testing.T) {
	got := call{args: []string{"conform", "--junit", "none/out.xml", "--embedded"}}.run(t)
	want{2, " passed", "question: cannot write none/out.xml: no such file or directory\n"}.check(t, got)
}
