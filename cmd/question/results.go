package main

import (
	"encoding/xml"
	"fmt"
	"io"
)

const (
	outcomePassed  = "passed"
	outcomeFailed  = "failed"
	outcomeSkipped = "skipped"
)

type results struct {
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Cases   []caseResult `json:"cases"`
}

type caseResult struct {
	Case    string `json:"case"`
	File    string `json:"file"`
	Kind    string `json:"kind"`
	Outcome string `json:"outcome"` // passed, failed or skipped
	Detail  string `json:"detail"`  // why, unless passed
}

// runCases judges every case and prints a line for each that is not skipped, then the summary.
func runCases(cases []testCase, bodies bool, lines io.Writer) results {
	r := results{Cases: []caseResult{}}
	for _, c := range cases {
		result := caseResult{Case: c.name, File: c.file, Kind: c.kind, Outcome: outcomePassed, Detail: c.skipped}
		switch {
		case c.skipped != "":
			result.Outcome = outcomeSkipped
			r.Skipped++
		default:
			result.Detail = c.broken
			if result.Detail == "" {
				result.Detail = judge(c, bodies)
			}
			if result.Detail != "" {
				result.Outcome = outcomeFailed
				r.Failed++
				fmt.Fprintf(lines, "FAIL %s\n", oneLine(fmt.Sprintf("%s: %s (%s)", c.name, result.Detail, c.file)))
			} else {
				r.Passed++
				fmt.Fprintf(lines, "ok   %s\n", oneLine(c.name))
			}
		}
		r.Cases = append(r.Cases, result)
	}
	fmt.Fprintf(lines, "%d passed, %d failed", r.Passed, r.Failed)
	if r.Skipped > 0 {
		fmt.Fprintf(lines, ", %d skipped", r.Skipped)
	}
	fmt.Fprintln(lines)
	return r
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (n *junitCounts) count(outcome string) {
	n.Tests++
	switch outcome {
	case outcomeFailed:
		n.Failures++
	case outcomeSkipped:
		n.Skipped++
	}
}

type junitReport struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string     `xml:"name,attr"`
	ClassName string     `xml:"classname,attr"`
	Failure   *junitNote `xml:"failure"`
	Skipped   *junitNote `xml:"skipped"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
}

// junit writes results as JUnit XML, one suite a file. The encoder replaces characters that XML cannot hold.
func junit(r results) ([]byte, error) {
	report := junitReport{Name: "question conform"}
	var suite *junitSuite
	for _, c := range r.Cases {
		if suite == nil || suite.Name != c.File {
			suite = &junitSuite{Name: c.File}
			report.Suites = append(report.Suites, suite)
		}
		report.count(c.Outcome)
		suite.count(c.Outcome)
		one := junitCase{Name: c.Case, ClassName: c.Kind}
		switch c.Outcome {
		case outcomeFailed:
			one.Failure = &junitNote{c.Detail}
		case outcomeSkipped:
			one.Skipped = &junitNote{c.Detail}
		}
		suite.Cases = append(suite.Cases, one)
	}
	body, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}
