package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"superpipeline.dev/question-bridge/schema"
)

// testCase is one document and what should become of it.
type testCase struct {
	name, file, kind string
	content          json.RawMessage
	refusedBy        schema.Rule // "" for a document that is valid
	expect           *expectation

	broken  string // why this cannot be run, which is a failure
	notOne  bool   // broken because it stands where only cases may
	skipped string // why this is not for us
}

// expectation is one fault that must be among those of a refused document. A nil part may be anything.
type expectation struct{ location, keyword *string }

// place is where a case stands.
type place struct {
	file, kind string
	group      string // "valid", "refused", or "" where the case itself tells
	name       string // for a case without one
}

const (
	groupValid   = "valid"
	groupRefused = "refused"
	unknownKind  = "a kind that we do not know"
)

func isCase(o object) bool { return o.has("case") || o.has("refused_by") }

// isCorpus says whether an object holds cases by kind. A list of cases under a kind that we do not know counts: it is to
// be skipped by number, not taken for something else.
func isCorpus(o object) bool {
	for name, value := range o.values {
		if knownKind(name) {
			return true
		}
		groups, err := readObject(value)
		if err == nil && (isList(groups.values[groupValid]) || isList(groups.values[groupRefused])) {
			return true
		}
	}
	return false
}

func isList(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte("[")) }

func knownKind(name string) bool {
	_, ok := schema.KindNamed(name)
	return ok
}

// readKind reads what a corpus has under one kind: the lists "valid" and "refused". Anything else there is a broken
// case, or a misspelt list would pass unseen.
func readKind(raw []byte, p place) []testCase {
	broken := func(why string) testCase {
		return testCase{name: p.kind, file: p.file, kind: p.kind, broken: why, notOne: true}
	}
	groups, err := readObject(raw)
	if err != nil {
		if !knownKind(p.kind) {
			return nil
		}
		return []testCase{broken("holds no lists of cases")}
	}
	var cases []testCase
	if groups.repeated != "" {
		cases = append(cases, broken(givenTwice(groups.repeated)))
	}
	for _, group := range groups.names {
		var items []json.RawMessage
		known := group == groupValid || group == groupRefused
		if err := json.Unmarshal(groups.values[group], &items); err != nil || !known || items == nil {
			cases = append(cases, broken(fmt.Sprintf("%q is not a list of valid or refused cases", group)))
			continue
		}
		for i, item := range items {
			at := place{file: p.file, kind: p.kind, group: group, name: fmt.Sprintf("%s %d", group, i+1)}
			o, err := readObject(item)
			if err != nil {
				cases = append(cases, testCase{name: at.name, file: at.file, kind: at.kind, broken: err.Error()})
				continue
			}
			cases = append(cases, readCase(o, at))
		}
	}
	return cases
}

func readCase(o object, p place) testCase {
	c := testCase{name: p.name, file: p.file, kind: p.kind, content: o.values["content"]}
	if err := c.read(o, p.group); err != nil {
		c.broken = err.Error()
	}
	return c
}

func (c *testCase) read(o object, group string) error {
	name, err := o.text("case")
	if err != nil {
		return err
	}
	if name != "" {
		c.name = name
	}
	if group == "" {
		if c.kind, err = o.text("kind"); err != nil {
			return err
		}
		if c.kind == "" {
			c.kind = schema.EventType
		}
	}
	rule, err := o.text("refused_by")
	if err != nil {
		return err
	}
	c.refusedBy = schema.Rule(rule)
	if c.expect, err = readExpectation(o.values["expect"]); err != nil {
		return err
	}
	switch {
	case o.repeated != "":
		return errors.New(givenTwice(o.repeated))
	case !o.has("content"):
		return errors.New("has no content")
	case rule == "" && (group == groupRefused || o.has("refused_by")):
		return errors.New("does not say which rule refuses it")
	case rule == "" && c.expect != nil:
		return errors.New("expects a fault, but no rule refuses it")
	case rule != "" && group == groupValid:
		return errors.New("is among the valid cases, but a rule refuses it")
	}
	return nil
}

// readExpectation reads "expect". Both spellings of the location are in use.
func readExpectation(raw json.RawMessage) (*expectation, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	o, err := readObject(raw)
	if err != nil {
		return nil, fmt.Errorf("expect %w", err)
	}
	var e expectation
	for _, name := range o.names {
		to := &e.keyword
		switch name {
		case "instance_location", "instanceLocation":
			to = &e.location
		case "keyword":
		default:
			continue
		}
		value, err := o.text(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("expect: %w", err)
		case *to != nil && **to != value:
			return nil, errors.New("expect: names two locations")
		}
		*to = &value
	}
	if len(o.names) > 0 && e == (expectation{}) {
		return nil, errors.New("expect: names neither a location nor a keyword")
	}
	return &e, nil
}

func givenTwice(name string) string { return fmt.Sprintf("%q is given twice", name) }
