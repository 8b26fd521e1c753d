package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/callback"
	"superpipeline.dev/question-bridge/schema"
)

// eachTurn is what a host calls once a turn, and what means "nothing" there.
var eachTurn = []struct{ call, body, nothing string }{
	{"propose", about("k", 1), `{"outcome":"dropped","candidate":null}`},
	{"next", `{"turn":1}`, `{"candidate":null}`},
	{"use", `{"keys":["k"],"turn":1}`, `{"updated":0}`},
	{"stale", `{"keys":["k"],"turn":1}`, `{"expired":0}`},
	{"prune", `{"turn":1}`, `{"pruned":0}`},
	{"candidates/c_1/answer", `{"answer_text":"my own words","turn":1}`, `{"applied":false,"reason":"error","option_index":null}`},
}

// A dead database is 200 and nothing for what a host calls once a turn, with a line in the log. Only invalid input is
// refused, and what only reads says that it failed.
func TestQueueFailsClosed(t *testing.T) {
	inLibraries(t, func(l *library) {
		if err := l.store.Close(); err != nil {
			t.Fatal(err)
		}
		logged := 0
		for _, c := range eachTurn {
			l.says(l.post(c.call, c.body), c.nothing)
			if now := strings.Count(l.log.String(), "The question queue failed"); now <= logged {
				t.Errorf("%s: nothing was logged", c.call)
			} else {
				logged = now
			}
			l.problem(l.post(c.call, "{"), http.StatusBadRequest, "malformed")
		}
		for _, read := range []string{"candidates", "candidates/c_1", "evidence?key=k", "callback"} {
			l.problem(l.do("GET", queuePath+read, l.secret, ""), http.StatusInternalServerError, "internal")
		}
		l.problem(l.do("PUT", queuePath+"callback", l.secret, `{"url":null}`), http.StatusInternalServerError, "internal")
		if strings.Contains(l.log.String(), "my own words") {
			t.Error("what somebody wrote is in the log")
		}
	})
}

// busy is a database that does not answer in time.
type busy struct{ queue.Store }

func (busy) Candidate(context.Context, bridge.AgentID, queue.CandidateID) (queue.Candidate, error) {
	return queue.Candidate{}, context.DeadlineExceeded
}

func (busy) ListCandidates(context.Context, queue.Listing) ([]queue.Candidate, string, error) {
	return nil, "", context.DeadlineExceeded
}

func (busy) Evidence(context.Context, bridge.AgentID, string) (queue.Evidence, error) {
	return queue.Evidence{}, context.DeadlineExceeded
}

func (busy) Callback(context.Context, bridge.AgentID) (string, error) {
	return "", context.DeadlineExceeded
}

func (busy) SetCallback(context.Context, bridge.AgentID, string) error {
	return context.DeadlineExceeded
}

// What only reads says of a database that is too busy that it may work soon.
func TestQueueIsBusy(t *testing.T) {
	l := newLibrary(t, sqlite(t), func(c *httpapi.Config, p *queue.Parts) { p.Store, c.Callbacks = busy{p.Store}, busy{} })
	for _, read := range []string{"candidates", "candidates/c_1", "evidence?key=k", "callback"} {
		l.problem(l.do("GET", queuePath+read, l.secret, ""), http.StatusServiceUnavailable, "unavailable")
	}
	l.problem(l.do("PUT", queuePath+"callback", l.secret, `{"url":null}`), http.StatusServiceUnavailable, "unavailable")
}

// A database that cannot even say whose token it is gives nothing too, to whoever asks.
func TestQueueFailsClosedWithoutTokens(t *testing.T) {
	l := newLibrary(t, sqlite(t))
	l.secret = l.token(httpapi.TokenTerms{Agent: "broken", Rooms: []string{"OPS"}, Scopes: []string{httpapi.ScopeQueue}})
	for _, c := range eachTurn {
		l.says(l.post(c.call, c.body), c.nothing)
	}
	l.problem(l.do("GET", queuePath+"candidates", l.secret, ""), http.StatusInternalServerError, "internal")
	if !strings.Contains(l.log.String(), "disk on fire") {
		t.Error("nothing was logged")
	}
}

// Both kill switches, the environment's and the operator's row, act on the next call.
func TestQueueKillSwitch(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(about("k", 1))
		switches := map[string]func(off bool){
			"environment": func(off bool) { l.disabled = off },
			"row": func(off bool) {
				if err := l.store.SetQueueOff(t.Context(), off); err != nil {
					t.Fatal(err)
				}
			},
		}
		for name, set := range switches {
			set(true)
			l.says(l.post("propose", about("new", 1)), `{"outcome":"disabled","candidate":null}`)
			l.says(l.post("next", `{"turn":1}`), `{"candidate":null}`)
			l.says(l.post("use", `{"keys":["k"],"turn":1}`), `{"updated":0}`)
			l.says(l.post("stale", `{"keys":["k"],"turn":1}`), `{"expired":0}`)
			l.says(l.post("prune", `{"turn":5000}`), `{"pruned":0}`)
			l.says(l.post("candidates/"+c.CandidateID+"/answer", `{"answer_text":"yes","turn":1}`), `{"applied":false,"reason":"disabled","option_index":null}`)
			l.problem(l.post("propose", `{}`), http.StatusUnprocessableEntity, "invalid_candidate")
			if page := queueDocument[schema.Candidates](l, l.do("GET", queuePath+"candidates", l.secret, "")); len(page.Candidates) != 1 || page.Candidates[0].Status != "pending" {
				t.Errorf("%s: %+v", name, page)
			}
			set(false)
		}
		if next := calledQueue[schema.NextCandidate](l, "next", `{"turn":1}`); next.Candidate == nil {
			t.Error("it stays off")
		}
	})
}

// callbackHost is what registers a callback.
type callbackHost struct {
	*httptest.Server
	status int
	answer func(schema.StalenessCheck) string
	asked  []schema.StalenessCheck
}

func newHost(t *testing.T) *callbackHost {
	h := &callbackHost{status: http.StatusOK, answer: func(schema.StalenessCheck) string { return `{"stale":[]}` }}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		check, err := schema.Decode[schema.StalenessCheck](raw)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v: %v", r.Method, r.Header, err)
			return
		}
		h.asked = append(h.asked, *check)
		w.WriteHeader(h.status)
		_, _ = io.WriteString(w, h.answer(*check))
	}))
	t.Cleanup(h.Close)
	return h
}

// allStale answers that everything is stale, and some things that nobody asked about.
func allStale(check schema.StalenessCheck) string {
	ids := []string{`"c_of_somebody_else"`}
	for _, c := range check.Candidates {
		ids = append(ids, `"`+c.CandidateID+`"`)
	}
	return `{"stale":[` + strings.Join(ids, ",") + `]}`
}

// A registered callback is asked before anything is delivered. What it names expires; a call that fails lets nothing
// expire and delivers nothing.
func TestQueueCallback(t *testing.T) {
	inLibraries(t, func(l *library) {
		h := newHost(t)
		l.says(l.do("GET", queuePath+"callback", l.secret, ""), `{"url":null}`)
		registered := `{"url":"` + h.URL + `/stale"}`
		l.says(l.do("PUT", queuePath+"callback", l.secret, registered), registered)
		l.says(l.do("GET", queuePath+"callback", l.secret, ""), registered)

		first, second := l.proposed(about("first", 1)), l.proposed(about("second", 1))
		for name, fail := range map[string]func(){
			"another status":   func() { h.status = http.StatusInternalServerError },
			"no JSON":          func() { h.answer = func(schema.StalenessCheck) string { return "stale" } },
			"another document": func() { h.answer = func(schema.StalenessCheck) string { return `{"stale":"all"}` } },
			"more than is read": func() {
				h.answer = func(c schema.StalenessCheck) string { return allStale(c) + strings.Repeat(" ", schema.MaxBytes) }
			},
		} {
			usual := *h
			fail()
			l.says(l.post("next", `{"turn":2}`), `{"candidate":null}`)
			for _, c := range []schema.Candidate{first, second} {
				if got := l.candidate(c.CandidateID); got.Status != "pending" {
					t.Errorf("%s: %+v", name, got)
				}
			}
			h.status, h.answer = usual.status, usual.answer
		}
		if n := len(h.asked); n == 0 || len(h.asked[n-1].Candidates) != 2 {
			t.Errorf("asked about %+v", h.asked)
		}
		if !strings.Contains(l.log.String(), "could not be asked") || strings.Contains(l.log.String(), "/stale\"") {
			t.Errorf("logged: %s", l.log)
		}
		h.answer = func(schema.StalenessCheck) string { return `{"stale":["` + first.CandidateID + `"]}` }
		next := calledQueue[schema.NextCandidate](l, "next", `{"turn":2}`)
		if next.Candidate == nil || next.Candidate.CandidateID != second.CandidateID || l.candidate(first.CandidateID).Status != "expired" {
			t.Errorf("%+v", next)
		}
		h.answer = allStale // also what waits for its reply
		l.says(l.post("next", `{"turn":3}`), `{"candidate":null}`)
		if got := l.candidate(second.CandidateID); got.Status != "expired" {
			t.Errorf("%+v", got)
		}

		l.says(l.do("PUT", queuePath+"callback", l.secret, `{"url":null}`), `{"url":null}`)
		third, asked := l.proposed(about("third", 8)), len(h.asked)
		if next := calledQueue[schema.NextCandidate](l, "next", `{"turn":8}`); next.Candidate == nil || next.Candidate.CandidateID != third.CandidateID || len(h.asked) != asked {
			t.Errorf("without a callback: %+v", next)
		}
	})
}

// A callback is behind the guard: what could never be called is not registered, and what is not public not called.
func TestQueueCallbackIsGuarded(t *testing.T) {
	h := newHost(t)
	l := newLibrary(t, sqlite(t), func(c *httpapi.Config, p *queue.Parts) {
		hosts := &callback.Checker{Store: p.Store.(callback.Store), Caller: guardFor(t)}
		p.Staleness, c.Callbacks = hosts, hosts
	})
	for _, url := range []string{"here", "ftp://host.example.org/", "https://", "https://u:secret@host.example.org/", "https://h.example.org/" + strings.Repeat("x", 2000), ""} {
		p := l.problem(l.do("PUT", queuePath+"callback", l.secret, `{"url":"`+url+`"}`), http.StatusUnprocessableEntity, "invalid_callback")
		if len(p.Errors) == 0 || p.Errors[0].Location != "/url" || strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: %+v", url, p)
		}
	}
	for _, wrong := range []string{`{"url":7}`, `{}`, `[`} {
		l.problem(l.do("PUT", queuePath+"callback", l.secret, wrong), http.StatusBadRequest, "malformed")
	}
	l.problem(l.do("PUT", queuePath+"callback", l.secret, `{"url":"`+strings.Repeat("x", schema.MaxBytes)+`"}`), http.StatusRequestEntityTooLarge, "too_large")
	for _, url := range []string{h.URL, "https://" + strings.TrimPrefix(h.URL, "http://"), "http://169.254.169.254/latest"} {
		l.do("PUT", queuePath+"callback", l.secret, `{"url":"`+url+`"}`)
		c := l.proposed(about(url, 1))
		l.says(l.post("next", `{"turn":1}`), `{"candidate":null}`)
		if got := l.candidate(c.CandidateID); got.Status != "pending" {
			t.Errorf("%s: %+v", url, got)
		}
	}
	if len(h.asked) > 0 {
		t.Error("it was called")
	}
}

// The audit log has why a call of the queue was refused, and nothing of what failed on our side.
func TestAuditOfTheQueue(t *testing.T) {
	j := &journal{}
	l := newLibrary(t, sqlite(t), func(c *httpapi.Config, _ *queue.Parts) { c.Audit = j })
	l.post("propose", about("k", 1))
	l.post("next", `{"turn":-1}`)
	l.post("propose", `{"question_text":"my own words"}`)
	l.do("GET", queuePath+"candidates/c_none", l.secret, "")
	l.do("POST", queuePath+"next", l.scoped("reader", "read"), `{"turn":1}`)
	if err := l.store.Close(); err != nil {
		t.Fatal(err)
	}
	l.post("next", `{"turn":1}`)
	j.want(t,
		"queue_refused agent=ci via=api code=invalid_turn token",
		"queue_refused agent=ci via=api code=invalid_candidate token",
		"queue_refused agent=ci via=api code=candidate_not_found token",
		"queue_refused agent=reader via=api code=insufficient_scope token")
}
