package app

import (
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/schema"
)

// grantable is a question.v2 content whose options grant for long.
func grantable(elicitation string) string {
	content := carriersQuestion()
	content["elicitation_id"], content["run_id"] = elicitation, "run_12"
	content["options"] = []any{
		map[string]any{"id": "run", "label": "Allow for this *run* @room", "meaning": "approve", "needs_comment": false, "scope": "run"},
		map[string]any{"id": "always", "label": "Always <b>allow</b>", "meaning": "approve", "needs_comment": false, "scope": "always", "requires": "workspace-admin"},
		map[string]any{"id": "no", "label": "No", "meaning": "reject", "needs_comment": false},
	}
	return asJSON(content)
}

// granted has Dana grant something for a run, to the agent of a token.
func (s *served) granted(token string) schema.Grant {
	s.t.Helper()
	q := s.ask(token, grantable("elc_granted"))
	r := s.call(call{method: http.MethodPost, path: "/api/questions/" + q.ID + "/answer", token: s.person(dana), body: `{"value":"run"}`})
	all := s.grants(token)
	if r.status != http.StatusOK || len(all) == 0 || all[0].QuestionID != q.ID {
		s.t.Fatalf("granted: %d %s, %+v", r.status, r.body, all)
	}
	return all[0]
}

// grants lists what an agent was granted.
func (s *served) grants(token string) []schema.Grant {
	s.t.Helper()
	r := s.call(call{method: http.MethodGet, path: "/api/agent/grants", token: token})
	page, err := schema.Decode[schema.Grants]([]byte(r.body))
	if err != nil || r.status != http.StatusOK {
		s.t.Fatalf("the grants: %d %s", r.status, r.body)
	}
	return page.Grants
}

// A grant that is taken back over HTTP is told to the endpoints of its room that name the event, once, as it is described.
func TestARevocationIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		came, hook := newHook(t, schema.EventGrantRevoked)
		s := serve(t, arrangement{database: d, configure: hook})
		g := s.granted(s.token)
		revoke := call{method: http.MethodPost, path: "/api/grants/" + g.ID + "/revoke", token: s.person(dana)}
		for range 2 {
			if r := s.call(revoke); r.status != http.StatusOK || !strings.Contains(r.body, `"state":"revoked"`) {
				t.Fatalf("revoked: %d %s", r.status, r.body)
			}
		}
		event := wanted(t, came)
		if event.Grant.ID != g.ID || *event.Grant.RevokedBy != dana || *event.Grant.CorrelationID != "elc_granted" || *event.Grant.RunID != "run_12" ||
			event.Grant.Option != "run" || event.Grant.By != dana || *event.Room.Code != "OPS" || *event.Grant.Room.Name != "Ops" || event.Timestamp != *event.Grant.RevokedAt {
			t.Errorf("told %+v", event)
		}
		if got := s.grants(s.token); len(got) != 1 || got[0].State != schema.GrantRevoked {
			t.Errorf("listed %+v", got)
		}
		var left int
		s.ok(s.store.Database().QueryRow(t.Context(), `SELECT COUNT(*) FROM webhook_deliveries`).Scan(&left))
		if left != 1 {
			t.Errorf("%d events were owed", left)
		}
	})
}

// wanted is the revocation that an endpoint is told of.
func wanted(t *testing.T, came <-chan hooked) schema.GrantEvent {
	t.Helper()
	select {
	case h := <-came:
		event, err := schema.Decode[schema.GrantEvent]([]byte(h.Body))
		if err != nil {
			t.Fatalf("%v: %s", err, h.Body)
		}
		return *event
	case <-t.Context().Done():
		t.Fatal("no webhook came")
		return schema.GrantEvent{}
	}
}
