package schema_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// boundTo is the subject-bound example with another expires_at, written as JSON.
func boundTo(t *testing.T, expiresAt string) []byte {
	t.Helper()
	return replaced(t, readExamples(t).Valid[2].Content, `"2026-11-07T10:30:00.000Z"`, expiresAt)
}

func replaced(t *testing.T, raw []byte, old, new string) []byte {
	t.Helper()
	if strings.Count(string(raw), old) == 0 {
		t.Fatalf("%s is not in the example", old)
	}
	return []byte(strings.Replace(string(raw), old, new, 1))
}

func TestC1FormatIsChecked(t *testing.T) {
	for _, at := range []string{"2026-02-30T10:00:00Z", "2026-11-31T10:00:00Z", "2027-02-29T10:00:00Z", "2100-02-29T10:00:00Z"} {
		_, err := decodeEvent(boundTo(t, `"`+at+`"`))
		checkRefused(t, err, schema.RuleSchema, "/subject/expires_at", "format")
	}
	for _, at := range []string{`"2028-02-29T10:00:00Z"`, `null`, `"2030-01-02T08:34:05.5+05:30"`} {
		if _, err := decodeEvent(boundTo(t, at)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestC2DateTimesThatParsersReadDifferently(t *testing.T) {
	for _, at := range []string{
		"2026-12-31T23:59:60Z", "2026-11-30t10:00:00Z", "2026-11-30T10:00:00z", "2026-11-30T10:00:00+0530", "2026-11-30T24:00:00Z",
		"2026-11-30T10:00:00,5Z", "2026-11-30T1:00:00Z", "2026-11-30T10:00:00+24:00", "2026-11-30T10:00:00+05:60",
	} {
		_, err := decodeEvent(boundTo(t, `"`+at+`"`))
		checkRefused(t, err, schema.RuleSchema, "/subject/expires_at", "pattern")
	}
	for at, want := range map[string]time.Time{
		"2026-11-30T10:00:00-00:00":                    time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		"2026-11-30T10:00:00+23:59":                    time.Date(2026, 11, 29, 10, 1, 0, 0, time.UTC),
		"2026-11-30T10:00:00.12345678901234567890Z":    time.Date(2026, 11, 30, 10, 0, 0, 123456789, time.UTC),
		"2026-11-30T10:00:00.99999999999999999999Z":    time.Date(2026, 11, 30, 10, 0, 0, 999999999, time.UTC),
		"0000-01-01T00:00:00Z":                         time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"2030-01-02T08:34:05.5+05:30":                  time.Date(2030, 1, 2, 3, 4, 5, 500000000, time.UTC),
		"2026-11-30T10:00:00.5-05:00":                  time.Date(2026, 11, 30, 15, 0, 0, 500000000, time.UTC),
		"9999-12-31T23:59:59.999999999999999+00:00":    time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"2026-11-30T10:00:00" + "." + nines(170) + "Z": time.Date(2026, 11, 30, 10, 0, 0, 999999999, time.UTC),
	} {
		e, err := decodeEvent(boundTo(t, `"`+at+`"`))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if got, err := e.Subject.ExpiresAt.Time(); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v (%v), want %v", at, got, err, want)
		}
	}
}

func nines(n int) string { return strings.Repeat("9", n) }

// What an impossible reminder does once it is accepted from a carrier belongs to the sweep.
func TestC2ImpossibleReminder(t *testing.T) {
	deadline := readExamples(t).Valid[4].Content
	good := decodeDraft(t, replaced(t, deadline, "2026-11-08T18:00:00.000Z", "2026-11-30T10:00Z"))
	if at, err := good.Deadline.EscalateAt.Time(); err != nil || !at.Equal(time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v, %v", at, err)
	}
	bad := decodeDraft(t, replaced(t, deadline, "2026-11-08T18:00:00.000Z", "2026-13-45T99:99Z"))
	if at, err := bad.Deadline.EscalateAt.Time(); err == nil {
		t.Errorf("2026-13-45T99:99Z is %v", at)
	}
	_, err := bad.Build(schema.BuildOptions{})
	checkRefused(t, err, schema.RuleDeadline, "/deadline/escalate_at", "deadline")
}

func TestC3IntegersHoweverTheyAreWritten(t *testing.T) {
	revision := func(text string) []byte {
		return replaced(t, readExamples(t).Valid[2].Content, `"revision": 1`, `"revision": `+text)
	}
	for text, want := range map[string]int{"1.0": 1, "1e0": 1, "-0": 0, "2e3": 2000, "9007199254740991": 9007199254740991} {
		e, err := decodeEvent(revision(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if e.Subject.Revision != want {
			t.Errorf("%s is decoded as %d", text, e.Subject.Revision)
		}
		sent := canonicalTree(t, mustBuild(t, e))
		if !strings.Contains(sent, fmt.Sprintf(`"revision":%d,`, want)) {
			t.Errorf("%s is not sent as %d: %s", text, want, sent)
		}
	}
	for _, text := range []string{"1.5", `"1"`} {
		_, err := decodeEvent(revision(text))
		checkRefused(t, err, schema.RuleSchema, "/subject/revision", "type")
	}
	for _, text := range []string{"9007199254740992", "9007199254740993", "9223372036854775808"} {
		_, err := decodeEvent(revision(text))
		checkRefused(t, err, schema.RuleInteger, "/subject/revision", "integer")
	}
}

// The same counting of typed answers belongs to the engine.
func TestC4LengthsCountCodePoints(t *testing.T) {
	label := func(text string) []byte {
		return replaced(t, readExamples(t).Valid[0].Content, `"Skip them"`, `"`+text+`"`)
	}
	for _, text := range []string{
		strings.Repeat("😀", 200), strings.Repeat("e\u0301", 100), strings.Repeat("👩‍👩‍👧‍👦", 28), strings.Repeat("漢", 200), strings.Repeat(`\ud83d\ude00`, 200),
	} {
		if _, err := decodeEvent(label(text)); err != nil {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	for _, text := range []string{
		strings.Repeat("😀", 201), strings.Repeat("e\u0301", 101), strings.Repeat("👩‍👩‍👧‍👦", 29), strings.Repeat(`\ud83d\ude00`, 201),
	} {
		_, err := decodeEvent(label(text))
		checkRefused(t, err, schema.RuleSchema, "/options/1/label", "maxLength")
		if f := faultsOf(t, err)[0]; fmt.Sprint(f.Limit) != "200" {
			t.Errorf("limit %v, want 200", f.Limit)
		}
	}
}

// Duplicates in an answer's body belong to the HTTP API.
func TestC5DuplicateNames(t *testing.T) {
	bound := readExamples(t).Valid[2].Content
	for _, c := range []struct{ old, new, at string }{
		{`"preview_complete": true`, `"preview_complete": false, "preview_complete": true`, "/subject/preview_complete"},
		{`"preview_complete": true`, `"preview_complete": true, "preview_complete": true`, "/subject/preview_complete"},
		{`"meaning": "approve"`, `"meaning": "reject", "meaning": "approve"`, "/options/0/meaning"},
		{`"meaning": "approve"`, `"meaning": "reject", "me\u0061ning": "approve"`, "/options/0/meaning"},
		{`"schema_version": 1`, `"schema_version": 1, "x": {"y": [{"a": 1, "a": null}]}`, "/x/y/0/a"},
	} {
		_, err := decodeEvent(replaced(t, bound, c.old, c.new))
		checkRefused(t, err, schema.RuleJSON, c.at, "duplicate")
	}
}

func TestC8HostileDocumentsCostLittle(t *testing.T) {
	event := string(readExamples(t).Valid[0].Content)
	with := func(extra string) []byte { return []byte(event[:1] + extra + "," + event[1:]) }
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `"x%d": 1e1000000, `, i)
	}
	const MB = 1 << 20
	for _, c := range []struct {
		name, keyword string
		raw           []byte
		most          uint64 // bytes that may be allocated
	}{
		{"an exponent of a million", "number", replaced(t, []byte(event), `"schema_version": 1`, `"schema_version": 1e1000000`), MB},
		{"1,000 of them", "number", with(many.String() + `"x": 1`), MB},
		{"a long integer", "number", with(`"x": ` + nines(60000)), MB},
		{"a long integer, over the size", "size", with(`"x": ` + nines(131072)), MB / 16},
		{"a long fraction", "number", with(`"x": 0.` + nines(60000)), MB},
		{"a long fraction, over the size", "size", with(`"x": 0.` + nines(131072)), MB / 16},
		{"a body of 50 MB", "size", slices.Repeat([]byte(" "), 50*MB), MB / 16},
		{"nested 60,000 deep", "depth", []byte(strings.Repeat("[", 60000)), MB},
		{"nested 15,000 deep in objects", "depth", []byte(strings.Repeat(`{"":`, 15000)), MB},
		{"nested 100,000 deep", "size", []byte(strings.Repeat("[", 100000)), MB / 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeEvent(c.raw)
			if err == nil {
				t.Fatal("accepted")
			}
			if f := faultsOf(t, err)[0]; f.Rule != schema.RuleJSON || f.Keyword != c.keyword {
				t.Errorf("got %s %s, want json %s", f.Rule, f.Keyword, c.keyword)
			}
			if got := allocated(func() { _, _ = decodeEvent(c.raw) }); got > c.most {
				t.Errorf("allocates %d bytes for a document of %d, want at most %d", got, len(c.raw), c.most)
			}
		})
	}
}

// A refusal of an allowed size is bounded too, however often a rule is broken.
func TestC8RefusalsAreBounded(t *testing.T) {
	event := string(readExamples(t).Valid[0].Content)
	raw := strings.Replace(event, `"options": [`, `"options": [`+strings.Repeat(`{},`, 20000), 1)
	_, err := decodeEvent([]byte(raw))
	if err == nil {
		t.Fatal("accepted")
	}
	if faults := faultsOf(t, err); len(faults) > 50 {
		t.Errorf("%d faults", len(faults))
	}
	if len(err.Error()) > 1000 {
		t.Errorf("%d bytes of error", len(err.Error()))
	}
}

// allocated measures the bytes that f allocates; the least of some runs, since others allocate too.
func allocated(f func()) uint64 {
	least := ^uint64(0)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
