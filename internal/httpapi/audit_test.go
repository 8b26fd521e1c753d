package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// journal keeps what is recorded of the API and its engine.
type journal struct {
	mu      sync.Mutex
	records []bridge.AuditRecord
}

func (j *journal) Record(_ context.Context, r bridge.AuditRecord) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
}

// take gives what was recorded since it was last called, each as text, without the ids that are new every time.
func (j *journal) take(t *testing.T) (lines []string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		if r.At.IsZero() || r.Request == "" {
			t.Errorf("without a time or a request: %+v", r)
		}
		line := []string{string(r.Action)}
		for _, part := range []struct{ name, value string }{
			{"room", string(r.Conversation)}, {"agent", string(r.Agent)}, {"user", string(r.User)}, {"via", string(r.Via)}, {"code", string(r.Code)},
			{"meaning", string(r.Meaning)},
		} {
			if part.value != "" {
				line = append(line, part.name+"="+part.value)
			}
		}
		if r.Question != "" {
			line = append(line, "question")
		}
		if r.Token != "" {
			line = append(line, "token")
		}
		lines = append(lines, strings.Join(line, " "))
	}
	j.records = nil
	return lines
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	if got := j.take(t); !slices.Equal(got, want) {
		t.Errorf("recorded\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func newAudited(t *testing.T, change func(*httpapi.Config, *bridge.Parts)) (*lobby, *journal) {
	t.Helper()
	j := &journal{}
	return newLobby(t, func(c *httpapi.Config, p *bridge.Parts) {
		c.Audit, p.Auditor = j, j
		if change != nil {
			change(c, p)
		}
	}), j
}

// What an asker does is recorded, and why it was refused: its scope, its room, its pace, its quota, what it sent.
func TestAuditOfAskers(t *testing.T) {
	quota := bridge.Quota{}
	m, j := newAudited(t, func(c *httpapi.Config, p *bridge.Parts) {
		p.Quota = func(bridge.AgentID) bridge.Quota { return quota }
		c.Limits.Agent = func(agent bridge.AgentID) httpapi.Pace {
			if agent == "slow" {
				return httpapi.Pace{PerMinute: 60, Burst: 1}
			}
			return httpapi.Pace{}
		}
	})
	add := func(terms httpapi.TokenTerms) string {
		secret, token, err := httpapi.NewToken(terms)
		if err == nil {
			err = m.store.AddToken(t.Context(), token)
		}
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	const ops = "room=!ops:example.org"
	reader := add(httpapi.TokenTerms{Agent: "reader", Rooms: []string{"OPS"}, Scopes: []string{"read"}})
	slow := add(httpapi.TokenTerms{Agent: "slow", Rooms: []string{"OPS"}, Scopes: []string{"ask"}})
	q := m.asked(goAsk)
	j.want(t, "asked "+ops+" agent=ci via=api question token")
	m.get("/api/agent/questions/" + q.ID)
	m.get("/api/agent/questions")
	m.do("POST", opsQuestions, "", goAsk)
	m.do("POST", opsQuestions, "qb_unknown", goAsk)
	j.want(t) // reading is not recorded, and nobody is nobody
	m.do("POST", opsQuestions, reader, goAsk)
	m.asksIn("DEV", m.secret)
	m.asksIn("nowhere", m.secret)
	m.post(opsQuestions, `{"prompt":"My secret"`)
	m.post(opsQuestions, `{"prompt":"`+strings.Repeat("secret ", 100)+`"}`)
	m.post(opsQuestions, `{"prompt":"Go?","target_user_id":"@robot:example.org"}`)
	m.do("POST", opsQuestions, m.dana, goAsk)
	m.asksIn("%23down:example.org", m.secret) // 503: our side's
	quota = bridge.Quota{Asker: 1}
	m.post(opsQuestions, goAsk)
	j.want(t,
		"ask_refused agent=reader via=api code=insufficient_scope token",
		"ask_refused room=!dev:example.org agent=ci via=api code=room_not_granted token",
		"ask_refused agent=ci via=api code=room_not_found token",
		"ask_refused "+ops+" agent=ci via=api code=malformed token",
		"ask_refused "+ops+" agent=ci via=api code=invalid_question token",
		"ask_refused "+ops+" agent=ci via=api code=target_not_permitted token",
		"ask_refused user=@dana:example.org via=api code=wrong_token_kind token",
		"ask_refused "+ops+" agent=ci via=api code=quota_exceeded token")
	other := "/api/agent/questions/" + q.ID
	m.do("GET", other, slow, "")
	m.do("GET", other, reader, "")
	m.do("GET", other+"/wait?timeout=0", reader, "")
	m.do("POST", other+"/cancel", reader, "")
	m.do("POST", "/api/agent/questions/what%20I%20wrote/cancel", m.secret, "")
	m.post(other+"/cancel", "")
	m.post(other+"/cancel", "") // it was done already
	j.want(t,
		"read_refused agent=slow via=api code=insufficient_scope question token",
		"read_refused agent=reader via=api code=question_not_found question token",
		"read_refused agent=reader via=api code=question_not_found question token",
		"cancel_refused agent=reader via=api code=insufficient_scope question token",
		"cancel_refused agent=ci via=api code=question_not_found token",
		"cancelled "+ops+" agent=ci code=asker question token")
	refusals := []string{"asked " + ops + " agent=slow via=api question token", "ask_refused " + ops + " agent=slow via=api code=rate_limited token"}
	quota = bridge.Quota{}
	for range 2 { // however often it is refused, that is one line until something gets through
		for range 5 {
			m.asksIn("OPS", slow)
		}
		j.want(t, refusals...)
		m.clock.Move(time.Second)
	}
}

// What people do by HTTP is recorded, and why they were refused.
func TestAuditOfPeople(t *testing.T) {
	m, j := newAudited(t, func(c *httpapi.Config, _ *bridge.Parts) { c.Limits.SignIn = httpapi.Pace{PerMinute: 60, Burst: 3} })
	q := m.asked(`{"prompt":"Which one?","responder_scope":"direct","target_user_id":"@dana:example.org","options":[{"value":"a-1","label":"The first one"},{"value":"b-2","label":"The second"}]}`)
	j.take(t)
	path := answerPath(q.ID)
	m.do("POST", signInPath, "", openIDBody("sam-1"))
	m.do("POST", signInPath, "", openIDBody("sam-1"))
	session := m.signedIn(m.do("POST", signInPath, "", openIDBody("dana-1"))).AccessToken
	m.do("POST", signInPath, "", openIDBody("dana-2"))
	m.do("POST", signInPath, "", openIDBody("dana-3"))
	j.want(t,
		"signed_in user=@sam:example.org via=openid token", "sign_in_refused via=openid code=openid_token_used",
		"signed_in user=@dana:example.org via=openid token", "sign_in_refused via=openid code=rate_limited")
	sam := m.person("@sam:example.org")
	for hash, token := range m.tokens.byHash { // the lobby has a store of its own
		if token.User == "@sam:example.org" {
			if err := m.store.AddToken(t.Context(), token); err != nil {
				t.Fatal(err, hash)
			}
		}
	}
	m.do("POST", path, m.secret, `{"value":"a-1"}`)
	m.do("POST", path, sam, `{"value":"a-1"}`)
	m.do("POST", path, session, `{"value":"my own words"}`)
	m.do("POST", path, session, `{"text":"my own words"}`)
	m.do("POST", path, session, `my own words`)
	m.do("GET", "/api/questions/"+q.ID, sam, "")
	m.do("POST", path, session, `{"value":"b-2","comment":"my own words"}`)
	m.do("POST", path, m.dana, `{"value":"a-1"}`)
	const about = " room=!ops:example.org agent=ci user=@dana:example.org"
	j.want(t,
		"answer_refused agent=ci via=api code=wrong_token_kind question token",
		"answer_refused user=@sam:example.org via=api code=not_eligible question token",
		"answer_refused"+about+" via=openid code=invalid_option question token",
		"answer_refused"+about+" via=openid code=text_not_invited question token",
		"answer_refused user=@dana:example.org via=openid code=malformed question token",
		"read_refused user=@sam:example.org via=api code=not_eligible question token",
		"answered"+about+" via=openid meaning=choose question token",
		"answer_late"+about+" via=api code=answered question token")
	m.do("POST", path, m.dana, `{"value":"nothing"}`) // never offered: refused even now
	j.want(t, "answer_refused"+about+" via=api code=invalid_option question token")
}

// Each record is of its own request.
func TestAuditNamesTheRequest(t *testing.T) {
	m, j := newAudited(t, nil)
	for range 3 {
		m.asked(goAsk)
	}
	requests := map[string]bool{}
	for _, r := range j.records {
		requests[r.Request] = true
		if !strings.HasPrefix(r.Token, "tok_") || !strings.Contains(m.log.String(), fmt.Sprintf("%q", r.Request)) {
			t.Errorf("%+v is not in the log", r.Origin)
		}
	}
	if len(requests) != 3 {
		t.Errorf("%d requests", len(requests))
	}
}
