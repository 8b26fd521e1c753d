package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// bound gives the corpus's event with a subject, with one part of it replaced.
func bound(t *testing.T, old, new string) string {
	t.Helper()
	content := corpusContent(t, 2)
	if !strings.Contains(content, old) {
		t.Fatalf("%s is not in %s", old, content)
	}
	own := strings.Replace(content, `"elicitation_id":"`, `"elicitation_id":"`+string(bridge.NewQuestionID()), 1)
	return strings.Replace(own, old, new, 1)
}

const boundUntil = `"expires_at":"2026-11-07T10:30:00.000Z"`

// refused wants an ask refused as its asker's fault, by a rule at a place, and nothing stored of it.
func (h *house) refused(body, rule, at, keyword string) {
	h.Helper()
	before := h.engine.stored()
	a := h.post(opsQuestions, body)
	code := map[int]string{http.StatusBadRequest: "malformed", http.StatusUnprocessableEntity: "invalid_question", http.StatusRequestEntityTooLarge: "too_large"}[a.status]
	if code == "" {
		h.Errorf("status %d: %s", a.status, a.body)
		return
	}
	if p := h.problem(a, a.status, code); !hasFault(p, rule, at, keyword) {
		h.Errorf("%d: %+v, want %s %s at %s", a.status, p, rule, keyword, at)
	}
	if h.engine.stored() != before {
		h.Error("a refused ask was stored")
	}
}

// Field cases C1 and C2, as an asker meets them: a date that no calendar has, or that parsers read differently, is
// refused at its place; every other is taken.
func TestC1AndC2Times(t *testing.T) {
	h := newHouse(t)
	until := func(at string) string { return bound(t, boundUntil, `"expires_at":`+at) }
	for _, at := range []string{"2026-02-30T10:00:00Z", "2026-11-31T10:00:00Z", "2027-02-29T10:00:00Z", "2100-02-29T10:00:00Z"} {
		h.refused(until(`"`+at+`"`), "schema", "/subject/expires_at", "format")
	}
	for _, at := range []string{
		"2026-12-31T23:59:60Z", "2026-11-30t10:00:00Z", "2026-11-30T10:00:00z", "2026-11-30T10:00:00+0530", "2026-11-30T24:00:00Z",
		"2026-11-30T10:00:00,5Z", "2026-11-30T1:00:00Z", "2026-11-30T10:00:00+24:00", "2026-11-30T10:00:00+05:60",
	} {
		h.refused(until(`"`+at+`"`), "schema", "/subject/expires_at", "pattern")
	}
	for _, at := range []string{
		`"2128-02-29T10:00:00Z"`, `null`, `"2130-01-02T08:34:05.5+05:30"`, `"2130-11-30T10:00:00-00:00"`, `"2130-11-30T10:00:00+23:59"`,
		`"2130-11-30T10:00:00.12345678901234567890Z"`, `"9999-12-31T23:59:59Z"`,
	} {
		h.asked(until(at))
	}
}

// Field case C3, as an asker meets it: an integer is one however it is written, and one that no room could carry is
// refused.
func TestC3Integers(t *testing.T) {
	h := newHouse(t)
	revision := func(text string) string {
		return strings.Replace(bound(t, `"revision":1`, `"revision":`+text), boundUntil, `"expires_at":null`, 1)
	}
	for text, want := range map[string]int64{"1.0": 1, "1e0": 1, "-0": 0, "9007199254740991": 9007199254740991} {
		q := h.asked(revision(text))
		h.engine.set(func(m *memory) {
			if got := m.byID[bridge.QuestionID(q.ID)].Subject.Revision; got != want {
				t.Errorf("%s is stored as %d", text, got)
			}
		})
	}
	for _, text := range []string{"1.5", `"1"`} {
		h.refused(revision(text), "schema", "/subject/revision", "type")
	}
	for _, text := range []string{"9007199254740993", "9223372036854775808"} {
		h.refused(revision(text), "integer", "/subject/revision", "integer")
	}
}

// Field case C4, as an asker meets it: lengths are code points.
func TestC4Lengths(t *testing.T) {
	h := newHouse(t)
	label := func(text string) string {
		return strings.Replace(bound(t, `"label":"Approve"`, `"label":"`+text+`"`), boundUntil, `"expires_at":null`, 1)
	}
	for _, text := range []string{strings.Repeat("😀", 200), strings.Repeat("e\u0301", 100)} {
		h.asked(label(text))
	}
	for _, text := range []string{strings.Repeat("😀", 201), strings.Repeat("e\u0301", 101)} {
		h.refused(label(text), "schema", "/options/0/label", "maxLength")
	}
}

// Field case A20, as an asker meets it: what no event could carry is refused when it is asked, with the place named.
func TestA20CannotBeSent(t *testing.T) {
	h := newHouse(t)
	preview := func(n int) string {
		item := `{"type":"text","text":"` + strings.Repeat("漢", 4000) + `"},`
		body := bound(t, `"preview":[`, `"preview":[`+strings.TrimSuffix(strings.Repeat(item, n), ",")+`],"x_old":[`)
		return strings.Replace(body, boundUntil, `"expires_at":null`, 1)
	}
	h.refused(preview(20), "json", "", "size")
	h.refused(preview(5), "size", "/subject/preview/0/text", "size")
	h.refused(`{"prompt":"May I?","options":["Run them",{"value":"skip","label":"Skip\u0000them"}]}`, "nul", "/options/1/label", "nul")
}

// Field case D4: a deadline may be centuries away for a subject, and the question's own still is in range; without a ttl
// there is the default.
func TestD4FarAway(t *testing.T) {
	h := newHouse(t)
	for body, want := range map[string]time.Duration{
		`{"prompt":"Go?"}`: time.Hour,
		bound(t, boundUntil, `"expires_at":"9999-12-31T23:59:59.999Z"`):                                                7 * 24 * time.Hour,
		strings.Replace(bound(t, boundUntil, `"expires_at":"9999-12-31T23:59:59.999Z"`), `{`, `{"ttl":9223372037,`, 1): 30 * 24 * time.Hour,
	} {
		q := h.asked(body)
		expires, err := q.ExpiresAt.Time()
		created, err2 := q.CreatedAt.Time()
		if err != nil || err2 != nil || expires.Sub(created) != want {
			t.Errorf("%s to %s", q.CreatedAt, q.ExpiresAt)
		}
		h.engine.answer(q.ID, "approve")
		if got := h.question(h.get("/api/agent/questions/"+q.ID), http.StatusOK); got.State != schema.Answered {
			t.Errorf("%+v", got)
		}
	}
}

// A cancel under a key reads its body, which may be as bad as any.
func TestTheBodyOfACancel(t *testing.T) {
	h := newHouse(t)
	path := "/api/agent/questions/" + h.asked(`{"prompt":"Go?"}`).ID + "/cancel"
	h.problem(h.keyed(path, h.secret, strings.Repeat(" ", schema.MaxBytes+1), "key"), http.StatusRequestEntityTooLarge, "too_large")
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nIdempotency-Key: key\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n", path, h.secret)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	h.problem(answer{res.StatusCode, res.Header, raw, res.Close}, http.StatusBadRequest, "malformed")
}
