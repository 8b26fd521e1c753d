package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// A response that breaks its query is rejected with a receipt, and one that fits may follow; one that comes too late has
// expired.
func TestResponsesThatChangeNothing(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		q := h.opened().Query
		for reason, body := range map[string]string{
			"not_a_choice": response(q.QueryID, "1", `{"choice": "yes"}`), "wrong_format": response(q.QueryID, "1", `{"text": "approved"}`),
			"wrong_respondent": response(q.QueryID, "1", approves, byAgent...), "unfit_provenance": response(q.QueryID, "1", approves, `"mediated"`, `"direct"`),
		} {
			if r := h.receipt(h.submit(q, body), http.StatusUnprocessableEntity); r.Status != "rejected" || r.Reason != reason || r.QueryID != q.QueryID {
				t.Errorf("%s: %+v", reason, r)
			}
		}
		late := h.opened().Query
		h.clock.ahead.Store(int64(time.Hour))
		if r := h.receipt(h.submit(late, response(late.QueryID, "1", approves)), http.StatusGone); r.Status != "expired" || r.NextQuery != nil {
			t.Errorf("late %+v", r)
		}
		h.clock.ahead.Store(0)
		if r := h.receipt(h.submit(q, response(q.QueryID, "1", approves)), http.StatusOK); r.Status != "accepted" {
			t.Errorf("a fit one: %+v", r)
		}
	})
}

// Whoever has no capability of a query learns nothing of it, and each problem says whether to try again.
func TestResponsesRefused(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		q, other := h.opened().Query, h.opened().Query
		asked := h.opened(inOps...).Query
		none := string(gate.NewQueryID(time.Now()))
		own := collector.Key{7}
		post := func(query, secret, body string) answer { return h.do("POST", responsePath(query), secret, body) }
		refused := func(a answer, status int, code string) {
			t.Helper()
			if p := h.problem(a, status, code); p.Retryable == nil || *p.Retryable {
				t.Errorf("retryable: %s", a.body)
			}
		}
		wrong := post(q.QueryID, "wrong", response(q.QueryID, "1", approves))
		refused(wrong, http.StatusNotFound, "query_not_found")
		for name, a := range map[string]answer{
			"of another query":      post(q.QueryID, other.Delivery.Capability, response(q.QueryID, "1", approves)),
			"for no query":          post(none, q.Delivery.Capability, response(none, "1", approves)),
			"no query":              post(none, own.Capability(gate.QueryID(none)), response(none, "1", approves)),
			"asked in a room":       post(asked.QueryID, own.Capability(gate.QueryID(asked.QueryID)), response(asked.QueryID, "1", approves)),
			"nonsense":              post("%00", "wrong", "{"),
			"the agent's own token": post(q.QueryID, h.secret, response(q.QueryID, "1", approves)),
		} {
			if refused(a, http.StatusNotFound, "query_not_found"); string(a.body) != string(wrong.body) {
				t.Errorf("%s: %s, not %s", name, a.body, wrong.body)
			}
		}
		refused(post(q.QueryID, "", response(q.QueryID, "1", approves)), http.StatusUnauthorized, "unauthorized")
		for body, want := range map[string]struct {
			status int
			code   string
		}{
			"{":                                    {400, "malformed"},
			`{"queryId": "` + q.QueryID + `"}`:     {400, "malformed"},
			response(q.QueryID, "1", `{}`):         {400, "malformed"},
			response(q.QueryID, "x", approves):     {422, "invalid_response"},
			response(other.QueryID, "1", approves): {422, "invalid_response"},
			response(q.QueryID, "1", approves, "2026-07-30\", \"q", "2025-01-01\", \"q"): {422, "invalid_response"},
			strings.Repeat(" ", 70000): {413, "too_large"},
		} {
			refused(post(q.QueryID, q.Delivery.Capability, body), want.status, want.code)
		}
		if r := h.receipt(h.submit(q, response(q.QueryID, "1", declines)), http.StatusOK); r.Status != "accepted" {
			t.Errorf("after all that: %+v", r)
		}
	})
}

// One address responds at a pace, whatever it sends.
func TestPaceOfResponses(t *testing.T) {
	h := newGatehouse(t, sqlite(t), func(c *httpapi.Config, _ *collector.Parts, _ *bridge.Parts) {
		c.Limits.Response = httpapi.Pace{PerMinute: 1, Burst: 2}
	})
	q := h.opened().Query
	h.problem(h.do("POST", responsePath(q.QueryID), "wrong", "{"), http.StatusNotFound, "query_not_found")
	h.receipt(h.submit(q, response(q.QueryID, "1", approves)), http.StatusOK)
	a := h.submit(q, response(q.QueryID, "1", approves))
	h.tooMany(a, "rate_limited")
	if p := h.problem(a, http.StatusTooManyRequests, "rate_limited"); p.Retryable == nil || !*p.Retryable {
		t.Errorf("%s", a.body)
	}
}
