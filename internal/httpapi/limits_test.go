package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// limited is a house with limits, at a time that stands still.
func limited(t *testing.T, limits httpapi.Limits) (*house, *clocktest.Clock) {
	t.Helper()
	clock := clocktest.At(time.Now())
	return newHouse(t, func(c *httpapi.Config, _ *http.Server) { c.Limits, c.Clock = limits, clock }), clock
}

func agents(pace httpapi.Pace) func(bridge.AgentID) httpapi.Pace {
	return func(bridge.AgentID) httpapi.Pace { return pace }
}

// tooMany reads a 429, whose header and body say the same time, and gives it.
func (h *house) tooMany(a answer, code string) int {
	h.Helper()
	p := h.problem(a, http.StatusTooManyRequests, code)
	if p.RetryAfter < 1 || a.header.Get("Retry-After") != strconv.Itoa(p.RetryAfter) {
		h.Errorf("retry_after %d, Retry-After %q", p.RetryAfter, a.header.Get("Retry-After"))
	}
	return p.RetryAfter
}

const goAsk = `{"prompt":"Go?"}`

func (h *house) asksIn(room, secret string) answer {
	h.Helper()
	return h.do("POST", "/api/agent/rooms/"+room+"/questions", secret, goAsk)
}

// Section 10: an agent asks and cancels at its pace and no faster, in all rooms together; other agents do at theirs.
func TestPaceOfAnAgent(t *testing.T) {
	h, clock := limited(t, httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 12, Burst: 3})})
	ci := h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}})
	other := h.token(httpapi.TokenTerms{Agent: "other", Rooms: []string{"*"}})
	q := h.question(h.asksIn("OPS", ci), http.StatusCreated)
	h.question(h.asksIn("DEV", ci), http.StatusCreated)
	h.question(h.post("/api/agent/questions/"+q.ID+"/cancel", ""), http.StatusOK) // by another token of the same agent
	stored := h.engine.stored()
	pending := h.asksIn("DEV", other)
	for _, a := range []answer{h.asksIn("OPS", ci), h.asksIn("DEV", h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}}))} {
		if wait := h.tooMany(a, "rate_limited"); wait != 5 {
			t.Errorf("to wait %d s where one is free every 5", wait)
		}
	}
	if h.tooMany(h.post("/api/agent/questions/"+q.ID+"/cancel", ""), "rate_limited"); h.engine.stored() != stored+1 {
		t.Error("something was stored")
	}
	h.question(pending, http.StatusCreated)
	for _, path := range []string{"/api/agent/questions", "/api/agent/questions/" + q.ID, "/api/agent/questions/" + q.ID + "/wait?timeout=0"} {
		if a := h.get(path); a.status != http.StatusOK { // reading has no pace
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{2500 * time.Millisecond, 3}, {1700 * time.Millisecond, 1}} { // 2.5 s and 0.8 s, rounded up
		clock.Move(c.later)
		if wait := h.tooMany(h.asksIn("OPS", ci), "rate_limited"); wait != c.want {
			t.Errorf("to wait %d s, not %d", wait, c.want)
		}
	}
	clock.Move(time.Second)
	h.question(h.asksIn("OPS", ci), http.StatusCreated)
	h.tooMany(h.asksIn("OPS", ci), "rate_limited")
}

// An agent may have a pace of its own, or none.
func TestPaceOfOneAgent(t *testing.T) {
	h, _ := limited(t, httpapi.Limits{Agent: func(agent bridge.AgentID) httpapi.Pace {
		if agent == "ci" {
			return httpapi.Pace{}
		}
		return httpapi.Pace{PerMinute: 1, Burst: 1}
	}})
	slow := h.token(httpapi.TokenTerms{Agent: "slow", Rooms: []string{"*"}})
	h.asksIn("OPS", slow)
	h.tooMany(h.asksIn("OPS", slow), "rate_limited")
	for range 5 {
		h.asked(goAsk)
	}
}

// Section 10: no more is asked in a room than its pace lets, whoever asks. What one limit refuses costs nothing of the
// other.
func TestPaceOfARoom(t *testing.T) {
	h, clock := limited(t, httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 1, Burst: 3}), Room: httpapi.Pace{PerMinute: 60, Burst: 2}})
	token := func(agent bridge.AgentID) string {
		return h.token(httpapi.TokenTerms{Agent: agent, Rooms: []string{"*"}})
	}
	one, two, three := token("one"), token("two"), token("three")
	h.question(h.asksIn("OPS", one), http.StatusCreated)
	h.question(h.asksIn("OPS", two), http.StatusCreated)
	for range 5 { // refused by the room, whatever the room is called
		h.tooMany(h.asksIn("OPS", three), "rate_limited")
		h.tooMany(h.asksIn("!ops:example.org", three), "rate_limited")
	}
	for range 3 { // it cost the agent nothing
		h.question(h.asksIn("DEV", three), http.StatusCreated)
		clock.Move(time.Second)
	}
	for range 5 { // refused by the agent's pace
		h.tooMany(h.asksIn("OPS", three), "rate_limited")
	}
	h.question(h.asksIn("OPS", one), http.StatusCreated) // it cost the room nothing
	h.question(h.asksIn("OPS", two), http.StatusCreated)
}

// What is refused before the room is known costs nothing.
func TestWhatIsRefusedBeforeTheRoomIsKnown(t *testing.T) {
	h, _ := limited(t, httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 1, Burst: 1})})
	h.problem(h.asksIn("DEV", h.secret), http.StatusForbidden, "room_not_granted")
	h.problem(h.asksIn("nowhere", h.secret), http.StatusNotFound, "room_not_found")
	h.asked(goAsk)
	h.tooMany(h.asksIn("OPS", h.secret), "rate_limited")
}

// A person answers at their pace and no faster, whatever the answers are.
func TestPaceOfAPerson(t *testing.T) {
	h, clock := limited(t, httpapi.Limits{Person: httpapi.Pace{PerMinute: 60, Burst: 2}})
	q := h.asked(goAsk)
	answer := func(secret, body string) answer {
		return h.do("POST", "/api/questions/"+q.ID+"/answer", secret, body)
	}
	h.problem(answer(h.dana, `{"value":"nothing"}`), http.StatusUnprocessableEntity, "invalid_option")
	h.problem(answer(h.dana, `}`), http.StatusBadRequest, "malformed")
	h.tooMany(answer(h.dana, `{"value":"approve"}`), "rate_limited")
	if got := h.question(h.get("/api/agent/questions/"+q.ID), http.StatusOK); got.State != schema.Pending {
		t.Errorf("the question is %s", got.State)
	}
	sam := h.token(httpapi.TokenTerms{User: "@sam:example.org"})
	h.problem(answer(sam, `{"value":"nothing"}`), http.StatusUnprocessableEntity, "invalid_option")
	clock.Move(time.Second)
	h.question(answer(h.dana, `{"value":"approve"}`), http.StatusOK)
}

// The quota is refused by the domain, under a code of its own and with a time like every 429.
func TestQuotaIsRefused(t *testing.T) {
	m := newManor(t)
	m.engine.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1} }
	content := bound(t, boundUntil, `"expires_at":null`)
	q := m.asked(content)
	m.tooMany(m.post(opsQuestions, goAsk), "quota_exceeded")
	if again := m.question(m.post(opsQuestions, content), http.StatusOK); again.ID != q.ID { // an equal ask is no other
		t.Errorf("asked again it is %s, not %s", again.ID, q.ID)
	}
	if owed := len(m.effects()); owed != 1 {
		t.Errorf("%d effects are owed", owed)
	}
	m.question(m.post("/api/agent/questions/"+q.ID+"/cancel", ""), http.StatusOK)
	m.asked(goAsk)
}

// Whoever repeats an ask under its Idempotency-Key gets the response again, also where that ask took the last place and
// the repeat comes at the same time.
func TestARepeatIsWithinTheQuota(t *testing.T) {
	onBoth(t, func(m *manor) {
		m.engine.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1, Conversation: 1} }
		answers := make([]answer, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = m.keyed(opsQuestions, m.secret, goAsk, "k1") })
		}
		all.Wait()
		for _, a := range answers {
			if a.status != http.StatusCreated || string(a.body) != string(answers[0].body) {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		m.tooMany(m.keyed(opsQuestions, m.secret, goAsk, "k2"), "quota_exceeded")
		q := m.question(m.keyed(opsQuestions, m.secret, goAsk, "k1"), http.StatusCreated)
		m.question(m.post("/api/agent/questions/"+q.ID+"/cancel", ""), http.StatusOK)
		m.question(m.keyed(opsQuestions, m.secret, goAsk, "k2"), http.StatusCreated) // what was refused was not kept
	})
}

// The SDK says when to come back.
func TestClientReadsTheWait(t *testing.T) {
	h, _ := limited(t, httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 2, Burst: 1})})
	c, err := client.New(client.Config{Server: h.url, Token: h.secret})
	if err != nil {
		t.Fatal(err)
	}
	q := h.asked(goAsk)
	_, err = c.Cancel(t.Context(), q.ID)
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || refused.Code != "rate_limited" || refused.RetryAfter != 30*time.Second {
		t.Errorf("%+v", err)
	}
}

// Fifty at once get as many through as the pace lets.
func TestPaceAtOnce(t *testing.T) {
	h, _ := limited(t, httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 1, Burst: 7})})
	statuses := make([]int, 50)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() { statuses[i] = h.asksIn("OPS", h.secret).status })
	}
	all.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	if fmt.Sprint(counts) != "map[201:7 429:43]" || h.engine.stored() != 7 {
		t.Errorf("%v, %d stored", counts, h.engine.stored())
	}
}
