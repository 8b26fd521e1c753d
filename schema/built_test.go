package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

func TestBuilt(t *testing.T) {
	all := readBuilt(t)
	for _, c := range all.Valid {
		t.Run("valid/"+c.Case, func(t *testing.T) {
			built := mustBuild(t, decodeDraft(t, c.Content))
			for at, want := range c.Sends {
				got, ok := valueIn(built, at)
				if !ok || canonicalTree(t, got) != canonical(t, want) {
					t.Errorf("%s is %v, want %s", at, got, want)
				}
			}
			for _, at := range c.Drops {
				if got, ok := valueIn(built, at); ok {
					t.Errorf("%s is %v, want nothing", at, got)
				}
			}
		})
	}
	for _, c := range all.Refused {
		t.Run("refused/"+c.Case, func(t *testing.T) {
			_, err := decodeDraft(t, c.Content).Build(schema.BuildOptions{})
			checkRefused(t, err, c.RefusedBy, c.Expect.Location, c.Expect.Keyword)
		})
	}
}

// Whatever we build, we would accept, and it has the bodies that belong to it.
func TestBuiltEventsAreRead(t *testing.T) {
	for _, c := range append(readExamples(t).Valid, readBuilt(t).Valid...) {
		t.Run(c.Case, func(t *testing.T) {
			e := decodeDraft(t, c.Content)
			built, err := e.Build(schema.BuildOptions{})
			if err != nil {
				return // what we only read may be refused here; TestBuilt says which and why
			}
			back, err := decodeEvent([]byte(canonicalTree(t, built)))
			if err != nil {
				t.Fatal(list(faultsOf(t, err)))
			}
			if back.Body != e.TextBody() || back.TextBody() != e.TextBody() || back.HTMLBody() != e.HTMLBody() {
				t.Errorf("the bodies of what was built are not those of what was read:\n%q\n%q", back.Body, e.TextBody())
			}
			if built["formatted_body"] != e.HTMLBody() || built["format"] != "org.matrix.custom.html" {
				t.Errorf("format %v, formatted_body %v", built["format"], built["formatted_body"])
			}
			if again := mustBuild(t, e); canonicalTree(t, again) != canonicalTree(t, built) {
				t.Error("building twice gives two events")
			}
		})
	}
}

func TestBuildMentions(t *testing.T) {
	e := decodeDraft(t, readExamples(t).Valid[0].Content)
	built, err := e.Build(schema.BuildOptions{Mentions: []string{"@dana:ex.org"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := canonicalTree(t, built["m.mentions"]), `{"user_ids":["@dana:ex.org"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A20, as far as an event by itself goes: the receipt's edit and sending belong to the channel.
func TestA20TooLargeForTheRoom(t *testing.T) {
	approval := string(readExamples(t).Valid[3].Content)
	withTexts := func(n int, text string) []byte {
		item := `{"type": "text", "text": "` + text + `"}`
		list := `"preview": [` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `], "x_old": [`
		return []byte(strings.Replace(approval, `"preview": [`, list, 1))
	}
	han := strings.Repeat("漢", 4000)

	t.Run("20 texts are not even read", func(t *testing.T) {
		_, err := decodeEvent(withTexts(20, han))
		checkRefused(t, err, schema.RuleJSON, "", "size")
	})
	for n := range 6 {
		t.Run(fmt.Sprintf("%d texts", n), func(t *testing.T) {
			e := decodeDraft(t, withTexts(n, han))
			// Each text is in the preview, the body and the formatted body: 36,000 bytes.
			built, err := e.Build(schema.BuildOptions{})
			if n < 2 {
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Count(canonicalTree(t, built), han); got != 3*n {
					t.Errorf("the text stands %d times in the event, want %d: nothing is cut", got, 3*n)
				}
				return
			}
			checkRefused(t, err, schema.RuleSize, "/subject/preview/0/text", "size")
			if f := faultsOf(t, err)[0]; fmt.Sprint(f.Limit) != "60000" {
				t.Errorf("limit %v, want 60000", f.Limit)
			}
		})
	}
	t.Run("the longest text is named", func(t *testing.T) {
		raw := bytes.Replace(withTexts(4, strings.Repeat("漢", 3000)), []byte(`"text": "`), []byte(`"text": "x`), 3)
		raw = bytes.Replace(raw, []byte(`{"type": "text", "text": "漢`), []byte(`{"type": "text", "text": "😀漢`), 1)
		_, err := decodeDraft(t, raw).Build(schema.BuildOptions{})
		checkRefused(t, err, schema.RuleSize, "/subject/preview/3/text", "size")
	})
	t.Run("to the byte", func(t *testing.T) {
		e := decodeDraft(t, []byte(approval))
		e.Question = "every byte takes six: \x01\x02\x1f"
		size := len(canonicalTree(t, mustBuild(t, e)))
		if _, err := e.Build(schema.BuildOptions{MaxBytes: size}); err != nil {
			t.Errorf("refused at %d bytes of %d: %v", size, size, err)
		}
		_, err := e.Build(schema.BuildOptions{MaxBytes: size - 1})
		if err == nil || faultsOf(t, err)[0].Rule != schema.RuleSize {
			t.Errorf("%d bytes of %d: %v", size, size-1, err)
		}
	})
}

func mustBuild(tb testing.TB, e *schema.Elicitation) map[string]any {
	tb.Helper()
	built, err := e.Build(schema.BuildOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return built
}

// valueIn finds the value at a JSON pointer.
func valueIn(v any, at string) (any, bool) {
	for token := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		switch parent := v.(type) {
		case map[string]any:
			value, ok := parent[token]
			if !ok {
				return nil, false
			}
			v = value
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(parent) {
				return nil, false
			}
			v = parent[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// canonicalTree writes a value as Matrix canonical JSON, without the help of package schema: sorted names, no spaces,
// nothing escaped that need not be.
func canonicalTree(tb testing.TB, v any) string {
	tb.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		tb.Fatal(err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text)
}

// canonical reads JSON text and writes it as canonicalTree does. Numbers stay as they are written.
func canonical(tb testing.TB, raw []byte) string {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	return canonicalTree(tb, v)
}
