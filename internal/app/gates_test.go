package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// collectorAt is where a bridge under test says that it is reached by https.
const collectorAt = "https://collector.example.org"

const opsGates = "/api/agent/rooms/OPS/gates"

// gateOpening opens a gate whose approval is asked in the room, or returned.
func gateOpening(ask string) string {
	return fmt.Sprintf(`{"requester":"Provider","purpose":"feedback","subject":{"kind":"user","id":"usr_pairwise_Q7c","idScope":"pairwise"},
		"approval":{"prompt":"May the provider receive a report?"},"ask":%q,
		"query":{"type":"feedback","prompt":"How did it go?","requestedRespondent":"agent","timing":"after_outcome_known","response":{"format":"text","maxLength":700}}}`, ask)
}

// approvalOfQuery is a person's approval, through another host.
func approvalOfQuery(id string) string {
	return fmt.Sprintf(`{"protocolVersion":"2026-07-30","queryId":%q,"responseId":"0198c7d0-2180-7729-b005-d33c99fc7452","respondent":{"kind":"human"},
		"provenance":"mediated","answer":{"choice":"approved"},"respondedAt":"2026-07-30T17:05:13Z"}`, id)
}

// opened opens a gate in the room OPS.
func (s *served) opened(token, ask string) schema.Gate {
	s.t.Helper()
	r := s.call(call{method: http.MethodPost, path: opsGates, token: token, body: gateOpening(ask)})
	var g schema.Gate
	if err := json.Unmarshal([]byte(r.body), &g); err != nil || r.status != http.StatusCreated {
		s.t.Fatalf("a gate is answered with %d: %s", r.status, r.body)
	}
	return g
}

// gateEvents are what a webhook may be told of gates.
var gateEvents = []string{"gate.approved", "gate.declined", "gate.expired", "gate.answered", "gate.withheld"}

// TestGatesOnTheServer: a gate goes from the room to its continuation and that to its answer, silence expires one at its
// deadline, and the room's webhooks hear of each move, as /openapi.json describes it, without what was asked.
func TestGatesOnTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		came, hook := newHook(t, gateEvents...)
		s := serve(t, arrangement{database: d, configure: func(cfg *config.Config) {
			hook(cfg)
			cfg.API.PublicURL = collectorAt
		}})
		gates := s.grant(Grant{Agent: "collects", Rooms: []string{"*"}, Scopes: []string{httpapi.ScopeGate}})
		g := s.opened(gates, "room")
		s.call(call{method: http.MethodPost, path: "/api/questions/" + *g.QuestionID + "/answer", token: s.person(dana), body: `{"value":"approved"}`})
		g = s.gate(gates, g.GateID)
		next := *g.NextQuery
		said := strings.NewReplacer(`{"choice":"approved"}`, `{"text":"Well."}`, `"human"`, `"agent"`, `"mediated"`, `"direct"`).Replace(approvalOfQuery(next.QueryID))
		waits := make(chan schema.Gate, 1)
		go func() { waits <- s.gate(gates, g.GateID+"?wait=30&while=approved") }()
		for s.hub.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		r := s.call(call{method: http.MethodPost, path: strings.TrimPrefix(next.Delivery.Endpoint, collectorAt), token: next.Delivery.Capability, body: said})
		if r.status != http.StatusOK {
			t.Errorf("the continuation's answer: %d %s", r.status, r.body)
		}
		select {
		case g = <-waits:
		case <-time.After(10 * time.Second): // it would look again by itself after 15 s
			t.Fatal("nobody wakes who waits for the gate")
		}
		if g.State != "answered" || *g.Answer.Text != "Well." {
			t.Errorf("answered as %+v", g)
		}
		silent := s.opened(gates, "return")
		if _, err := s.store.Database().Exec(t.Context(), `UPDATE gates SET due = 1 WHERE id = $1`, silent.GateID); err != nil {
			t.Fatal(err)
		}
		s.sweeper.Deadline(time.Time{})
		for _, want := range []string{"gate.approved", "gate.answered", "gate.expired"} {
			event := (<-came).Body
			if !strings.Contains(event, `"event":"`+want+`"`) || strings.Contains(event, "How did it go") || strings.Contains(event, "May the provider") || strings.Contains(event, "usr_") {
				t.Errorf("told %s, not of %s alone", event, want)
			}
			var document schema.GateEvent
			if err := json.Unmarshal([]byte(event), &document); err != nil || document.Room.Code == nil || *document.Room.Code != "OPS" || document.Asker != "collects" {
				t.Errorf("told %s", event)
			}
		}
		if got := s.gate(gates, silent.GateID); got.State != "expired" {
			t.Errorf("silence is %s", got.State)
		}
	})
}

func (s *served) gate(token, id string) schema.Gate {
	s.t.Helper()
	r := s.call(call{method: http.MethodGet, path: "/api/agent/gates/" + id, token: token})
	g, err := schema.Decode[schema.Gate]([]byte(r.body))
	if err != nil || r.status != http.StatusOK {
		s.t.Fatalf("a gate: %d %s %v", r.status, r.body, err)
	}
	return *g
}

// TestKilledBetweenAcceptanceAndReceipt kills the bridge when a response is accepted and its receipt is not sent: sent again
// after the restart, it gets the receipt of then, whose follow-up can be answered, and another answer is too late.
func TestKilledBetweenAcceptanceAndReceipt(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := newStageOf(t, func(cfg *config.Config) { cfg.Database, cfg.API.PublicURL = d, collectorAt })
		came := s.withWebhook(gateEvents...)
		token := s.granted("collects", httpapi.ScopeGate)
		api := caller{t, s.api, http.DefaultClient}
		s.start("response")
		opened := api.call(s.ctx, call{method: http.MethodPost, path: opsGates, token: token, body: gateOpening("return")})
		var g schema.Gate
		s.ok(json.Unmarshal([]byte(opened.body), &g))
		at, secret := strings.TrimPrefix(g.Query.Delivery.Endpoint, collectorAt), g.Query.Delivery.Capability
		approval := call{method: http.MethodPost, path: at, token: secret, body: approvalOfQuery(g.Query.QueryID)}
		req, err := http.NewRequestWithContext(s.ctx, approval.method, s.api+approval.path, strings.NewReader(approval.body))
		s.ok(err)
		req.Header.Set("Authorization", "Bearer "+secret)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Fatalf("the dying bridge answers with %d", resp.StatusCode)
		}
		s.gone()
		s.start("")
		first, again := api.call(s.ctx, approval), api.call(s.ctx, approval)
		receipt, err := schema.Decode[schema.Receipt]([]byte(first.body))
		if err != nil || receipt.Status != "accepted" || receipt.NextQuery == nil || again.body != first.body {
			t.Fatalf("after the restart %d %s\nand again %s", first.status, first.body, again.body)
		}
		approval.body = strings.NewReplacer("approved", "declined", "fc7452", "fc7453").Replace(approval.body)
		if late := api.call(s.ctx, approval); late.status != http.StatusConflict {
			t.Errorf("another answer: %d %s", late.status, late.body)
		}
		if event := s.hooked(came).Body; !strings.Contains(event, `"event":"gate.approved"`) {
			t.Errorf("told %s", event)
		}
		next := receipt.NextQuery
		said := strings.NewReplacer(`{"choice":"approved"}`, `{"text":"Well."}`, `"human"`, `"agent"`, `"mediated"`, `"direct"`).Replace(approvalOfQuery(next.QueryID))
		if r := api.call(s.ctx, call{method: http.MethodPost, path: strings.TrimPrefix(next.Delivery.Endpoint, collectorAt), token: next.Delivery.Capability, body: said}); r.status != http.StatusOK {
			t.Errorf("the follow-up: %d %s", r.status, r.body)
		}
		if event := s.hooked(came).Body; !strings.Contains(event, `"event":"gate.answered"`) {
			t.Errorf("told %s", event)
		}
	})
}

// mute dies once the API has answered on a path, before anybody hears it.
func mute(path string) func(http.Handler) http.Handler {
	return func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, path) {
				api.ServeHTTP(w, r)
				return
			}
			api.ServeHTTP(httptest.NewRecorder(), r)
			_ = die()
		})
	}
}

// The sweep sleeps until the next deadline, whether it is a question's or a gate's.
func TestNextDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := serve(t, arrangement{database: d, configure: func(cfg *config.Config) { cfg.API.PublicURL = collectorAt }})
		next := func(want schema.Timestamp) {
			t.Helper()
			at, ok, err := s.sweeper.Deadlines.NextDeadline(t.Context())
			if stands, failed := want.Time(); err != nil || failed != nil || !ok || !at.Truncate(time.Second).Equal(stands) {
				t.Errorf("the next deadline is %s, %t, %v, not %s", at, ok, err, want)
			}
		}
		if at, ok, err := s.sweeper.Deadlines.NextDeadline(t.Context()); ok || err != nil {
			t.Errorf("with nothing open there is %s, %v", at, err)
		}
		late := s.ask(s.token, `{"prompt":"Go?","ttl":7200}`)
		next(late.ExpiresAt)
		next(s.opened(s.grant(Grant{Agent: "collects", Rooms: []string{"*"}, Scopes: []string{httpapi.ScopeGate}}), "return").Query.ExpiresAt)
		next(s.ask(s.token, `{"prompt":"Go now?","ttl":1800}`).ExpiresAt)
	})
}
