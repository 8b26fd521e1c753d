package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// gatehouse is a house with a collector of gated exchanges over a database, and an agent that may open them.
type gatehouse struct {
	*manor
	gated  *collector.Collector
	secret string // of agent ci, with the scope gate alone
	mu     sync.Mutex
	news   []string
}

const (
	opsGates = "/api/agent/rooms/OPS/gates"
	gatePath = "/api/agent/gates/"
)

// exchanges are the routes of the collector that take an agent's token.
var exchanges = []struct{ method, path string }{{"POST", opsGates}, {"GET", "/api/agent/gates"}, {"GET", gatePath + "g_1"}}

func newGatehouse(t *testing.T, database sqlstore.Config, change ...func(*httpapi.Config, *collector.Parts, *bridge.Parts)) *gatehouse {
	t.Helper()
	h := &gatehouse{}
	h.manor = newManorOn(t, database, func(p plan) {
		parts := collector.Parts{
			Store: p.store, Announcer: h, Clock: p.engine.Clock, Key: collector.Key{7}, Rooms: h,
			Endpoint: func(id gate.QueryID) string { return "https://collector.example" + responsePath(string(id)) },
			Changed:  func(g collector.Gate) { p.api.Hub.Notify(g.Woken()) },
		}
		for _, c := range change {
			c(p.api, &parts, p.engine)
		}
		h.gated = collector.New(parts)
		p.api.Gates, p.engine.Features = h.gated, []bridge.Feature{h.gated}
	})
	h.secret = h.scoped("ci", httpapi.ScopeGate)
	return h
}

func responsePath(query string) string { return "/api/queries/" + query + "/responses" }

// AskWith implements collector.Rooms before there is an engine.
func (h *gatehouse) AskWith(ctx context.Context, q bridge.Question, with func(context.Context, bridge.Question) error) (bridge.Question, bool, error) {
	return h.engine.AskWith(ctx, q, with)
}

// Announce implements bridge.Announcer.
func (h *gatehouse) Announce(_ context.Context, a bridge.Announcement) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.news = append(h.news, a.Event)
	return nil
}

// inGatehouses runs a test over each database.
func inGatehouses(t *testing.T, f func(h *gatehouse)) {
	eachDatabase(t, func(t *testing.T, database sqlstore.Config) { f(newGatehouse(t, database)) })
}

// protected is what nobody may see before approval.
const protected = "How did the secret outcome go"

// opening opens a gate; changes replace parts of it.
func opening(changes ...string) string {
	body := `{"requester": "Provider", "purpose": "feedback", "subject": {"kind": "user", "id": "usr_pairwise_Q7c", "idScope": "pairwise"},
		"approval": {"prompt": "May the provider receive a report?", "instructions": "Ask exactly this."},
		"query": {"type": "feedback", "prompt": "` + protected + `?", "instructions": "Tell nobody of the secret.", "requestedRespondent": "agent",
			"timing": "after_outcome_known", "response": {"format": "text", "maxLength": 10}},
		"ask": "return", "correlation_id": "run-7"}`
	return strings.NewReplacer(changes...).Replace(body)
}

var inOps = []string{`"ask": "return"`, `"ask": "room"`}

// opened opens a gate and gives it.
func (h *gatehouse) opened(changes ...string) schema.Gate {
	h.Helper()
	return h.gate(h.do("POST", opsGates, h.secret, opening(changes...)), http.StatusCreated)
}

func (h *gatehouse) gate(a answer, status int) schema.Gate {
	h.Helper()
	return *documentOf[schema.Gate](h, a, status)
}

func (h *gatehouse) fetched(id string) schema.Gate {
	h.Helper()
	return h.gate(h.do("GET", gatePath+id, h.secret, ""), http.StatusOK)
}

func (h *gatehouse) receipt(a answer, status int) schema.Receipt {
	h.Helper()
	r := *documentOf[schema.Receipt](h, a, status)
	if r.Retryable {
		h.Errorf("a receipt asks for another try: %s", a.body)
	}
	return r
}

func documentOf[T any, P interface {
	*T
	schema.Document
}](h *gatehouse, a answer, status int) *T {
	h.Helper()
	document, err := schema.Decode[T, P](a.body)
	if err != nil || a.status != status || a.header.Get("Content-Type") != "application/json" {
		h.Fatalf("%d %s %v", a.status, a.body, err)
	}
	return document
}

// response words one; the id is made of a number.
func response(query string, n string, answer string, changes ...string) string {
	body := `{"protocolVersion": "2026-07-30", "queryId": "` + query + `", "responseId": "0198c7d0-2180-7729-b005-d33c99fc745` + n + `",
		"respondent": {"kind": "human"}, "provenance": "mediated", "answer": ` + answer + `, "respondedAt": "2026-07-30T17:05:13Z"}`
	return strings.NewReplacer(changes...).Replace(body)
}

const (
	approves = `{"choice": "approved"}`
	declines = `{"choice": "declined"}`
)

// byAgent makes it an agent's own.
var byAgent = []string{`"human"`, `"agent"`, `"mediated"`, `"direct"`}

// submit posts a response to a query that was given out.
func (h *gatehouse) submit(q schema.Query, body string) answer {
	h.Helper()
	return h.do("POST", strings.TrimPrefix(q.Delivery.Endpoint, "https://collector.example"), q.Delivery.Capability, body)
}

func written(h *gatehouse, value any) string {
	h.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		h.Fatal(err)
	}
	return string(raw)
}
