package schema_test

import (
	"errors"
	"fmt"

	"superpipeline.dev/question-bridge/schema"
)

// leaf is one thing that a validator reports: where, and by which keyword.
type leaf struct{ location, keyword string }

// ourVerdict is what Decode says of one document, reduced to what ajv can say too: the rules behind the schema's are no
// business of ajv's, so a document that only they refuse counts as accepted.
type ourVerdict struct {
	refusal *schema.Refusal // nil where the JSON Schema and x-uniqueBy accept
	leaves  map[leaf]bool
}

func ours(doc []byte) (v ourVerdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Decode panics: %v", p)
		}
	}()
	_, refused := schema.Decode[schema.Elicitation](doc)
	if refused == nil {
		return v, nil
	}
	var r *schema.Refusal
	if !errors.As(refused, &r) {
		return v, fmt.Errorf("Decode's error is a %T", refused)
	}
	switch r.Rule() {
	case schema.RuleJSON, schema.RuleSchema, schema.RuleUnique:
		v.refusal, v.leaves = r, make(map[leaf]bool)
		for _, f := range r.Faults {
			v.leaves[leaf{f.Location, f.Keyword}] = true
		}
	}
	return v, nil
}

func (v ourVerdict) rule() schema.Rule {
	if v.refusal == nil {
		return ""
	}
	return v.refusal.Rule()
}

// disagreement is one way in which the two verdicts on a document differ.
type disagreement struct {
	kind disagreementKind
	leaf leaf // what one reports and the other does not; our reason where only we refuse
	doc  []byte
	ours ourVerdict
	ajv  ajvVerdict
}

type disagreementKind string

const (
	weCannotRead  disagreementKind = "we refuse it as JSON and ajv reads it"
	ajvCannotRead disagreementKind = "ajv cannot read it and we can"
	weRefuse      disagreementKind = "we refuse it and ajv accepts it"
	ajvRefuses    disagreementKind = "ajv refuses it and we accept it"
	weReport      disagreementKind = "both refuse it, and we report what ajv does not"
	ajvReports    disagreementKind = "both refuse it, and ajv reports what we do not"
)

func (d disagreement) String() string {
	doc := fmt.Sprintf("%q", d.doc)
	if len(doc) > 3000 {
		doc = doc[:3000] + "…"
	}
	refusal := "accepted"
	if r := d.ours.refusal; r != nil {
		refusal = r.Error()
	}
	return fmt.Sprintf("%s: %s %s\n  ours: %s\n  ajv:  valid %v, unreadable %v %v\n  %s",
		d.kind, d.leaf.location, d.leaf.keyword, refusal, d.ajv.Valid, d.ajv.unreadable(), d.ajv.Errors, doc)
}

// compare lists every disagreement about one document.
func compare(doc []byte, our ourVerdict, ajv ajvVerdict) []disagreement {
	at := func(kind disagreementKind, l leaf) disagreement { return disagreement{kind, l, doc, our, ajv} }
	unread := our.rule() == schema.RuleJSON
	switch {
	case unread && ajv.unreadable():
		return nil
	case unread:
		f := our.refusal.Faults[0]
		return []disagreement{at(weCannotRead, leaf{f.Location, f.Keyword})}
	case ajv.unreadable():
		return []disagreement{at(ajvCannotRead, leaf{})}
	case our.refusal == nil && ajv.Valid:
		return nil
	case our.refusal == nil:
		return []disagreement{at(ajvRefuses, leaf{ajv.Errors[0][0], ajv.Errors[0][1]})}
	}
	kind := weReport
	if ajv.Valid {
		kind = weRefuse
	}
	var found []disagreement
	for l := range our.leaves {
		if !ajv.reports(l) {
			found = append(found, at(kind, l))
		}
	}
	for _, e := range ajv.Errors {
		if l := (leaf{e[0], e[1]}); !our.leaves[l] {
			found = append(found, at(ajvReports, l))
		}
	}
	return found
}
