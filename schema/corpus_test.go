package schema_test

import (
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

func TestExamples(t *testing.T) {
	all := readExamples(t)
	for _, c := range all.Valid {
		t.Run("valid/"+c.Case, func(t *testing.T) {
			e, err := decodeEvent(c.Content)
			if err != nil {
				t.Fatal(list(faultsOf(t, err)))
			}
			if got := e.TextBody(); got != e.Body {
				t.Errorf("body\ngot  %q\nwant %q", got, e.Body)
			}
		})
	}
	for _, c := range all.Refused {
		t.Run("refused/"+c.Case, func(t *testing.T) {
			_, err := decodeEvent(c.Content)
			checkRefused(t, err, c.RefusedBy, c.Expect.Location, c.Expect.Keyword)
		})
	}
}

// The published corpus is 8 valid and 22 refused cases; they come first, and only ours may be added to.
func TestExamplesBeginWithThePublishedCorpus(t *testing.T) {
	all := readExamples(t)
	for _, c := range []struct{ got, want string }{
		{all.Valid[0].Case, "a question with options, one of which asks for text"},
		{all.Valid[7].Case, "built: a SuperToolkit approval request"},
		{all.Refused[0].Case, "an option with no meaning. A sender must say what each option means."},
		{all.Refused[21].Case, "no options: nothing to answer with"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Each of these must be told by its first character alone, so none can stand in a file of cases.
func TestBytesThatAreNoJSON(t *testing.T) {
	event := string(readExamples(t).Valid[0].Content)
	for _, c := range []struct{ name, raw, keyword string }{
		{"nothing", "", "syntax"},
		{"white space", " \n", "syntax"},
		{"cut short", event[:len(event)-1], "syntax"},
		{"something behind", event + "{}", "syntax"},
		{"a comma behind", event + ",", "syntax"},
		{"a trailing comma", event[:len(event)-1] + ",}", "syntax"},
		{"a byte order mark", "\ufeff" + event, "syntax"},
		{"a comment", event[:1] + "/* hello */" + event[1:], "syntax"},
		{"a number with a leading zero", event[:1] + `"x": 01,` + event[1:], "syntax"},
		{"a number with a leading plus", event[:1] + `"x": +1,` + event[1:], "syntax"},
		{"NaN", event[:1] + `"x": NaN,` + event[1:], "syntax"},
		{"single quotes", event[:1] + `'x': 1,` + event[1:], "syntax"},
		{"a line break in a string", event[:1] + "\"x\": \"a\nb\"," + event[1:], "syntax"},
		{"an unknown escape", event[:1] + `"x": "\q",` + event[1:], "syntax"},
		{"a byte that is not UTF-8", event[:1] + "\"x\": \"a\xffb\"," + event[1:], "utf8"},
		{"an overlong encoding", event[:1] + "\"x\": \"\xc0\xaf\"," + event[1:], "utf8"},
		{"a surrogate in UTF-8", event[:1] + "\"x\": \"\xed\xa0\x80\"," + event[1:], "utf8"},
		{"a byte that is not UTF-8 in a name", event[:1] + "\"a\xff\": 1," + event[1:], "utf8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeEvent([]byte(c.raw))
			if err == nil {
				t.Fatal("accepted")
			}
			if f := faultsOf(t, err)[0]; f.Rule != schema.RuleJSON || f.Keyword != c.keyword {
				t.Errorf("got %s %s (%s), want json %s", f.Rule, f.Keyword, f.Reason, c.keyword)
			}
		})
	}
}
