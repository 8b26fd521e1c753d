package httpapi_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// The example of the document, "Usage", over HTTP.
func TestQueueByTheDocument(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(aboutDana)
		if c.AgentID != "ci" || c.Status != "pending" || c.ExpiresTurn != 32 || c.LastSeenTurn != 12 || c.AskCount != 0 || *c.SourceModule != "reconciliation" ||
			strings.Join(c.CueTokens, " ") != "afternoon dana does meetings morning prefer" && strings.Join(c.CueTokens, " ") != "afternoon dana meetings morning prefer" {
			t.Errorf("proposed %+v", c)
		}
		if again := calledQueue[schema.Proposed](l, "propose", strings.Replace(aboutDana, `"turn":12`, `"turn":13`, 1)); again.Outcome != "touched" ||
			again.Candidate.CandidateID != c.CandidateID || again.Candidate.LastSeenTurn != 13 {
			t.Errorf("again: %+v", again)
		}
		next := calledQueue[schema.NextCandidate](l, "next", `{"turn":13,"query_cues":"morning meetings with Dana"}`)
		if next.Candidate == nil || next.Candidate.CandidateID != c.CandidateID || next.Candidate.Status != "delivered" || *next.Candidate.DeliveredTurn != 13 {
			t.Fatalf("next: %+v", next)
		}
		l.says(l.post("next", `{"turn":14}`), `{"candidate":null}`) // the budget is spent
		answer := "candidates/" + c.CandidateID + "/answer"
		l.says(l.post(answer, `{"answer_text":"morning","turn":14}`), `{"applied":true,"reason":"applied","option_index":0}`)
		l.says(l.post(answer, `{"answer_text":"afternoon","turn":14}`), `{"applied":false,"reason":"not_open","option_index":null}`)
		if c = l.candidate(c.CandidateID); c.Status != "answered" || *c.AnswerOption != 0 || *c.ResolvedTurn != 14 {
			t.Errorf("answered: %+v", c)
		}
		if known := l.evidence("fact:42"); known.Count != 3 || math.Abs(known.Confidence-0.2) > 1e-9 || known.Key != "fact:42" {
			t.Errorf("of the key that asks for confidence: %+v", known)
		}
		if known := l.evidence("fact:17"); known != (schema.Evidence{Key: "fact:17", Confidence: 0.5}) {
			t.Errorf("of one whose answers are recorded only: %+v", known)
		}
		if again := calledQueue[schema.Proposed](l, "propose", strings.Replace(aboutDana, `"turn":12`, `"turn":15`, 1)); again.Outcome != "duplicate" {
			t.Errorf("after the answer: %+v", again)
		}
	})
}

func (l *library) evidence(key string) schema.Evidence {
	l.Helper()
	return queueDocument[schema.Evidence](l, l.do("GET", queuePath+"evidence?key="+key, l.secret, ""))
}

// about is a proposal of one question about one key.
func about(key string, turn int) string {
	return fmt.Sprintf(`{"turn":%d,"question_text":"Is it %s?","kind":"confirmation","ambiguity_signal":"gate_refusal","target_keys":[%q],
		"options":[{"label":"yes","acted":[%q]},{"label":"no","contradicted":[%q]}]}`, turn, key, key, key, key)
}

// What is no answer cools, and the same question may be asked again after its cooldown.
func TestQueueCools(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(about("k", 0))
		l.post("next", `{"turn":0}`)
		l.says(l.post("candidates/"+c.CandidateID+"/answer", `{"answer_text":"not sure","turn":1}`), `{"applied":false,"reason":"cooled","option_index":null}`)
		if c = l.candidate(c.CandidateID); c.Status != "cooled" || *c.CooldownUntil != 11 {
			t.Errorf("%+v", c)
		}
		l.says(l.post("use", `{"keys":["k"],"turn":10}`), `{"updated":1}`)
		l.says(l.post("next", `{"turn":10}`), `{"candidate":null}`)
		if next := calledQueue[schema.NextCandidate](l, "next", `{"turn":11}`); next.Candidate == nil || next.Candidate.AskCount != 2 {
			t.Errorf("%+v", next)
		}
	})
}

func TestQueueUseStaleAndPrune(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(about("k", 0))
		l.says(l.post("use", `{"keys":["k","other"],"turn":4}`), `{"updated":1}`)
		l.says(l.post("use", `{"keys":["k"],"turn":3}`), `{"updated":0}`) // it only moves forwards
		l.says(l.post("use", `{"keys":[],"turn":5}`), `{"updated":0}`)
		l.says(l.post("next", `{"turn":9,"query_cues":["deployment"]}`), `{"candidate":null}`)
		l.says(l.post("stale", `{"keys":["k"],"turn":9}`), `{"expired":1}`)
		if c = l.candidate(c.CandidateID); c.Status != "expired" || c.LastSeenTurn != 4 {
			t.Errorf("%+v", c)
		}
		l.says(l.post("next", `{"turn":9}`), `{"candidate":null}`)
		l.says(l.post("prune", `{"turn":509}`), `{"pruned":0}`)
		l.says(l.post("prune", `{"turn":510}`), `{"pruned":1}`)
		l.problem(l.do("GET", queuePath+"candidates/"+c.CandidateID, l.secret, ""), http.StatusNotFound, "candidate_not_found")
	})
}

// Cues as a text and as tokens find what shares one; without any, whatever is next is found.
func TestQueueCues(t *testing.T) {
	l := newLibrary(t, sqlite(t))
	l.proposed(aboutDana)
	for i, c := range []struct {
		cues  string
		found bool
	}{
		{`"the database migration"`, false}, {`""`, false}, {`[]`, false}, {`["migration"]`, false}, {`"MEETINGS"`, true},
		{`["migration","morning"]`, true}, {`null`, true},
	} {
		turn := 12 + 20*i
		if i > 0 {
			l.proposed(strings.Replace(strings.Replace(aboutDana, "Does Dana prefer", fmt.Sprintf("By case %d: prefer", i), 1), `"turn":12`, fmt.Sprintf(`"turn":%d`, turn+1), 1))
			turn++
		}
		next := calledQueue[schema.NextCandidate](l, "next", fmt.Sprintf(`{"turn":%d,"query_cues":%s}`, turn, c.cues))
		if (next.Candidate != nil) != c.found {
			t.Errorf("%s: %+v", c.cues, next.Candidate)
		}
		l.post("stale", fmt.Sprintf(`{"keys":["fact:17"],"turn":%d}`, turn))
	}
}

// A list gives the agent's own, newest first, page by page.
func TestQueueList(t *testing.T) {
	inLibraries(t, func(l *library) {
		var want []string
		for i := range 5 {
			want = append([]string{l.proposed(about(fmt.Sprintf("key%d", i), i)).CandidateID}, want...)
		}
		l.post("next", `{"turn":4}`)
		var got []string
		for query := "limit=2"; query != ""; {
			page := queueDocument[schema.Candidates](l, l.do("GET", queuePath+"candidates?"+query, l.secret, ""))
			for _, c := range page.Candidates {
				got = append(got, c.CandidateID)
			}
			if query = ""; page.NextCursor != nil {
				query = "limit=2&cursor=" + *page.NextCursor
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("listed %q, want %q", got, want)
		}
		page := queueDocument[schema.Candidates](l, l.do("GET", queuePath+"candidates?status=delivered", l.secret, ""))
		if len(page.Candidates) != 1 || page.Candidates[0].CandidateID != want[0] || page.NextCursor != nil {
			t.Errorf("delivered: %+v", page)
		}
		l.problem(l.do("GET", queuePath+"candidates?cursor=x", l.secret, ""), http.StatusBadRequest, "invalid_cursor")
		for _, wrong := range []string{"candidates?status=asked", "candidates?limit=x", "evidence", "evidence?key=", "evidence?key=" + strings.Repeat("k", 256), "evidence?key=%00"} {
			l.problem(l.do("GET", queuePath+wrong, l.secret, ""), http.StatusBadRequest, "invalid_parameter")
		}
	})
}

// An agent's candidates and evidence are no one else's, also under the right id, and no scope but queue opens any call.
func TestQueuesAreStrangers(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(about("k", 0))
		l.post("next", `{"turn":0}`)
		l.post("candidates/"+c.CandidateID+"/answer", `{"answer_text":"yes","turn":0}`)
		if known := l.evidence("k"); known.Count != 3 || math.Abs(known.Confidence-0.8) > 1e-9 {
			t.Errorf("%+v", known)
		}
		open := l.proposed(about("other", 1))
		own := l.secret
		l.secret = l.scoped("stranger", httpapi.ScopeQueue)
		for _, id := range []string{c.CandidateID, open.CandidateID, "c_none", strings.Repeat("c", 1100)} {
			there := l.do("GET", queuePath+"candidates/"+id, l.secret, "")
			l.problem(there, http.StatusNotFound, "candidate_not_found")
			l.problem(l.post("candidates/"+id+"/answer", `{"answer_text":"yes","turn":2}`), http.StatusNotFound, "candidate_not_found")
		}
		l.says(l.post("stale", `{"keys":["k","other"],"turn":2}`), `{"expired":0}`)
		l.says(l.post("use", `{"keys":["k","other"],"turn":2}`), `{"updated":0}`)
		l.says(l.post("next", `{"turn":2}`), `{"candidate":null}`)
		l.says(l.do("GET", queuePath+"candidates", l.secret, ""), `{"candidates":[],"next_cursor":null}`)
		l.says(l.do("GET", queuePath+"evidence?key=k", l.secret, ""), `{"key":"k","confidence":0.5,"count":0}`)
		l.secret = own
		if got := l.candidate(open.CandidateID); got.Status != "pending" || got.LastSeenTurn != 1 {
			t.Errorf("%+v", got)
		}
	})
	h := newHouse(t)
	usual := h.scoped("ci", "ask", "read", "read:room", "cancel", "gate")
	for _, g := range rationed {
		a := h.do(g.method, g.path, usual, `{"turn":1}`)
		h.problem(a, http.StatusForbidden, "insufficient_scope")
		if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="queue"`) {
			t.Errorf("%s: challenge %q", g.path, got)
		}
	}
}

// What producers propose wrongly is 422 invalid_candidate with a pointer to it; what is no JSON is 400.
func TestInvalidCandidates(t *testing.T) {
	l := newLibrary(t, sqlite(t))
	long := strings.Repeat("x", 2001)
	for _, c := range []struct{ was, is, at string }{
		{`"kind":"disjunction"`, `"kind":"doubt"`, "/kind"},
		{`"ambiguity_signal":"disjunction"`, `"ambiguity_signal":"judge_abstention"`, "/ambiguity_signal"},
		{`Does Dana prefer morning or afternoon meetings?`, ``, "/question_text"},
		{`Does Dana prefer morning or afternoon meetings?`, ` ?! `, "/question_text"},
		{`Does Dana prefer morning or afternoon meetings?`, `Dana\u0000`, "/question_text"},
		{`Does Dana prefer morning or afternoon meetings?`, long, "/question_text"},
		{`"acted":["fact:17"],"contradicted":["fact:42"]`, `"acted":["fact:17"],"contradicted":["x","fact:17"]`, "/options/0/contradicted/1"},
		{`"label":"afternoon"`, `"label":"Not sure."`, "/options/1/label"},
		{`"label":"afternoon"`, `"label":"MORNING"`, "/options/1/label"},
		{`"label":"afternoon"`, `"label":7`, "/options/1/label"},
		{`"target_keys":["fact:17",`, `"target_keys":["fact:42",`, "/target_keys/1"},
		{`"target_keys":["fact:17",`, `"target_keys":["",`, "/target_keys/0"},
		{`"source_module":"reconciliation"`, `"source_module":7`, "/source_module"},
		{`"turn":12`, `"turn":-1`, "/turn"}, {`"turn":12`, `"turn":9007199254740992`, "/turn"}, {`"turn":12`, `"turn":1.5`, "/turn"},
		{`"turn":12,`, ``, ""},
	} {
		body := strings.Replace(aboutDana, c.was, c.is, 1)
		p := l.problem(l.post("propose", body), http.StatusUnprocessableEntity, "invalid_candidate")
		found := false
		for _, f := range p.Errors {
			found = found || strings.HasPrefix(f.Location, c.at) && f.Reason != ""
		}
		if !found || body == aboutDana || strings.Contains(p.Detail, "Dana") {
			t.Errorf("%s in place of %s: %+v", c.is, c.was, p)
		}
	}
	for _, call := range []string{"propose", "next", "use", "stale", "prune", "candidates/c_1/answer"} {
		for _, broken := range []string{"", "{", `{"turn":1,"turn":2}`, `{"turn":1}{}`} {
			l.problem(l.post(call, broken), http.StatusBadRequest, "malformed")
		}
		l.problem(l.post(call, `{"x":"`+strings.Repeat("x", schema.MaxBytes)+`"}`), http.StatusRequestEntityTooLarge, "too_large")
	}
	for call, rest := range map[string]string{"next": "", "use": `,"keys":["k"]`, "stale": `,"keys":["k"]`, "prune": "", "candidates/c_1/answer": `,"answer_text":"x"`} {
		for _, turn := range []string{"-1", "9007199254740992"} {
			p := l.problem(l.post(call, `{"turn":`+turn+rest+`}`), http.StatusUnprocessableEntity, "invalid_turn")
			if len(p.Errors) != 1 || p.Errors[0].Location != "/turn" {
				t.Errorf("%s: %+v", call, p)
			}
		}
		l.problem(l.post(call, `{"turn":"1"`+rest+`}`), http.StatusBadRequest, "malformed")
	}
	l.problem(l.post("use", `{"turn":1,"keys":["\u0000"]}`), http.StatusBadRequest, "malformed")
	if page := queueDocument[schema.Candidates](l, l.do("GET", queuePath+"candidates", l.secret, "")); len(page.Candidates) > 0 {
		t.Errorf("stored %+v", page)
	}
}

// Calls of the queue have a pace of their own, as large as that of asks.
func TestQueuePace(t *testing.T) {
	l := newLibrary(t, sqlite(t), func(c *httpapi.Config, _ *queue.Parts) {
		c.Limits, c.Clock = httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 60, Burst: 6})}, clocktest.At(time.Time{})
	})
	for _, call := range []string{"propose", "next", "use", "stale", "prune", "candidates/c_1/answer"} {
		l.post(call, "{")
	}
	for _, call := range []string{"propose", "next", "use", "stale", "prune", "candidates/c_1/answer"} {
		l.tooMany(l.post(call, `{"turn":1}`), "rate_limited")
	}
	l.tooMany(l.do("PUT", queuePath+"callback", l.secret, `{"url":null}`), "rate_limited")
	l.do("GET", queuePath+"candidates", l.secret, "")
	l.question(l.do("POST", opsQuestions, l.scoped("ci", "ask"), `{"prompt":"Go?"}`), http.StatusCreated)
}
