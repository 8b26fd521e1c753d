package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// statuses is what every code of the domain becomes; a new code without a row fails the test.
var statuses = map[string]int{
	"question_not_found": 404, "room_not_found": 404, "room_not_granted": 403, "room_unanswerable": 409,
	"elicitation_conflict": 409, "subject_conflict": 409, "idempotency_conflict": 409, "target_not_permitted": 422, "invalid_question": 422,
	"invalid_cursor": 400, "quota_exceeded": 429, "not_eligible": 403, "admins_only": 403, "input_not_invited": 422, "question_removed": 409, "invalid_option": 422, "text_not_invited": 422, "text_too_long": 422,
	"comment_missing": 422, "input_missing": 422, "input_invalid": 422, "unsupported": 422, "preview_incomplete": 409,
	"subject_lapsed": 409, "subject_mismatch": 409, "not_by_reply": 422, "structured_invalid": 422,
	"out_of_range": 422, "ambiguous": 422, "not_text": 422, "unreadable": 422, "device_untrusted": 422,
	"weak_sign_in": 403, "server_not_listed": 403, "openid_token_refused": 401,
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	h := newHouse(t)
	h.pretends.Store(true)
	for _, code := range domainCodes(t) {
		want, ok := statuses[code]
		if !ok {
			t.Errorf("no status is written down for %s", code)
			continue
		}
		h.engine.set(func(m *memory) {
			m.fail = fmt.Errorf("ask: %w", &bridge.Error{Code: bridge.Code(code), Field: "/prompt", Reason: "the room is on fire"})
		})
		p := h.problem(h.post(opsQuestions, `{"prompt":"Go?"}`), want, code)
		if p.Detail != "The room is on fire." || !hasFault(p, code, "/prompt", code) {
			t.Errorf("%+v", p)
		}
	}
}

func domainCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../bridge/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Code" {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) < 20 {
		t.Fatalf("found only the codes %q", codes)
	}
	return codes
}

func TestInternalErrorsAreLoggedAndNotShown(t *testing.T) {
	h := newHouse(t)
	for name, fail := range map[string]error{
		"an error":          errors.New("SELECT * FROM secrets"),
		"an unknown code":   &bridge.Error{Code: "house_rules", Reason: "SELECT * FROM secrets"},
		"somebody's cancel": fmt.Errorf("SELECT * FROM secrets: %w", context.Canceled),
	} {
		h.engine.set(func(m *memory) { m.fail = fail })
		a := h.post(opsQuestions, `{"prompt":"the text of the question"}`)
		p := h.problem(a, http.StatusInternalServerError, "internal")
		id, ok := strings.CutPrefix(p.Instance, "urn:question-bridge:request:")
		if !ok || strings.Contains(string(a.body), "SELECT") {
			t.Errorf("%s: %s", name, a.body)
		}
		if log := h.log.String(); !strings.Contains(log, "SELECT * FROM secrets") || !strings.Contains(log, id) {
			t.Errorf("%s: log %s", name, log)
		}
	}
	if log := h.log.String(); strings.Contains(log, "the text of the question") || strings.Contains(log, h.secret) {
		t.Errorf("the log tells too much: %s", log)
	}
}

// Every route for agents and people says that it failed, or that it may work soon, or that there is no such question.
func TestEveryRouteFailsAlike(t *testing.T) {
	h := newHouse(t)
	id := h.asked(`{"prompt":"Go?"}`).ID
	for _, f := range []struct {
		fail   error
		status int
		code   string
		ofOne  bool // only where one question is named
	}{
		{errors.New("disk full"), http.StatusInternalServerError, "internal", false},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable", false},
		{&bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such question"}, http.StatusNotFound, "question_not_found", true},
	} {
		h.engine.set(func(m *memory) { m.fail = f.fail })
		for _, g := range append(guarded, personal...) {
			secret, body := h.secret, `{"prompt":"Go?"}`
			if strings.HasPrefix(g.path, "/api/questions") {
				secret, body = h.dana, `{"value":"approve"}`
			}
			if path := strings.Replace(g.path, "q_1", id, 1); !f.ofOne || path != g.path {
				h.problem(h.do(g.method, path, secret, body), f.status, f.code)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	h := newHouse(t)
	h.engine.set(func(m *memory) { m.panics = true })
	a := h.post(opsQuestions, `{"prompt":"Go?"}`)
	if p := h.problem(a, http.StatusInternalServerError, "internal"); p.Instance == "" || strings.Contains(string(a.body), "house") {
		t.Errorf("%s", a.body)
	}
	h.until(func() bool { return strings.Contains(h.log.String(), "Request panicked") })
	if log := h.log.String(); strings.Contains(log, "the secret of the house") || !strings.Contains(log, "problem_test.go") && !strings.Contains(log, "fake_test.go") {
		t.Errorf("the log tells what panicked, or not where: %s", log)
	}
	h.question(h.do("GET", "/api/agent/questions/"+h.unpanicked().ID, h.secret, ""), http.StatusOK)
}

func (h *house) unpanicked() (q struct{ ID string }) {
	h.engine.set(func(m *memory) { m.panics, m.fail = false, nil })
	q.ID = h.asked(`{"prompt":"Go?"}`).ID
	return q
}

func TestUnmatchedRequests(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/", "/api", "/api/agent/rooms/OPS", "/api/agent/questions/q/answers", "/api/agent/questions/q/wait/x", "/favicon.ico", "/api/agent/questions/"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			h.problem(h.do(method, path, h.secret, ""), http.StatusNotFound, "not_found")
		}
	}
	for _, path := range []string{
		"/api/agent/questions//wait?timeout=20", "/api/agent/questions//cancel", "/api/agent/rooms//questions", "//healthz",
		"/api/agent/rooms/OPS/../OPS/questions", "/api/agent/./questions", "/api/agent/rooms/../questions",
		"/api/questions//answer", "/api/questions/",
	} { // which a redirect would answer, and with another resource
		for _, method := range []string{"GET", "POST"} {
			h.problem(h.do(method, path, h.secret, `{"prompt":"Go?"}`), http.StatusNotFound, "not_found")
		}
	}
	for path, allow := range map[string]string{
		opsQuestions: "POST", "/api/agent/questions": "GET, HEAD", "/api/agent/questions/q": "GET, HEAD",
		"/api/agent/questions/q/wait": "GET, HEAD", "/api/agent/questions/q/cancel": "POST",
		"/api/questions/pending": "GET, HEAD", "/api/questions/q": "GET, HEAD", "/api/questions/q/answer": "POST", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD",
	} {
		for _, method := range []string{"DELETE", "PUT", "PATCH"} {
			a := h.do(method, path, h.secret, "")
			h.problem(a, http.StatusMethodNotAllowed, "method_not_allowed")
			if a.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow %q", method, path, a.header.Get("Allow"))
			}
		}
	}
}

func TestHealth(t *testing.T) {
	var broken error
	h := newHouse(t, func(c *httpapi.Config, _ *http.Server) {
		c.Checks = []httpapi.Check{
			{Name: "database", Run: func(context.Context) error { return nil }},
			{Name: "homeserver", Run: func(context.Context) error { return broken }},
		}
	})
	if a := h.do("GET", "/healthz", "", ""); a.status != http.StatusOK || string(a.body) != `{"status":"ok"}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.do("GET", "/readyz", "", ""); a.status != http.StatusOK || string(a.body) != `{"checks":{"database":"ok","homeserver":"ok"},"status":"ready"}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	broken = errors.New("dial tcp 10.0.0.1:8008: connection refused")
	a := h.do("GET", "/readyz", "", "")
	p := h.problem(a, http.StatusServiceUnavailable, "not_ready")
	if len(p.Errors) != 1 || !hasFault(p, "not_ready", "", "homeserver") || strings.Contains(string(a.body), "10.0.0.1") {
		t.Errorf("%s", a.body)
	}
	if log := h.log.String(); !strings.Contains(log, "10.0.0.1") || strings.Contains(log, "Request failed") {
		t.Errorf("log %s", log)
	}
	if a := h.do("GET", "/healthz", "", ""); a.status != http.StatusOK {
		t.Errorf("not alive because not ready: %d", a.status)
	}
}
