package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// An exchange whose approval another host asks: only the approval goes out, the capability once, and the receipt of an
// approving response has the follow-up (Approval and continuations, sections 1 to 3).
func TestGateForAnotherHost(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		a := h.do("POST", opsGates, h.secret, opening())
		g := h.gate(a, http.StatusCreated)
		if a.header.Get("Location") != gatePath+g.GateID || g.State != "open" || g.Ask != "return" || g.QuestionID != nil || g.Decisions != "off" || *g.CorrelationID != "run-7" {
			t.Errorf("opened %s", a.body)
		}
		q := g.Query
		if q.Type != "approval" || q.RequestedRespondent != "human" || q.Prompt != "May the provider receive a report?" || q.Instructions != "Ask exactly this." ||
			strings.Join(q.Response.Choices, " ") != "approved declined" || q.Subject != g.Subject || q.Timing != "immediate" ||
			q.Delivery != (schema.QueryDelivery{Binding: "https", Endpoint: "https://collector.example" + responsePath(q.QueryID), Capability: q.Delivery.Capability}) {
			t.Errorf("the approval query is %+v", q)
		}
		seen := h.fetched(g.GateID)
		if seen.Query.Delivery != (schema.QueryDelivery{Binding: "https"}) {
			t.Errorf("a fetch shows the delivery %+v", seen.Query.Delivery)
		}
		first := h.submit(q, response(q.QueryID, "1", approves))
		r := h.receipt(first, http.StatusOK)
		next := r.NextQuery
		if r.Status != "accepted" || next == nil || next.ContinuationOf != q.QueryID || next.Subject != q.Subject || next.Prompt != protected+"?" ||
			next.Type != "feedback" || next.RequestedRespondent != "agent" || next.Timing != "after_outcome_known" || next.Response.MaxLength != 10 {
			t.Fatalf("receipt %s", first.body)
		}
		if again := h.submit(q, response(q.QueryID, "1", approves)); again.status != first.status || string(again.body) != string(first.body) {
			t.Errorf("again %s\nfirst %s", again.body, first.body)
		}
		if r := h.receipt(h.submit(q, response(q.QueryID, "2", approves)), http.StatusOK); r.Status != "duplicate" || r.NextQuery != nil {
			t.Errorf("duplicate %+v", r)
		}
		if r := h.receipt(h.submit(q, response(q.QueryID, "3", declines)), http.StatusConflict); r.Status != "rejected" || r.Reason != "already_answered" {
			t.Errorf("another %+v", r)
		}
		if r := h.receipt(h.submit(q, response(q.QueryID, "1", declines)), http.StatusUnprocessableEntity); r.Reason != "response_conflict" {
			t.Errorf("other content %+v", r)
		}
		if g := h.fetched(g.GateID); g.State != "approved" || g.NextQuery != nil || *g.Provenance != "mediated" || g.Respondent.Kind != "human" || g.DecidedAt == nil {
			t.Errorf("approved %s", written(h, g))
		}
		if r := h.receipt(h.submit(*next, response(next.QueryID, "1", `{"text": "it went"}`, byAgent...)), http.StatusOK); r.Status != "accepted" || r.NextQuery != nil {
			t.Errorf("answered %+v", r)
		}
		if g := h.fetched(g.GateID); g.State != "answered" || *g.Answer.Text != "it went" || g.Answer.Respondent.Kind != "agent" || g.Answer.Provenance != "direct" {
			t.Errorf("answered %s", written(h, g))
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if got := strings.Join(h.news, " "); got != "gate.approved gate.answered" {
			t.Errorf("news %s", got)
		}
	})
}

// An exchange whose approval is asked in the room: the question is one like others, and whoever opened the gate waits for
// it and reads the continuation from it.
func TestGateInARoom(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		g := h.opened(inOps...)
		if g.QuestionID == nil || g.Query.Delivery.Capability != "" || g.Query.Delivery.Endpoint != "" {
			t.Fatalf("opened %s", written(h, g))
		}
		q := h.question(h.do("GET", "/api/agent/questions/"+*g.QuestionID, h.scoped("ci", "read"), ""), http.StatusOK)
		if q.Prompt != g.Query.Prompt || len(q.Options) != 2 || q.Options[0].Label != "approved" || q.Options[1].Label != "declined" || q.ExpiresAt != g.Query.ExpiresAt {
			t.Errorf("asked as %s", written(h, q))
		}
		waits := make(chan answer, 1)
		go func() { waits <- h.do("GET", gatePath+g.GateID+"?wait=30", h.secret, "") }()
		h.until(func() bool { return h.hub.Waiting() == 1 })
		h.answered(*g.QuestionID, "approved")
		g = h.gate(<-waits, http.StatusOK)
		next := g.NextQuery
		if g.State != "approved" || next == nil || next.ContinuationOf != g.Query.QueryID || next.Delivery.Capability == "" {
			t.Fatalf("approved %s", written(h, g))
		}
		go func() { waits <- h.do("GET", gatePath+g.GateID+"?wait=30&while=approved", h.secret, "") }()
		h.until(func() bool { return h.hub.Waiting() == 1 })
		h.receipt(h.submit(*next, response(next.QueryID, "1", `{"text": "fine"}`, byAgent...)), http.StatusOK)
		if g = h.gate(<-waits, http.StatusOK); g.State != "answered" || g.NextQuery != nil {
			t.Errorf("answered %s", written(h, g))
		}
		declined := h.opened(inOps...)
		h.answered(*declined.QuestionID, "declined")
		if g := h.gate(h.do("GET", gatePath+declined.GateID+"?wait=30", h.secret, ""), http.StatusOK); g.State != "declined" || g.NextQuery != nil {
			t.Errorf("declined %s", written(h, g))
		}
	})
}

// A wait ends with its time, and with the gate as it stands.
func TestGateWaitEnds(t *testing.T) {
	h := newGatehouse(t, sqlite(t))
	g := h.opened()
	for _, query := range []string{"?wait=1", "?wait=0", "", "?wait=30&while=approved", "?wait=-5"} {
		if got := h.gate(h.do("GET", gatePath+g.GateID+query, h.secret, ""), http.StatusOK); got.State != "open" {
			t.Errorf("%s: %s", query, got.State)
		}
	}
	for query, keyword := range map[string]string{"?wait=soon": "wait", "?while=declined": "while", "?wait=%zz": ""} {
		p := h.problem(h.do("GET", gatePath+g.GateID+query, h.secret, ""), http.StatusBadRequest, "invalid_parameter")
		if keyword != "" && !hasFault(p, "invalid_parameter", "", keyword) {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

// An agent lists its own gates, and reaches nobody else's.
func TestGatesAreTheAgentsOwn(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		one, two := h.opened(), h.opened(append(inOps, "run-7", "run-8")...)
		h.answered(*two.QuestionID, "approved")
		list := func(secret, query string) (ids []string) {
			page := documentOf[schema.Gates](h, h.do("GET", "/api/agent/gates"+query, secret, ""), http.StatusOK)
			for _, g := range page.Gates {
				if ids = append(ids, g.GateID); g.NextQuery != nil || g.Query.Delivery.Capability != "" {
					t.Errorf("a list shows a capability: %s", written(h, g))
				}
			}
			if page.NextCursor != nil {
				ids = append(ids, *page.NextCursor)
			}
			return ids
		}
		for query, want := range map[string]string{
			"": two.GateID + " " + one.GateID, "?state=approved": two.GateID, "?state=open": one.GateID, "?correlation_id=run-7": one.GateID, "?state=expired": "",
		} {
			if got := strings.Join(list(h.secret, query), " "); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		page := list(h.secret, "?limit=1")
		if len(page) != 2 || page[0] != two.GateID || list(h.secret, "?limit=1&cursor="+page[1])[0] != one.GateID {
			t.Errorf("pages %v", page)
		}
		other := h.scoped("other", httpapi.ScopeGate)
		if got := list(other, ""); len(got) != 0 {
			t.Errorf("another agent lists %v", got)
		}
		there := h.do("GET", gatePath+one.GateID, other, "")
		h.problem(there, http.StatusNotFound, "gate_not_found")
		if none := h.do("GET", gatePath+"g_none", other, ""); string(none.body) != string(there.body) {
			t.Errorf("%s\nand of none %s", there.body, none.body)
		}
		h.problem(h.do("GET", gatePath+"%00", h.secret, ""), http.StatusNotFound, "gate_not_found")
		h.problem(h.do("GET", "/api/agent/gates?state=pending", h.secret, ""), http.StatusBadRequest, "invalid_parameter")
		h.problem(h.do("GET", "/api/agent/gates?limit=few", h.secret, ""), http.StatusBadRequest, "invalid_parameter")
		h.problem(h.do("GET", "/api/agent/gates?cursor=nonsense", h.secret, ""), http.StatusBadRequest, "invalid_cursor")
		h.problem(h.do("GET", "/api/agent/gates?correlation_id=%00", h.secret, ""), http.StatusBadRequest, "invalid_parameter")
		h.problem(h.do("GET", "/api/agent/gates?x=%zz", h.secret, ""), http.StatusBadRequest, "invalid_parameter")
	})
}

// What does not open a gate, and why. No fault repeats what was sent, least of all what is protected.
func TestGateRefused(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		post := func(room, secret, body string) answer {
			return h.do("POST", "/api/agent/rooms/"+room+"/gates", secret, body)
		}
		for _, c := range []struct {
			body, code string
			status     int
			at         string
		}{
			{"{", "malformed", 400, ""},
			{opening(`"purpose": "feedback",`, ""), "malformed", 400, ""},
			{opening(`{"kind": "user", "id": "usr_pairwise_Q7c", "idScope": "pairwise"}`, `{"kind": "user", "id": "u", "idScope": "global"}`), "invalid_gate", 422, "/subject/idScope"},
			{opening(`"maxLength": 10`, `"maxLength": 4001`), "invalid_gate", 422, "/query/response/maxLength"},
			{opening(`"approval": {`, `"approval": {"ttl": 29, `), "invalid_gate", 422, "/approval/ttl"},
			{opening(`"type": "feedback"`, `"type": "approval"`), "invalid_gate", 422, "/query/requestedRespondent"},
			{opening(`"ask": "return"`, `"ask": "return", "decisions": "ask_once"`, "May the", strings.Repeat("x", 1960)+" May the"), "invalid_gate", 422, "/approval/prompt"},
			{opening(append(inOps, `"correlation_id"`, `"target_user_id": "@stranger:example.org", "correlation_id"`)...), "target_not_permitted", 422, "/target_user_id"},
			{opening("?", strings.Repeat("x", 70000)), "too_large", 413, ""},
		} {
			a := post("OPS", h.secret, c.body)
			p := h.problem(a, c.status, c.code)
			if c.at != "" && (len(p.Errors) == 0 || p.Errors[0].Location != c.at) {
				t.Errorf("%s: %+v", c.code, p)
			}
			if strings.Contains(string(a.body), "secret") || strings.Contains(string(a.body), "usr_") {
				t.Errorf("a refusal says %s", a.body)
			}
		}
		h.problem(post("DEV", h.secret, opening()), http.StatusForbidden, "room_not_granted")
		h.problem(post("NONE", h.secret, opening()), http.StatusNotFound, "room_not_found")
		h.problem(post("OPS", h.scoped("ci", "ask", "read"), opening()), http.StatusForbidden, "insufficient_scope")
		h.problem(h.keyed(opsGates, h.secret, opening(), "a", "b"), http.StatusBadRequest, "invalid_idempotency_key")
		everywhere := h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"#down:example.org"}, Scopes: []string{httpapi.ScopeGate}})
		h.problem(h.do("POST", opsGates, everywhere, opening()), http.StatusServiceUnavailable, "unavailable")
		for _, route := range exchanges[1:] {
			h.problem(h.do(route.method, route.path, h.scoped("ci", "ask", "read"), ""), http.StatusForbidden, "insufficient_scope")
		}
	})
}

// What comes again under its key opens one gate, and is given it whole, so that a lost response loses nothing.
func TestGateOpenedOnce(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		first := h.keyed(opsGates, h.secret, opening(), "key")
		g := h.gate(first, http.StatusCreated)
		again := h.keyed(opsGates, h.secret, opening(), "key")
		if h.gate(again, http.StatusOK); string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again %s\nfirst %s", again.body, first.body)
		}
		h.problem(h.keyed(opsGates, h.secret, opening("Provider", "Another"), "key"), http.StatusConflict, "idempotency_conflict")
		h.receipt(h.submit(g.Query, response(g.Query.QueryID, "1", declines)), http.StatusOK)
		if late := h.gate(h.keyed(opsGates, h.secret, opening(), "key"), http.StatusOK); late.State != "declined" || late.Query.Delivery.Capability != "" {
			t.Errorf("late %s", written(h, late))
		}
	})
}

// Without an address that responses can be posted to, no gate is opened.
func TestGatesOff(t *testing.T) {
	h := newGatehouse(t, sqlite(t), func(_ *httpapi.Config, p *collector.Parts, _ *bridge.Parts) { p.Endpoint = nil })
	h.problem(h.do("POST", opsGates, h.secret, opening()), http.StatusForbidden, "gates_off")
}

// A gate counts against the paces of its agent and room, and its question against their quotas.
func TestGatesArePaced(t *testing.T) {
	h := newGatehouse(t, sqlite(t), func(c *httpapi.Config, _ *collector.Parts, e *bridge.Parts) {
		c.Limits.Room = httpapi.Pace{PerMinute: 1, Burst: 2}
		e.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1} }
	})
	h.opened(inOps...)
	h.tooMany(h.do("POST", opsGates, h.secret, opening(inOps...)), "quota_exceeded")
	h.tooMany(h.do("POST", opsGates, h.secret, opening()), "rate_limited")
}

// unanswerable is a room that nobody could answer in.
type unanswerable struct{ *people }

func (unanswerable) Supports(context.Context, bridge.ConversationID) error {
	return &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: "the bot has not joined the room"}
}

// Where a question cannot be asked, there is no gate.
func TestGateInNoRoom(t *testing.T) {
	h := newGatehouse(t, sqlite(t), func(_ *httpapi.Config, _ *collector.Parts, e *bridge.Parts) {
		e.Channel = unanswerable{e.Channel.(*people)}
	})
	h.problem(h.do("POST", opsGates, h.secret, opening(inOps...)), http.StatusConflict, "room_unanswerable")
	if page := documentOf[schema.Gates](h, h.do("GET", "/api/agent/gates", h.secret, ""), http.StatusOK); len(page.Gates) != 0 {
		t.Errorf("there is %+v", page.Gates)
	}
}

// slowGates is a database that does not answer in time.
type slowGates struct{ collector.Store }

func (slowGates) Gate(context.Context, bridge.AgentID, collector.GateID) (collector.Gate, error) {
	return collector.Gate{}, context.DeadlineExceeded
}

func (slowGates) ListGates(context.Context, collector.Listing) ([]collector.Gate, string, error) {
	return nil, "", context.DeadlineExceeded
}

// A database that fails is no gate's fault: it is said so, and that is all.
func TestGatesWithoutADatabase(t *testing.T) {
	busy := newGatehouse(t, sqlite(t), func(_ *httpapi.Config, p *collector.Parts, _ *bridge.Parts) { p.Store = slowGates{p.Store} })
	for _, route := range exchanges[1:] {
		busy.problem(busy.do(route.method, route.path, busy.secret, ""), http.StatusServiceUnavailable, "unavailable")
	}
	h := newGatehouse(t, sqlite(t))
	q := h.opened().Query
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, route := range exchanges {
		h.problem(h.do(route.method, route.path, h.secret, opening()), http.StatusInternalServerError, "internal")
	}
	p := h.problem(h.submit(q, response(q.QueryID, "1", approves)), http.StatusServiceUnavailable, "unavailable")
	if p.Retryable == nil || !*p.Retryable || p.RetryAfter < 1 {
		t.Errorf("%+v", p)
	}
	if strings.Contains(h.log.String(), "secret") {
		t.Error("the log has what is protected")
	}
}
