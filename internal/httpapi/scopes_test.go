package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func (m *memory) Read(_ context.Context, id bridge.QuestionID, may func(bridge.Question) (bool, error)) (bridge.Question, error) {
	m.mu.Lock()
	m.reads++
	q, ok := m.byID[id]
	fail := m.fail
	m.mu.Unlock()
	if ok && fail == nil {
		ok, fail = may(q)
	}
	if fail == nil && !ok {
		fail = &bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such question"}
	}
	return q, fail
}

const private = `{"prompt":"Go?","data":{"k":"mine alone"},"correlation_id":"c-mine","reply_to":"r-mine"}`

// scoped makes a token of an agent for the room OPS.
func (h *house) scoped(agent bridge.AgentID, scopes ...string) string {
	h.Helper()
	return h.token(httpapi.TokenTerms{Agent: agent, Rooms: []string{"OPS"}, Scopes: scopes})
}

// Two agents in one room: neither reads, lists, waits for or cancels the other's questions, also under the right id. What
// there is and what there is not is told alike.
func TestAgentsAreStrangers(t *testing.T) {
	onBoth(t, func(m *manor) {
		q := m.asked(private)
		other := m.scoped("other")
		for _, c := range []struct{ method, path string }{
			{"GET", "/api/agent/questions/%"}, {"GET", "/api/agent/questions/%/wait?timeout=0"}, {"POST", "/api/agent/questions/%/cancel"},
		} {
			there := m.do(c.method, strings.ReplaceAll(c.path, "%", q.ID), other, "")
			m.problem(there, http.StatusNotFound, "question_not_found")
			if nowhere := m.do(c.method, strings.ReplaceAll(c.path, "%", "q_none"), other, ""); string(nowhere.body) != string(there.body) {
				t.Errorf("%s: %s\nand of nothing %s", c.path, there.body, nowhere.body)
			}
		}
		if m.listed(other) != 0 || m.listed(m.secret) != 1 {
			t.Error("an agent lists what another one asked")
		}
		a := m.do("GET", "/api/agent/questions?room=OPS", other, "")
		m.problem(a, http.StatusForbidden, "insufficient_scope")
		if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="read:room"`) {
			t.Errorf("challenge %q", got)
		}
		if got := m.question(m.get("/api/agent/questions/"+q.ID), http.StatusOK); got.State != schema.Pending || got.Data == nil {
			t.Errorf("%+v", got)
		}
	})
}

// With read:room an agent reads what others asked in the rooms of its token, and nothing that is theirs alone; it cancels
// none of it.
func TestReadRoom(t *testing.T) {
	onBoth(t, func(m *manor) {
		elsewhere := m.question(m.asksIn("DEV", m.token(httpapi.TokenTerms{Agent: "third", Rooms: []string{"*"}})), http.StatusCreated)
		theirs := m.asked(private)
		watcher := m.scoped("watcher", "ask", "read", "read:room", "cancel")
		own := m.question(m.do("POST", opsQuestions, watcher, private), http.StatusCreated)

		for _, path := range []string{"", "/wait?timeout=0"} {
			m.problem(m.do("GET", "/api/agent/questions/"+elsewhere.ID+path, watcher, ""), http.StatusNotFound, "question_not_found")
			m.strange(m.question(m.do("GET", "/api/agent/questions/"+theirs.ID+path, watcher, ""), http.StatusOK))
			m.private(m.question(m.do("GET", "/api/agent/questions/"+own.ID+path, watcher, ""), http.StatusOK))
		}
		m.problem(m.do("POST", "/api/agent/questions/"+theirs.ID+"/cancel", watcher, ""), http.StatusNotFound, "question_not_found")

		page := m.pageFor("/api/agent/questions?room=OPS", watcher)
		if len(page) != 2 || page[0].ID != own.ID || page[1].ID != theirs.ID {
			t.Fatalf("listed %+v", page)
		}
		m.private(page[0])
		m.strange(page[1])
		if mine := m.pageFor("/api/agent/questions", watcher); len(mine) != 1 || mine[0].ID != own.ID {
			t.Errorf("listed as its own: %+v", mine)
		}
		m.do("POST", answerPath(theirs.ID), m.dana, `{"value":"approve"}`)
		answered := m.pageFor("/api/agent/questions?room=%21ops:example.org&state=answered", watcher)
		if len(answered) != 1 || answered[0].ID != theirs.ID || *answered[0].Answer.Value != "approve" {
			t.Errorf("answered: %+v", answered)
		}
		for path, want := range map[string]struct {
			status int
			code   string
		}{
			"?room=DEV":                       {http.StatusForbidden, "room_not_granted"},
			"?room=nowhere":                   {http.StatusNotFound, "room_not_found"},
			"?room=":                          {http.StatusNotFound, "room_not_found"},
			"?room=%23down:example.org":       {http.StatusServiceUnavailable, "unavailable"},
			"?room=OPS&correlation_id=c-mine": {http.StatusBadRequest, "invalid_parameter"},
		} {
			m.problem(m.do("GET", "/api/agent/questions"+path, watcher, ""), want.status, want.code)
		}
	})
}

// What was asked in a room that is gone is read by a token for every room or for this one, and by no other.
func TestReadRoomOfAGoneRoom(t *testing.T) {
	h := newHouse(t)
	q := h.asked(private)
	h.engine.set(func(m *memory) {
		gone := m.byID[bridge.QuestionID(q.ID)]
		gone.Conversation = "!gone:example.org"
		m.byID[gone.ID] = gone
	})
	for rooms, want := range map[string]int{
		"*": http.StatusOK, "!gone:example.org": http.StatusOK, "OPS": http.StatusNotFound, "#down:example.org": http.StatusNotFound,
	} {
		secret := h.token(httpapi.TokenTerms{Agent: "watcher", Rooms: []string{rooms}, Scopes: []string{"read:room"}})
		if a := h.do("GET", "/api/agent/questions/"+q.ID, secret, ""); a.status != want {
			t.Errorf("for %s: %d %s", rooms, a.status, a.body)
		}
	}
}

// Only read:room, and not read: what the agent asked itself is read as anybody's.
func TestReadRoomAlone(t *testing.T) {
	m := newManor(t)
	theirs, mute := m.asked(private), m.scoped("ci", "read:room")
	m.strange(m.question(m.do("GET", "/api/agent/questions/"+theirs.ID, mute, ""), http.StatusOK))
	a := m.do("GET", "/api/agent/questions", mute, "")
	m.problem(a, http.StatusForbidden, "insufficient_scope")
	if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="read"`) {
		t.Errorf("challenge %q", got)
	}
}

// A wait for what another agent asked ends with the answer.
func TestWaitForAnothersQuestion(t *testing.T) {
	m := newManor(t)
	theirs, watcher := m.asked(private), m.scoped("watcher", "read:room")
	done := make(chan answer, 1)
	go func() { done <- m.do("GET", "/api/agent/questions/"+theirs.ID+"/wait?timeout=30", watcher, "") }()
	m.until(func() bool { return m.hub.Waiting() == 1 })
	m.do("POST", answerPath(theirs.ID), m.dana, `{"value":"deny"}`)
	select {
	case a := <-done:
		q := m.question(a, http.StatusOK)
		m.strange(q)
		if q.State != schema.Answered || *q.Answer.Value != "deny" {
			t.Errorf("%s", a.body)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the wait goes on")
	}
}

// queue opens nothing but the question queue, and gate nothing but gated exchanges.
func TestScopesOfOtherThings(t *testing.T) {
	h := newHouse(t)
	later := h.scoped("ci", "queue", "gate")
	for _, g := range guarded {
		h.problem(h.do(g.method, g.path, later, goAsk), http.StatusForbidden, "insufficient_scope")
	}
	usual := h.scoped("ci", "ask", "read", "read:room", "cancel", "queue")
	for _, g := range gated {
		h.problem(h.do(g.method, g.path, usual, goAsk), http.StatusForbidden, "insufficient_scope")
	}
}

// strange wants a question that another agent asked, without what is its asker's alone.
func (h *house) strange(q schema.Question) {
	h.Helper()
	if q.Data != nil || q.CorrelationID != nil || q.ReplyTo != nil || q.Viewer != "" {
		h.Errorf("shown to another agent: %+v", q)
	}
	if q.AskedBy != "CI" || q.Room == nil || q.Room.ID != "!ops:example.org" || q.Prompt != "Go?" {
		h.Errorf("not shown to another agent: %+v", q)
	}
}

// private wants a question as its own asker sees it.
func (h *house) private(q schema.Question) {
	h.Helper()
	if q.Data["k"] != "mine alone" || q.CorrelationID == nil || q.ReplyTo == nil || q.Room != nil {
		h.Errorf("its asker sees %+v", q)
	}
}

// pageFor gives the questions of one page to whoever has the secret.
func (h *house) pageFor(path, secret string) []schema.Question {
	h.Helper()
	a := h.do("GET", path, secret, "")
	page, err := schema.Decode[schema.Questions](a.body)
	if err != nil || a.status != http.StatusOK {
		h.Fatalf("%d %v %s", a.status, err, a.body)
	}
	return slices.Clone(page.Questions)
}
