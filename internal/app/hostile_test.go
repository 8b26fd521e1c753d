package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// document is a JSON object that a route reads. Its last member is a value beside which there is room for another.
type document struct {
	path, token string
	valid       string
	method      string // POST, if empty
}

func (d document) by() string { return cmp.Or(d.method, http.MethodPost) }

// with adds members to the document, before its own.
func (d document) with(members string) string { return "{" + members + "," + d.valid[1:] }

// readers are the routes that read a document, each with documents that it would take. A route that is not listed here
// fails the test, so that none is forgotten; one that reads none has an empty list.
func (s *served) readers() map[string][]document {
	ask, answer := opsQuestions, "/api/questions/"+s.ask(s.token, `{"prompt":"Go?"}`).ID+"/answer"
	person := s.person(dana)
	found := map[string][]document{
		"POST /api/agent/rooms/{room}/questions": {
			{path: ask, token: s.token, valid: `{"prompt":"Go?","options":[{"value":"yes","label":"Yes"},{"value":"no","label":"No"}]}`},
			{path: ask, token: s.token, valid: approvalOf("elc_1", "sha256:aa", 1)},
		},
		"POST /api/questions/{id}/answer": {
			{path: answer, token: person, valid: `{"value":"approve"}`},
			{path: answer, token: person, valid: `{"value":"approve","subject":{"id":"op_1","digest":"d","schema":"x/v1","revision":1}}`},
		},
		"POST /api/auth/matrix": {
			{path: "/api/auth/matrix", valid: fmt.Sprintf(`{"access_token":"once","token_type":"Bearer","matrix_server_name":%q,"expires_in":3600}`, benchDomain)},
		},
		"POST /api/agent/questions/{id}/cancel": {},
		"POST /api/grants/{id}/revoke":          {},
		"POST /api/decisions/{id}/revoke":       {},
		"POST /api/agent/decisions/{id}/revoke": {},
	}
	queue := s.grant(Grant{Agent: "unsure", Rooms: []string{"*"}, Scopes: []string{httpapi.ScopeQueue}})
	for call, valid := range map[string]string{
		"propose": `{"turn":1,"question_text":"Morning?","kind":"confirmation","ambiguity_signal":"gate_refusal","target_keys":["k"],"options":[{"label":"yes"}]}`,
		"next":    `{"turn":1}`, "use": `{"turn":1,"keys":["k"]}`, "stale": `{"turn":1,"keys":["gone"]}`, "prune": `{"turn":1}`,
	} {
		path := "/api/agent/queue/" + call
		found["POST "+path] = []document{{path: path, token: queue, valid: valid}}
	}
	found["PUT /api/agent/queue/callback"] = []document{{path: "/api/agent/queue/callback", token: queue, valid: `{"url":null}`, method: http.MethodPut}}
	const reply = "POST /api/agent/queue/candidates/{id}/answer"
	found[reply] = []document{{path: "/api/agent/queue/candidates/" + s.candidate(queue) + "/answer", token: queue, valid: `{"turn":1,"answer_text":"yes"}`}}
	found["POST /api/agent/rooms/{room}/queries"] = []document{{
		path: "/api/agent/rooms/OPS/queries", token: s.grant(Grant{Agent: "host", Rooms: []string{"OPS"}, Scopes: []string{httpapi.ScopeGate}}),
		valid: `{"query":{"protocolVersion":"2026-07-30","queryId":"0198c7cb-1af1-7e79-bd7f-02f8a89b8857","type":"approval","prompt":"May it?",
			"subject":{"kind":"user","id":"u1","idScope":"local"},"requestedRespondent":"human","timing":"immediate",
			"response":{"format":"choice","choices":["approved","declined"]},"expiresAt":"2096-07-30T19:00:00Z",
			"delivery":{"binding":"https","endpoint":"https://93.184.215.14/responses"}}}`,
	}}
	collects := s.grant(Grant{Agent: "collects", Rooms: []string{"OPS"}, Scopes: []string{httpapi.ScopeGate}})
	found["POST /api/agent/rooms/{room}/gates"] = []document{{path: opsGates, token: collects, valid: gateOpening("return")}}
	q := s.opened(collects, "return").Query
	found["POST /api/queries/{id}/responses"] = []document{{
		path: strings.TrimPrefix(q.Delivery.Endpoint, collectorAt), token: q.Delivery.Capability, valid: approvalOfQuery(q.QueryID),
	}}
	return found
}

// candidate proposes one, and gives its id.
func (s *served) candidate(token string) string {
	s.t.Helper()
	r := s.call(call{
		method: http.MethodPost, path: "/api/agent/queue/propose", token: token,
		body: `{"turn":0,"question_text":"Or later?","kind":"confirmation","ambiguity_signal":"gate_refusal","target_keys":["l"],"options":[{"label":"yes"}]}`,
	})
	var proposed struct {
		Candidate struct {
			ID string `json:"candidate_id"`
		}
	}
	s.ok(json.Unmarshal([]byte(r.body), &proposed))
	if proposed.Candidate.ID == "" {
		s.t.Fatalf("a proposal: %d %s", r.status, r.body)
	}
	return proposed.Candidate.ID
}

// eachDocument runs f for every document that a route of the API reads, and then wants it taken as it is.
func (s *served) eachDocument(f func(d document)) {
	s.t.Helper()
	readers := s.readers()
	for _, pattern := range httpapi.Routes() {
		documents, known := readers[pattern]
		if !known && !strings.HasPrefix(pattern, http.MethodGet) {
			s.t.Errorf("nothing hostile is known for %s", pattern)
		}
		for _, d := range documents {
			f(d)
			if r := s.call(call{method: d.by(), path: d.path, token: d.token, body: d.valid}); r.status/100 != 2 {
				s.t.Errorf("%s itself is answered with %d: %s", d.valid, r.status, r.body)
			}
		}
	}
}

// refuses wants a body refused with one of some statuses, and nothing stored or answered.
func (s *served) refuses(d document, body io.Reader, length int64, statuses ...int) {
	s.t.Helper()
	before := s.everything()
	req, err := http.NewRequestWithContext(s.t.Context(), d.by(), s.url+d.path, body)
	s.ok(err)
	req.ContentLength = length
	req.Header.Set("Authorization", "Bearer "+d.token)
	resp, err := s.client.Do(req)
	s.ok(err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	s.ok(err)
	if !slices.Contains(statuses, resp.StatusCode) || resp.Header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("%s is answered with %d, want %v: %s", d.path, resp.StatusCode, statuses, said)
	}
	if after := s.everything(); after != before {
		s.t.Errorf("a refused document changed\n%s to\n%s", before, after)
	}
}

// everything is what the agent has asked, and how far each question is.
func (s *served) everything() string {
	s.t.Helper()
	all, _, err := s.store.ListQuestions(s.t.Context(), bridge.Listing{Asker: "ci", Limit: 200})
	s.ok(err)
	var b strings.Builder
	for _, q := range all {
		fmt.Fprintln(&b, q.ID, q.State)
	}
	return b.String()
}

// allOn lets the people of the homeserver sign in by a token of it, and agents open gates.
func allOn(cfg *config.Config) {
	cfg.Auth.OpenID.Servers = []string{benchDomain}
	cfg.API.PublicURL = collectorAt
}

// TestC5OnTheServer (field case C5): a document that has a name twice is refused, and nothing of it is kept, whatever
// reads it: an ask of either dialect, an answer, at every depth.
func TestC5OnTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := serve(t, arrangement{database: d, configure: allOn})
		twice := func(d document, old, new string) {
			t.Helper()
			if !strings.Contains(d.valid, old) {
				t.Fatalf("%s is not in %s", old, d.valid)
			}
			body := strings.Replace(d.valid, old, new, 1)
			s.refuses(d, strings.NewReader(body), int64(len(body)), http.StatusBadRequest)
		}
		s.eachDocument(func(d document) {
			for _, members := range []string{`"x":1,"x":1`, `"x":{"y":[{"a":1,"\u0061":2}]}`} {
				body := d.with(members)
				s.refuses(d, strings.NewReader(body), int64(len(body)), http.StatusBadRequest)
			}
		})
		documents := s.readers()
		asks, answers := documents["POST /api/agent/rooms/{room}/questions"], documents["POST /api/questions/{id}/answer"]
		twice(asks[0], `"prompt":"Go?"`, `"prompt":"Go?","prompt":"Stop?"`)
		twice(asks[0], `"value":"yes"`, `"value":"yes","value":"no"`)
		twice(asks[1], `"preview_complete":true`, `"preview_complete":false,"preview_complete":true`)
		twice(asks[1], `"meaning":"choose"`, `"meaning":"approve","meaning":"choose"`)
		twice(answers[0], `{"value":"approve"}`, `{"value":"deny","value":"approve"}`)
		twice(answers[0], `{"value":"approve"}`, `{"value":"approve","text":null,"value":"deny"}`)
		twice(answers[1], `"digest":"d"`, `"digest":"e","digest":"d"`)
	})
}

// TestC8OnTheServer (field case C8): whatever reads a document refuses numbers, depth and size that are hostile, and
// spends little memory on it.
func TestC8OnTheServer(t *testing.T) {
	s := serve(t, arrangement{database: newSQLite(t), configure: allOn})
	var unknown strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&unknown, `"x%d":1e1000000,`, i)
	}
	nines := strings.Repeat("9", 131_072)
	s.eachDocument(func(d document) {
		hostile := map[string]string{
			"an exponent":          d.with(`"schema_version":1e1000000`),
			"1,000 exponents":      d.with(unknown.String() + `"x":1`),
			"131,072 digits":       d.with(`"revision":` + nines),
			"60,000 digits":        d.with(`"revision":` + nines[:60_000]),
			"131,072 after a dot":  d.with(`"revision":0.` + nines),
			"60,000 after a dot":   d.with(`"revision":0.` + nines[:60_000]),
			"100,000 deep":         strings.Repeat("[", 100_000),
			"60,000 deep":          strings.Repeat("[", 60_000),
			"12,000 objects deep":  d.with(`"x":` + strings.Repeat(`{"":`, 12_000)),
			"an exponent below":    d.with(`"x":{"y":[1e1000000]}`),
			"a subject's revision": strings.Replace(d.valid, `"revision":1`, `"revision":1e1000000`, 1),
		}
		if hostile["a subject's revision"] == d.valid {
			delete(hostile, "a subject's revision")
		}
		for name, body := range hostile {
			status := http.StatusBadRequest
			if len(body) > 65_536 {
				status = http.StatusRequestEntityTooLarge
			}
			s.cheaply(name, func() { s.refuses(d, strings.NewReader(body), int64(len(body)), status) })
		}
		const large = 50 << 20
		s.cheaply("50 MB", func() {
			s.refuses(d, io.LimitReader(spaces{}, large), large, http.StatusRequestEntityTooLarge)
		})
		s.cheaply("50 MB of unknown length", func() {
			s.refuses(d, io.LimitReader(spaces{}, large), -1, http.StatusRequestEntityTooLarge)
		})
	})
}

// spaces never end.
type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// cheaply wants little memory allocated by what f does, on both sides together: the least of three times, since the
// bridge does other things too.
func (s *served) cheaply(what string, f func()) {
	s.t.Helper()
	const most = 4 << 20
	least := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > most {
		s.t.Errorf("%s allocates %d bytes", what, least)
	}
}

// TestC5AndC8InTransactions: events of a transaction with hostile numbers, depth and names twice are no answers, and hold
// up nobody who says something after them in the same room.
func TestC5AndC8InTransactions(t *testing.T) {
	s := serve(t, arrangement{database: newSQLite(t)})
	asked := s.ask(s.token, `{"prompt":"Go?"}`)
	id := bridge.QuestionID(asked.ID)
	s.until("the question is posted", func() bool { return s.homeserver.event(id) != "" })
	says := func(number, extra string) json.RawMessage {
		event := saidIn(opsRoom, newEventID(), s.homeserver.event(id), number)
		return json.RawMessage(strings.Replace(event, `"content":{`, `"content":{`+extra, 1))
	}
	nines := strings.Repeat("9", 131_072)
	deep := func(open, end string) string {
		return `"x":` + strings.Repeat(open, 9000) + "0" + strings.Repeat(end, 9000) + ","
	}
	s.cheaply("the transaction", func() {
		status, _ := s.homeserver.put(
			says("1", `"body":"2",`), says("1", `"x":{"y":1,"y":2},`), // not an answer; what follows is talk
			says("hm", `"x":1e1000000,`), says("hm", `"x":`+nines+","), says("hm", `"x":0.`+nines+","), says("hm", deep("[", "]")), says("hm", deep(`{"":`, "}")),
			json.RawMessage(strings.Replace(string(says("hm", "")), `"origin_server_ts":`, `"origin_server_ts":1e1000000,"x":`, 1)),
		)
		if status != http.StatusOK {
			t.Errorf("the transaction is answered with %d", status)
		}
	})
	if status, _ := s.homeserver.put(says("2", "")); status != http.StatusOK {
		t.Errorf("the reply is answered with %d", status)
	}
	r := s.call(call{method: http.MethodGet, path: "/api/agent/questions/" + asked.ID + "/wait?timeout=30", token: s.token})
	if got := answerIn(r.body); !strings.HasPrefix(got, "deny by "+dana) {
		t.Errorf("the answer is %q", got)
	}
}
