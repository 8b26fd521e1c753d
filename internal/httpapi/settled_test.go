package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// Whatever is sent to a question that has ended, by its asker and by people, it stays as it ended (The Question Protocol
// 1.1, section 10).
func TestNothingChangesASettledQuestion(t *testing.T) {
	for state, end := range map[schema.State]func(m *manor, id string){
		schema.Answered:  func(m *manor, id string) { m.do("POST", answerPath(id), m.dana, `{"value":"deny"}`) },
		schema.Cancelled: func(m *manor, id string) { m.post("/api/agent/questions/"+id+"/cancel", "") },
		schema.Expired:   func(m *manor, _ string) { m.clock.ahead.Store(int64(2 * time.Hour)) },
	} {
		m := newManor(t)
		id, sam := m.asked(`{"prompt":"Go?","correlation_id":"c"}`).ID, m.person("@sam:example.org")
		end(m, id)
		ended := m.get("/api/agent/questions/" + id)
		if q := m.question(ended, http.StatusOK); q.State != state {
			t.Fatalf("%s: %+v", state, q)
		}
		for _, late := range []answer{
			m.do("POST", answerPath(id), m.dana, `{"value":"approve"}`), m.do("POST", answerPath(id), sam, `{"value":"approve"}`),
			m.do("POST", answerPath(id), sam, `{"value":"deny","comment":"c"}`), m.do("GET", "/api/questions/"+id, sam, ""),
			m.post("/api/agent/questions/"+id+"/cancel", ""), m.keyed("/api/agent/questions/"+id+"/cancel", m.secret, "", "key"),
			m.get(waitPath(id, "")),
		} {
			if q := m.question(late, http.StatusOK); q.State != state || q.Answer != nil && *q.Answer.Value != "deny" {
				t.Errorf("%s: %s", state, late.body)
			}
		}
		m.do("POST", answerPath(id), sam, `{"text":"approve"}`)
		m.do("POST", answerPath(id), sam, `{"value":"perhaps"}`)
		if after := m.get("/api/agent/questions/" + id); string(after.body) != string(ended.body) {
			t.Errorf("%s: it was\n%s\nand is\n%s", state, ended.body, after.body)
		}
	}
}
