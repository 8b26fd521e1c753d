package schema

import (
	"encoding/json"
	"errors"
	"testing"
)

// Every pattern of our schemas is worded for people, and nothing else is.
func TestPatternsAreWorded(t *testing.T) {
	used := map[string]bool{}
	for _, name := range []string{fileElicitation, fileProtocol, fileQueries} {
		raw, err := JSON(name)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(raw, &tree); err != nil {
			t.Fatal(err)
		}
		collectPatterns(tree, used)
	}
	for pattern := range used {
		if patternReasons[pattern] == "" {
			t.Errorf("no words for the pattern %s", pattern)
		}
	}
	for pattern := range patternReasons {
		if !used[pattern] {
			t.Errorf("words for the pattern %s, which no schema has", pattern)
		}
	}
}

func collectPatterns(tree any, into map[string]bool) {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			if pattern, ok := value.(string); ok && key == "pattern" {
				into[pattern] = true
			}
			collectPatterns(value, into)
		}
	case []any:
		for _, value := range v {
			collectPatterns(value, into)
		}
	}
}

// The reasons of an ask's refusals read well for somebody who knows neither Go nor regular expressions.
func TestReasons(t *testing.T) {
	for body, want := range map[string]string{
		`{"prompt":"a","resolution_policy":"quorum"}`: `must be one of "first", null; "quorum" is reserved for later`,
		`{"prompt":"a","resolution_policy":"all"}`:    `must be one of "first", null; "all" is reserved for later`,
		`{"prompt":"a","resolution_policy":"fast"}`:   `must be one of "first", null`,
		`{"prompt":"a","target_user_id":"alice"}`:     "is not a Matrix user id such as @alice:example.org",
		`{"prompt":" "}`: "is blank",
		`{"prompt":"a","text_input":{"max_length":61}}`: "is more than 60",
		`{"prompt":"a","options":["b"]}`:                "has fewer than 2 items",
		`{"prompt":"a","options":["b",{"label":"c"}]}`:  "lacks value",
		`{"prompt":"a","responder_scope":"direct"}`:     "lacks target_user_id",
		`{"prompt":"a","ttl":1.5}`:                      "must be of type null or integer",
	} {
		var refused *Refusal
		if _, err := DecodeAsk([]byte(body)); !errors.As(err, &refused) || refused.Faults[0].Reason != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
