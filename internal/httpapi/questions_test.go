package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func TestAsk(t *testing.T) {
	h := newHouse(t)
	a := h.post(opsQuestions, `{"prompt":"Which environment?","context":"Release 2.4","responder_scope":"room",
		"options":[{"value":"staging","label":"Staging"},{"value":"prod","label":"Production","style":"primary"}],
		"ttl":1800,"correlation_id":"rel-2.4","data":{"n":12345678901234567890}}`)
	q := h.question(a, http.StatusCreated)
	if a.header.Get("Location") != "/api/agent/questions/"+q.ID || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", a.header)
	}
	if q.Prompt != "Which environment?" || *q.Context != "Release 2.4" || *q.CorrelationID != "rel-2.4" || q.State != schema.Pending || q.Delivery.State != "queued" {
		t.Errorf("%+v", q)
	}
	if !strings.Contains(string(a.body), `"n":12345678901234567890`) {
		t.Errorf("data lost its digits: %s", a.body)
	}
	var document map[string]any
	if err := json.Unmarshal(a.body, &document); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "kind", "prompt", "context", "options", "text_input", "responder_scope", "target_user_id", "resolution_policy",
		"state", "answer", "expires_at", "resolved_at", "correlation_id", "reply_to", "data", "created_at"} {
		if _, ok := document[name]; !ok {
			t.Errorf("the question lacks %s", name)
		}
	}
	if fetched := h.get("/api/agent/questions/" + q.ID); string(fetched.body) != string(a.body) {
		t.Errorf("fetched %s\nasked %s", fetched.body, a.body)
	}
}

// People read the name that the configuration gives an agent, or its id.
func TestAskIsAskedByTheAgent(t *testing.T) {
	h := newHouse(t)
	other := h.token(httpapi.TokenTerms{Agent: "nightly", Rooms: []string{"*"}})
	for secret, name := range map[string]string{h.secret: "CI", other: "nightly"} {
		id := h.question(h.do("POST", opsQuestions, secret, `{"prompt":"Go?"}`), http.StatusCreated).ID
		h.engine.set(func(m *memory) {
			if q := m.byID[bridge.QuestionID(id)]; q.AskedBy != name {
				t.Errorf("asked by %q, want %q", q.AskedBy, name)
			}
		})
	}
}

// No client may keep a connection busy for long with nothing.
func TestServerHasTimeouts(t *testing.T) {
	s := httpapi.HTTPServer(nil)
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "body": s.ReadTimeout, "reply": s.WriteTimeout, "idle": s.IdleTimeout} {
		if d < time.Second || d > 5*time.Minute {
			t.Errorf("the %s timeout is %v", name, d)
		}
	}
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 1<<20 {
		t.Errorf("a header may have %d bytes", s.MaxHeaderBytes)
	}
}

func TestAskNamesTheRoomInEveryWay(t *testing.T) {
	h := newHouse(t)
	for _, room := range []string{"OPS", "!ops:example.org", "%21ops%3Aexample.org", "%23ops:example.org", url.PathEscape("!a/b:example.org")} {
		h.question(h.post("/api/agent/rooms/"+room+"/questions", `{"prompt":"Go?"}`), http.StatusCreated)
	}
}

func TestAskByElicitation(t *testing.T) {
	h := newHouse(t)
	content := corpusEvent(t)
	first := h.post(opsQuestions, content)
	q := h.question(first, http.StatusCreated)
	if again := h.post(opsQuestions, content); string(again.body) != string(first.body) || again.status != http.StatusOK {
		t.Errorf("an equal ask gives %d %s", again.status, again.body)
	}
	if *q.CorrelationID != "elc_7f3c" || q.Options[0].Meaning != schema.Choose {
		t.Errorf("%+v", q)
	}
	other := strings.Replace(content, `"Skip them"`, `"Skip"`, 1)
	h.problem(h.post(opsQuestions, other), http.StatusConflict, "elicitation_conflict")
	if h.engine.stored() != 1 {
		t.Errorf("%d stored", h.engine.stored())
	}
}

func corpusEvent(t *testing.T) string {
	t.Helper()
	content := corpusContent(t, 0)
	return strings.Replace(content, corpusID(json.RawMessage(content)), "elc_7f3c", 1)
}

// corpusContent gives the n-th valid event of the corpus, compact.
func corpusContent(t *testing.T, n int) string {
	t.Helper()
	raw, err := os.ReadFile("../../fixtures/matrix-events/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct {
		Valid []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, corpus[schema.EventType].Valid[n].Content); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

func corpusID(content json.RawMessage) string {
	var e struct {
		ID string `json:"elicitation_id"`
	}
	_ = json.Unmarshal(content, &e)
	return e.ID
}

// Field case D4: what is no whole number is 400, what is beyond the range is clamped, and the deadline is always ahead.
func TestD4TTL(t *testing.T) {
	h := newHouse(t)
	for ttl, want := range map[string]time.Duration{
		"9223372037": 24 * time.Hour, "292277022399": 24 * time.Hour, "1e18": 24 * time.Hour, "9223372036854775808": 24 * time.Hour,
		"0": 30 * time.Second, "-1": 30 * time.Second, "null": time.Hour, "1800": 30 * time.Minute,
	} {
		q := h.asked(`{"prompt":"Go?","ttl":` + ttl + `}`)
		expires, err := q.ExpiresAt.Time()
		created, err2 := q.CreatedAt.Time()
		if err != nil || err2 != nil || expires.Sub(created) != want || !expires.After(time.Now()) {
			t.Errorf("ttl %s: %s to %s", ttl, q.CreatedAt, q.ExpiresAt)
		}
	}
	stored := h.engine.stored()
	for _, ttl := range []string{"1.5", `"1800"`, "true", "[]", "{}"} {
		p := h.problem(h.post(opsQuestions, `{"prompt":"Go?","ttl":`+ttl+`}`), http.StatusBadRequest, "malformed")
		if !hasFault(p, "schema", "/ttl", "type") || !strings.HasPrefix(p.Detail, "/ttl ") {
			t.Errorf("ttl %s: %+v", ttl, p)
		}
	}
	if h.engine.stored() != stored {
		t.Error("a refused ask was stored")
	}
}

// Field case C5.
func TestC5DuplicateKeys(t *testing.T) {
	h := newHouse(t)
	for body, at := range map[string]string{
		`{"prompt":"a","prompt":"b"}`:                                                   "/prompt",
		`{"prompt":"a","ttl":60,"ttl":60}`:                                              "/ttl",
		`{"prompt":"a","options":[{"value":"x","value":"y","label":"X"},"z"]}`:          "/options/0/value",
		`{"prompt":"a","data":{"k":1,"\u006b":2}}`:                                      "/data/k",
		strings.Replace(corpusEvent(t), `"msgtype"`, `"msgtype":"m.text","msgtype"`, 1): "/msgtype",
	} {
		p := h.problem(h.post(opsQuestions, body), http.StatusBadRequest, "malformed")
		if !hasFault(p, "json", at, "duplicate") {
			t.Errorf("%.80s: %+v", body, p)
		}
	}
	if h.engine.stored() != 0 {
		t.Error("a refused ask was stored")
	}
}

// Field case C8: hostile numbers, depth and size are refused for what they are. What that costs is measured on a whole
// bridge.
func TestC8Numbers(t *testing.T) {
	h := newHouse(t)
	var unknown strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&unknown, `,"x%d":1e1000000`, i)
	}
	h.asked(`{"prompt":"warm up"}`)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"an exponent":          {`{"prompt":"a","ttl":1e1000000}`, 400, "malformed"},
		"1,000 exponents":      {`{"prompt":"a"` + unknown.String() + `}`, 400, "malformed"},
		"many digits":          {`{"prompt":"a","ttl":` + strings.Repeat("9", 60000) + `}`, 400, "malformed"},
		"too many digits":      {`{"prompt":"a","ttl":` + strings.Repeat("9", 131072) + `}`, 413, "too_large"},
		"many fraction digits": {`{"prompt":"a","ttl":0.` + strings.Repeat("1", 60000) + `}`, 400, "malformed"},
		"depth":                {strings.Repeat("[", 60000), 400, "malformed"},
		"more depth":           {strings.Repeat("[", 100000), 413, "too_large"},
		"50 MB":                {strings.Repeat(" ", 50<<20), 413, "too_large"},
	} {
		p := h.problem(h.post(opsQuestions, c.body), c.status, c.code)
		if len(p.Errors) != 1 || p.Errors[0].Rule != schema.RuleJSON {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestEndlessBody is refused before it ends, which it never does.
func TestEndlessBody(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", h.url+opsQuestions, endless{})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.secret)
	res, err := h.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}

// endless is a body of spaces.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestAskRefusals asks every refused ask of the fixtures: the status follows the rule, the body names rule and place.
func TestAskRefusals(t *testing.T) {
	h := newHouse(t)
	raw, err := os.ReadFile("../../fixtures/api/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct {
		Refused []struct {
			Case      string
			Content   json.RawMessage
			RefusedBy string `json:"refused_by"`
			Expect    struct {
				Location string `json:"instance_location"`
				Keyword  string
			}
		}
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	cases := corpus["question-protocol-1.1/ask"].Refused
	if len(cases) == 0 {
		t.Fatal("no refused asks")
	}
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			h := *h
			h.T = t
			status, code := http.StatusUnprocessableEntity, "invalid_question"
			switch {
			case c.RefusedBy == "size":
				status, code = http.StatusRequestEntityTooLarge, "too_large"
			case strings.Contains(" type required anyOf ", " "+c.Expect.Keyword+" "):
				status, code = http.StatusBadRequest, "malformed"
			}
			p := h.problem(h.post(opsQuestions, string(c.Content)), status, code)
			if !hasFault(p, c.RefusedBy, c.Expect.Location, c.Expect.Keyword) {
				t.Errorf("%+v", p)
			}
		})
	}
	for body, at := range map[string]string{`{"prompt":"a\u0000"}`: "/prompt", `{"prompt":"a","options":["x","y\u0000"]}`: "/options/1"} {
		if p := h.problem(h.post(opsQuestions, body), http.StatusBadRequest, "malformed"); !hasFault(p, "nul", at, "nul") {
			t.Errorf("%+v", p)
		}
	}
	h.problem(h.post(opsQuestions, ""), http.StatusBadRequest, "malformed")
	if h.engine.stored() != 0 {
		t.Error("a refused ask was stored")
	}
}

func TestRefusalsNeverRepeatWhatWasSent(t *testing.T) {
	h := newHouse(t)
	for _, body := range []string{`{"prompt":"a","ttl":"TOPSECRET"}`, `{"prompt":"a","responder_scope":"TOPSECRET"}`, `{"prompt":"a","options":["TOPSECRET","TOPSECRET"]}`, `{"prompt":TOPSECRET}`} {
		if a := h.post(opsQuestions, body); strings.Contains(string(a.body), "TOPSECRET") || a.status < 400 {
			t.Errorf("%s: %s", body, a.body)
		}
	}
}

func TestList(t *testing.T) {
	h := newHouse(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, h.asked(fmt.Sprintf(`{"prompt":"%d","correlation_id":"c%d"}`, i, i%2)).ID)
	}
	h.engine.answer(ids[3], "approve")
	for query, want := range map[string]int{
		"": 5, "?state=pending": 4, "?state=answered": 1, "?state=expired": 0, "?state=": 5, "?correlation_id=c1": 2, "?correlation_id=": 0,
		"?state=pending&correlation_id=c1": 1, "?limit=2": 2, "?limit=0": 1, "?limit=-5": 1, "?limit=99999999999999999999": 5, "?cursor=3": 2,
	} {
		if got := len(h.page(query).Questions); got != want {
			t.Errorf("%q gives %d questions", query, got)
		}
	}
	page := h.page("?limit=3")
	if page.NextCursor == nil || page.Questions[0].ID != ids[4] {
		t.Fatalf("%+v", page)
	}
	if rest := h.page("?limit=3&cursor=" + url.QueryEscape(*page.NextCursor)); len(rest.Questions) != 2 || rest.NextCursor != nil {
		t.Errorf("%+v", rest)
	}
	for query, parameter := range map[string]string{
		"?state=open": "state", "?state=Pending": "state", "?limit=abc": "limit", "?limit=": "limit", "?limit=1.5": "limit",
		"?correlation_id=%00": "correlation_id", "?correlation_id=%ff": "correlation_id", "?cursor=%00": "cursor",
	} {
		p := h.problem(h.get("/api/agent/questions"+query), http.StatusBadRequest, "invalid_parameter")
		if !hasFault(p, "invalid_parameter", "", parameter) || !strings.HasPrefix(p.Detail, parameter) {
			t.Errorf("%s: %+v", query, p)
		}
	}
	h.problem(h.get("/api/agent/questions?limit=%zz"), http.StatusBadRequest, "invalid_parameter")
	h.problem(h.get("/api/agent/questions?cursor=nonsense"), http.StatusBadRequest, "invalid_cursor")
	if a := h.do("GET", "/api/agent/questions", h.token(httpapi.TokenTerms{Agent: "other", Rooms: []string{"*"}}), ""); string(a.body) != `{"questions":[],"next_cursor":null}`+"\n" {
		t.Errorf("another agent's list is %s", a.body)
	}
}

func (h *house) page(query string) schema.Questions {
	h.Helper()
	a := h.get("/api/agent/questions" + query)
	page, err := schema.Decode[schema.Questions](a.body)
	if err != nil || a.status != http.StatusOK {
		h.Fatalf("%s: %d %v %s", query, a.status, err, a.body)
	}
	return *page
}

func TestCancel(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	path := "/api/agent/questions/" + q.ID + "/cancel"
	first := h.post(path, "")
	if q := h.question(first, http.StatusOK); q.State != schema.Cancelled || q.CancelledBy != "asker" || q.Answer != nil || q.ResolvedAt == nil {
		t.Errorf("%+v", q)
	}
	if again := h.post(path, "{"); string(again.body) != string(first.body) {
		t.Errorf("cancelled again: %s", again.body)
	}
	answered := h.asked(`{"prompt":"Go?"}`)
	h.engine.answer(answered.ID, "deny")
	if q := h.question(h.post("/api/agent/questions/"+answered.ID+"/cancel", ""), http.StatusOK); q.State != schema.Answered || *q.Answer.Value != "deny" {
		t.Errorf("a settled question came back as %+v", q)
	}
}

// TestOnlyTheAskerSeesAQuestion has another agent try a right id and everybody a wrong one: both look the same.
func TestOnlyTheAskerSeesAQuestion(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	other := h.token(httpapi.TokenTerms{Agent: "other", Rooms: []string{"*"}})
	var seen string
	for _, id := range []string{q.ID, "q_doesnotexist", "%00", "%ff", strings.Repeat("x", 2000), "a%2Fb"} {
		for method, suffix := range map[string]string{"GET": "", "GET ": "/wait?timeout=0", "POST": "/cancel"} {
			a := h.do(strings.TrimSpace(method), "/api/agent/questions/"+id+suffix, other, "")
			h.problem(a, http.StatusNotFound, "question_not_found")
			if seen == "" {
				seen = string(a.body)
			}
			if string(a.body) != seen {
				t.Errorf("%s differs from %s", a.body, seen)
			}
		}
	}
	if q := h.question(h.get("/api/agent/questions/"+q.ID), http.StatusOK); q.State != schema.Pending {
		t.Errorf("%+v", q)
	}
}
