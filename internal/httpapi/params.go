package httpapi

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/schema"
)

// params is a query string, read strictly: what cannot be read is refused and not left out.
type params struct{ url.Values }

func paramsOf(r *http.Request) (params, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return params{}, newProblem(codeInvalidParameter, "The query string cannot be read.")
	}
	return params{values}, nil
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// bounds is a parameter's default and range.
type bounds struct{ otherwise, low, high int }

// int reads a whole number of any size and clamps it, as a ttl is clamped. Anything else is refused.
func (p params) int(name string, b bounds) (int, error) {
	if !p.Has(name) {
		return b.otherwise, nil
	}
	text := p.Get(name)
	if !wholeNumber.MatchString(text) {
		return 0, invalidParameter(name, "must be a whole number")
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && strings.HasPrefix(text, "-"): // beyond an int
		return b.low, nil
	case err != nil:
		return b.high, nil
	}
	return min(max(n, b.low), b.high), nil
}

// text reads a parameter that is compared with what is stored; nil when it is absent.
func (p params) text(name string) (*string, error) {
	if !p.Has(name) {
		return nil, nil
	}
	text := p.Get(name)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, invalidParameter(name, "is not text that can be stored")
	}
	return &text, nil
}

// listLimit is how many questions a page of a list has.
var listLimit = bounds{otherwise: 50, low: 1, high: 200}

// page reads which page of a list is asked for.
func (p params) page() (limit int, cursor string, err error) {
	if limit, err = p.int("limit", listLimit); err != nil {
		return 0, "", err
	}
	text, err := p.text("cursor")
	if text != nil {
		cursor = *text
	}
	return limit, cursor, err
}

func invalidParameter(name, reason string) *Problem {
	p := newProblem(codeInvalidParameter, name+" "+reason+".")
	p.Errors = []schema.Fault{{Rule: schema.Rule(codeInvalidParameter), Keyword: name, Reason: reason}}
	return p
}

// storable says whether an id out of a path could be one at all: databases refuse other text with errors of their own.
func storable(id string) bool {
	return len(id) <= 1024 && utf8.ValidString(id) && !strings.ContainsRune(id, 0)
}
