package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func (m *memory) AskOnce(ctx context.Context, q bridge.Question, o bridge.Once) (bridge.Response, bool, error) {
	q, created, err := m.Ask(ctx, q)
	if err != nil {
		return bridge.Response{}, false, err
	}
	r, err := o.Respond(q, created)
	return r, false, err
}

func (m *memory) CancelOnce(ctx context.Context, asker bridge.AgentID, id bridge.QuestionID, o bridge.Once) (bridge.Response, bool, error) {
	q, err := m.Cancel(ctx, asker, id)
	if err != nil {
		return bridge.Response{}, false, err
	}
	r, err := o.Respond(q, false)
	return r, false, err
}

// keyed sends a request with an Idempotency-Key, or several.
func (h *house) keyed(path, secret, body string, keys ...string) answer {
	h.Helper()
	return h.send("POST", path, secret, body, http.Header{"Idempotency-Key": keys})
}

// replayed says whether an answer is byte for byte another one, and says that it was given before.
func (h *house) replayed(again, first answer) bool {
	h.Helper()
	return again.status == first.status && string(again.body) == string(first.body) &&
		again.header.Get("Location") == first.header.Get("Location") &&
		again.header.Get("Idempotent-Replayed") == "true" && first.header.Get("Idempotent-Replayed") == ""
}

func (m *manor) listed(secret string) int {
	m.Helper()
	page, err := schema.Decode[schema.Questions](m.do("GET", "/api/agent/questions?limit=200", secret, "").body)
	if err != nil {
		m.Fatal(err)
	}
	return len(page.Questions)
}

// TestReplayedAsk repeats an ask under its key: the first response comes again, whatever became of the question.
func TestReplayedAsk(t *testing.T) {
	onBoth(t, func(m *manor) {
		const key = "8e03978e-40d5-43e8-bc93-6894a57f9324"
		first := m.keyed(opsQuestions, m.secret, `{"prompt":"Go?","data":{"n":1e400,"s":"\u2028"}}`, key)
		q := m.question(first, http.StatusCreated)
		if first.header.Get("Location") != "/api/agent/questions/"+q.ID {
			m.Errorf("%v", first.header)
		}
		m.question(m.post("/api/agent/questions/"+q.ID+"/cancel", ""), http.StatusOK)
		for _, same := range []string{`{"prompt":"Go?","data":{"n":1e400,"s":"\u2028"}}`, ` { "data":{"s":" ", "n":1e400}, "prompt":"\u0047o?"}`} {
			if again := m.keyed(opsQuestions, m.secret, same, key); !m.replayed(again, first) {
				m.Errorf("%d %v %s", again.status, again.header, again.body)
			}
		}
		if again := m.keyed("/api/agent/rooms/%21ops:example.org/questions", m.secret, `{"prompt":"Go?","data":{"n":1e400,"s":"\u2028"}}`, key); !m.replayed(again, first) {
			m.Errorf("by another name of the room: %d %s", again.status, again.body)
		}
		for _, other := range []string{`{"prompt":"Go!","data":{"n":1e400,"s":"\u2028"}}`, `{"prompt":"Go?","data":{"n":1e401,"s":"\u2028"}}`, `{"prompt":"Go?","ttl":60,"data":{"n":1e400,"s":"\u2028"}}`} {
			m.problem(m.keyed(opsQuestions, m.secret, other, key), http.StatusConflict, "idempotency_conflict")
		}
		if n := m.listed(m.secret); n != 1 {
			m.Errorf("%d questions", n)
		}
	})
}

// TestAReplayNeedsNobody: what was asked is not judged again, even where it would be refused by now.
func TestAReplayNeedsNobody(t *testing.T) {
	m := newManor(t)
	const direct = `{"prompt":"Go?","target_user_id":"@dana:example.org"}`
	first := m.keyed(opsQuestions, m.secret, direct, "key")
	m.question(first, http.StatusCreated)
	m.people.leaves("@dana:example.org")
	m.problem(m.keyed(opsQuestions, m.secret, direct, "another"), http.StatusUnprocessableEntity, "target_not_permitted")
	if again := m.keyed(opsQuestions, m.secret, direct, "key"); !m.replayed(again, first) {
		t.Errorf("%d %s", again.status, again.body)
	}
}

// TestAKeyIsOfOneAgentRoomAndRoute: anywhere else the same key names another request.
func TestAKeyIsOfOneAgentRoomAndRoute(t *testing.T) {
	m := newManor(t)
	other, everywhere := m.token(httpapi.TokenTerms{Agent: "other", Rooms: []string{"*"}}), m.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}})
	ids := map[string]bool{}
	for _, to := range [][2]string{{opsQuestions, m.secret}, {opsQuestions, other}, {"/api/agent/rooms/DEV/questions", everywhere}} {
		ids[m.question(m.keyed(to[0], to[1], `{"prompt":"Go?"}`, "key"), http.StatusCreated).ID] = true
	}
	for id := range ids {
		for _, secret := range []string{m.secret, other} {
			if a := m.keyed("/api/agent/questions/"+id+"/cancel", secret, `{"prompt":"Go?"}`, "key"); a.status == http.StatusOK && m.question(a, 200).State != schema.Cancelled {
				m.Errorf("%s", a.body)
			}
		}
	}
	if len(ids) != 3 {
		m.Errorf("the questions %v", ids)
	}
	// Neither does a key of one agent tell another one of a question.
	m.problem(m.keyed("/api/agent/questions/"+m.asked(`{"prompt":"Go?"}`).ID+"/cancel", other, "", "key"), http.StatusNotFound, "question_not_found")
}

// TestReplayedCancel repeats a cancel under its key: also one that came too late gets the response that it got.
func TestReplayedCancel(t *testing.T) {
	onBoth(t, func(m *manor) {
		for name, before := range map[string]func(id string){
			"pending":  func(string) {},
			"answered": func(id string) { m.do("POST", "/api/questions/"+id+"/answer", m.dana, `{"value":"deny"}`) },
		} {
			id := m.asked(`{"prompt":"Go?"}`).ID
			before(id)
			path := "/api/agent/questions/" + id + "/cancel"
			first := m.keyed(path, m.secret, "", "key")
			if q := m.question(first, http.StatusOK); (q.State == schema.Cancelled) != (name == "pending") {
				m.Errorf("%s: %+v", name, q)
			}
			if again := m.keyed(path, m.secret, "", "key"); !m.replayed(again, first) {
				m.Errorf("%s: %d %v %s", name, again.status, again.header, again.body)
			}
			for _, other := range []string{"{}", "{", " "} {
				m.problem(m.keyed(path, m.secret, other, "key"), http.StatusConflict, "idempotency_conflict")
			}
			if a := m.post(path, ""); string(a.body) != string(first.body) || a.header.Get("Idempotent-Replayed") != "" {
				m.Errorf("%s, without a key: %v %s", name, a.header, a.body)
			}
		}
	})
}

// TestARefusalIsNotKept: what was refused did nothing, so it may be corrected under the same key.
func TestARefusalIsNotKept(t *testing.T) {
	m := newManor(t)
	for body, code := range map[string]string{
		`{"prompt":"Go?","ttl":"soon"}`:                                     "malformed",
		`{"prompt":"Go?","options":["one"]}`:                                "invalid_question",
		`{"prompt":"Go?","target_user_id":"@stranger:example.org"}`:         "target_not_permitted",
		`{"prompt":"Go?","resolution_policy":"quorum"}`:                     "invalid_question",
		`{"prompt":"Go?","data":{"s":"` + strings.Repeat("x", 8193) + `"}}`: "too_large",
	} {
		if a := m.keyed(opsQuestions, m.secret, body, code); a.status < 400 || !strings.Contains(string(a.body), `"code":"`+code+`"`) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for _, code := range []string{"malformed", "invalid_question", "target_not_permitted", "too_large"} {
		m.question(m.keyed(opsQuestions, m.secret, `{"prompt":"Go?"}`, code), http.StatusCreated)
	}
}

// TestAKeyIsKeptWithItsQuestionOrNotAtAll loses the transaction: nothing of it is left, and the next try does it all.
func TestAKeyIsKeptWithItsQuestionOrNotAtAll(t *testing.T) {
	onBoth(t, func(m *manor) {
		m.faulty.lose = true
		m.problem(m.keyed(opsQuestions, m.secret, `{"prompt":"Go?"}`, "key"), http.StatusInternalServerError, "internal")
		if n := m.listed(m.secret); n != 0 {
			m.Errorf("%d questions", n)
		}
		m.faulty.lose = false
		first := m.keyed(opsQuestions, m.secret, `{"prompt":"Go?"}`, "key")
		path := "/api/agent/questions/" + m.question(first, http.StatusCreated).ID + "/cancel"
		m.faulty.lose = true
		m.problem(m.keyed(path, m.secret, "", "key"), http.StatusInternalServerError, "internal")
		m.faulty.lose = false
		if a := m.keyed(path, m.secret, "", "key"); m.question(a, http.StatusOK).State != schema.Cancelled || a.header.Get("Idempotent-Replayed") != "" {
			m.Errorf("%v %s", a.header, a.body)
		}
	})
}

// TestReplayRace asks fifty times at once under one key: one question comes of it, and everybody is told of that one.
func TestReplayRace(t *testing.T) {
	onBoth(t, func(m *manor) {
		for name, body := range map[string]string{"core": `{"prompt":"Go?"}`, "v2": corpusEvent(m.T)} {
			before := m.listed(m.secret)
			var all sync.WaitGroup
			answers := make([]answer, 50)
			for i := range answers {
				all.Go(func() { answers[i] = m.keyed(opsQuestions, m.secret, body, name) })
			}
			all.Wait()
			replays := 0
			for _, a := range answers {
				m.question(a, http.StatusCreated)
				if string(a.body) != string(answers[0].body) {
					m.Errorf("%s: %s\nand %s", name, a.body, answers[0].body)
				}
				if a.header.Get("Idempotent-Replayed") == "true" {
					replays++
				}
			}
			if n := m.listed(m.secret) - before; n != 1 || replays != len(answers)-1 {
				m.Errorf("%s: %d questions, %d replays", name, n, replays)
			}
		}
		posts := 0
		for _, f := range m.effects() {
			if f.Kind == bridge.EffectRender {
				posts++
			}
		}
		if posts != 2 {
			m.Errorf("%d questions would be posted", posts)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	m := newManor(t)
	id := m.asked(`{"prompt":"Go?"}`).ID
	for _, path := range []string{opsQuestions, "/api/agent/questions/" + id + "/cancel"} {
		for _, keys := range [][]string{{""}, {"a b"}, {"a\tb"}, {"é"}, {"a\x80"}, {strings.Repeat("k", 256)}, {"a", "b"}, {"a", "a"}} {
			p := m.problem(m.keyed(path, m.secret, `{"prompt":"Go?"}`, keys...), http.StatusBadRequest, "invalid_idempotency_key")
			if !hasFault(p, "invalid_idempotency_key", "", "Idempotency-Key") || !strings.HasPrefix(p.Detail, "Idempotency-Key must be ") {
				t.Errorf("%q: %+v", keys, p)
			}
		}
	}
	if m.question(m.get("/api/agent/questions/"+id), http.StatusOK).State != schema.Pending || m.listed(m.secret) != 1 {
		t.Error("a request with a bad key was done")
	}
	for i, key := range []string{"k", strings.Repeat("k", 255), `"8e03978e"`, "!~"} {
		first := m.keyed(opsQuestions, m.secret, fmt.Sprintf(`{"prompt":"%d"}`, i), key)
		if again := m.keyed(opsQuestions, m.secret, fmt.Sprintf(`{"prompt":"%d"}`, i), key); first.status != http.StatusCreated || !m.replayed(again, first) {
			t.Errorf("%s: %d %s", key, again.status, again.body)
		}
	}
}
