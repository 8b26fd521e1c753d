package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// striped is a word in every part of what is protected, and nowhere else.
const striped = "zebra"

// zebras opens a gate about two of them: its protected query has a type, texts and choices, and the approval has none of it.
func zebras(ask, more string) string {
	return fmt.Sprintf(`{"requester":"Provider","purpose":"feedback","subject":{"kind":"user","id":"usr_pairwise_Q7c","idScope":"pairwise"},
		"approval":{"prompt":"May the provider ask about something?"},"ask":%q%s,
		"query":{"type":"zebra_report","prompt":"How was the zebra?","instructions":"Feed the zebra.","requestedRespondent":"agent",
			"timing":"after_outcome_known","response":{"format":"choice","choices":["a tame zebra","a wild zebra"]}}}`, ask, more)
}

// disclosing is a bridge that is watched for zebras.
type disclosing struct {
	*served
	gates  string // the token that opens gates
	tokens []string
	wires  *logBook // everything that it logs, and says in rooms
	told   <-chan hooked
	audit  string          // the file
	seen   strings.Builder // what its API and its webhooks have said
}

// TestNothingIsDisclosedBeforeApproval: with exchanges open, declined, withdrawn and withheld, no endpoint, webhook, log line
// or message in the room has anything of what they protect, whoever asks and whatever is refused (Approval and
// continuations, sections 1 and "Decline and silence"). Once a person approves, whoever opened the gate reads it, and
// still nobody else does.
func TestNothingIsDisclosedBeforeApproval(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := newDisclosing(t, d)
		var all []schema.Gate
		for _, c := range []struct{ ask, more, key string }{
			{"room", "", "one"}, {"return", "", "two"}, {"room", `,"decisions":"ask_once"`, ""}, {"return", `,"decisions":"ask_always"`, ""},
			{"room", `,"decisions":"never_ask"`, ""}, {"room", `,"correlation_id":"declined"`, ""}, {"room", `,"correlation_id":"withdrawn"`, ""},
		} {
			all = append(all, s.zebra(c.ask, c.more, c.key))
			if c.key != "" {
				s.call(call{method: http.MethodPost, path: opsGates, token: s.gates, body: zebras(c.ask, c.more), key: c.key})
				s.call(call{method: http.MethodPost, path: opsGates, token: s.gates, body: zebras(c.ask, `,"correlation_id":"x"`), key: c.key})
			}
		}
		s.answer(*all[5].QuestionID, "declined")
		s.call(call{method: http.MethodPost, path: "/api/agent/questions/" + *all[6].QuestionID + "/cancel", token: s.gates})
		s.hears("gate.withheld", "gate.declined", "question.answered", "gate.withheld", "question.cancelled")
		s.looksEverywhere(all)
		s.isRefused(all)
		s.nothing("before approval")

		s.answer(*all[0].QuestionID, "approved")
		s.hears("gate.approved", "question.answered")
		r := s.call(call{method: http.MethodGet, path: "/api/agent/gates/" + all[0].GateID, token: s.gates})
		var g schema.Gate
		if err := json.Unmarshal([]byte(r.body), &g); err != nil || g.NextQuery == nil || g.NextQuery.Prompt != "How was the zebra?" || strings.Join(g.NextQuery.Response.Choices, ",") != "a tame zebra,a wild zebra" {
			t.Errorf("after approval its opener reads %s", r.body)
		}
		s.seen.Reset() // what it reads itself
		s.looksEverywhere(all[1:])
		s.nothing("after the approval of another")
	})
}

func newDisclosing(t *testing.T, d config.Database) *disclosing {
	t.Helper()
	told, hook := newHook(t, config.WebhookEvents...)
	s := &disclosing{told: told, wires: &logBook{}, audit: filepath.Join(t.TempDir(), "audit.jsonl")}
	s.served = serve(t, arrangement{database: d, wires: s.wires, configure: func(cfg *config.Config) {
		hook(cfg)
		cfg.API.PublicURL, cfg.Audit.File = collectorAt, s.audit
	}})
	s.gates = s.grant(Grant{Agent: "collects", Rooms: []string{"*"}, Scopes: httpapi.Scopes()})
	s.tokens = []string{s.gates, s.token, s.grant(Grant{Agent: "other", Rooms: []string{"*"}, Scopes: httpapi.Scopes()}), s.person(dana), ""}
	return s
}

// call keeps what was answered.
func (s *disclosing) call(c call) reply {
	s.t.Helper()
	r := s.served.call(c)
	fmt.Fprintf(&s.seen, "%s %s is answered with %d %v %s\n", c.method, c.path, r.status, r.header, r.body)
	return r
}

func (s *disclosing) zebra(ask, more, key string) schema.Gate {
	s.t.Helper()
	r := s.call(call{method: http.MethodPost, path: opsGates, token: s.gates, body: zebras(ask, more), key: key})
	var g schema.Gate
	if err := json.Unmarshal([]byte(r.body), &g); err != nil || r.status != http.StatusCreated {
		s.t.Fatalf("a gate is answered with %d: %s", r.status, r.body)
	}
	return g
}

func (s *disclosing) answer(question, choice string) {
	s.t.Helper()
	r := s.call(call{method: http.MethodPost, path: "/api/questions/" + question + "/answer", token: s.tokens[3], body: fmt.Sprintf(`{"value":%q}`, choice)})
	if r.status != http.StatusOK {
		s.t.Fatalf("an answer: %d %s", r.status, r.body)
	}
}

// hears waits for webhook events, in any order.
func (s *disclosing) hears(events ...string) {
	s.t.Helper()
	for len(events) > 0 {
		select {
		case h := <-s.told:
			var event struct{ Event string }
			s.ok(json.Unmarshal([]byte(h.Body), &event))
			at := slices.Index(events, event.Event)
			if at < 0 {
				s.t.Fatalf("told of %s, not of %v", h.Body, events)
			}
			events = slices.Delete(events, at, at+1)
			fmt.Fprintf(&s.seen, "a webhook is told %s\n", h.Body)
		case <-time.After(30 * time.Second):
			s.t.Fatalf("nobody is told of %v", events)
		}
	}
}

// looksEverywhere reads every route there is to read, with every kind of token, about every id that there is.
func (s *disclosing) looksEverywhere(gates []schema.Gate) {
	s.t.Helper()
	looked := 0
	for _, pattern := range httpapi.Routes() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodGet {
			continue
		}
		for _, token := range s.tokens {
			if !strings.Contains(path, "{id}") {
				for _, query := range []string{"", "?limit=200", "?room=OPS", "?state=open", "?correlation_id=declined"} {
					s.call(call{method: method, path: path + query, token: token})
				}
				continue
			}
			for _, g := range gates {
				for _, id := range []string{g.GateID, g.Query.QueryID, value(g.QuestionID)} {
					s.call(call{method: method, path: strings.Replace(path, "{id}", id, 1) + "?timeout=0&wait=0", token: token})
					looked++
				}
			}
		}
	}
	if looked < 100 {
		s.t.Errorf("only %d documents were looked at", looked)
	}
}

func value(text *string) string {
	if text == nil {
		return "none"
	}
	return *text
}

// isRefused does what is refused: responses that break an approval, that lack its capability, and gates whose protected
// query breaks a rule.
func (s *disclosing) isRefused(gates []schema.Gate) {
	s.t.Helper()
	for _, g := range gates {
		for _, secret := range []string{g.Query.Delivery.Capability, "wrong"} {
			for _, body := range []string{"{", `{}`, strings.Replace(approvalOfQuery(g.Query.QueryID), "approved", "maybe", 1)} {
				s.call(call{method: http.MethodPost, path: "/api/queries/" + g.Query.QueryID + "/responses", token: secret, body: body})
			}
		}
	}
	for _, broken := range []struct{ from, to string }{
		{`"zebra_report"`, `"zebra report"`}, {`"How was the zebra?"`, `"zebra` + strings.Repeat("x", 2000) + `"`}, {`"a wild zebra"`, `"a tame zebra"`},
		{`"a wild zebra"`, `"a \u0000 zebra"`}, {`"after_outcome_known"`, `"zebra"`}, {`"Feed the zebra."`, `7`}, {`"agent"`, `"zebra"`}, {`"choice",`, `"zebra",`},
		{`"query":`, `"query":{"prompt":"zebra"},"query":`}, {`"a tame zebra","a wild zebra"`, `"a tame zebra"`},
	} {
		r := s.call(call{method: http.MethodPost, path: opsGates, token: s.gates, body: strings.Replace(zebras("room", ""), broken.from, broken.to, 1)})
		if r.status/100 != 4 {
			s.t.Errorf("with %s: %d %s", broken.to, r.status, r.body)
		}
	}
}

// nothing wants no zebra to be seen.
func (s *disclosing) nothing(when string) {
	s.t.Helper()
	audit, err := os.ReadFile(s.audit)
	s.ok(err)
	for where, text := range map[string]string{"API and webhooks": s.seen.String(), "log and room": s.wires.String(), "audit log": string(audit)} {
		if len(text) < 1000 {
			s.t.Errorf("%s: there is next to nothing of %s: %s", when, where, text)
		}
		for line := range strings.Lines(text) {
			if strings.Contains(strings.ToLower(line), striped) {
				s.t.Errorf("%s, %s: %.2000s", when, where, line)
			}
		}
	}
}
