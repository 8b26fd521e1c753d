package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/fixtures"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

const opsQueries = "/api/agent/rooms/OPS/queries"

// office is a manor where queries are handed in.
type office struct {
	*manor
	host   *host.Host
	secret string // of agent ci, with the scopes gate and read
	answer func(schema.Response) schema.Receipt
}

func newOffice(t *testing.T, change ...func(plan)) *office {
	t.Helper()
	o := &office{}
	o.manor = newManor(t, append([]func(plan){func(p plan) {
		o.host = host.New(host.Parts{Store: p.store, Guard: guardFor(t), Clock: bridge.SystemClock{}})
		p.api.Host = o.host
		p.engine.Features = []bridge.Feature{&host.Feature{Store: p.store}}
	}}, change...)...)
	o.host.Engine = o.engine
	o.secret = o.scoped("ci", httpapi.ScopeGate, httpapi.ScopeRead)
	return o
}

// Do is the network's edge: what the collector answers to a response.
func (o *office) Do(_ context.Context, r egress.Request) (egress.Response, error) {
	response, err := schema.Decode[schema.Response](r.Body)
	if err != nil {
		return egress.Response{}, err
	}
	body, err := json.Marshal(o.answer(*response))
	return egress.Response{Status: http.StatusOK, Body: body}, err
}

func (*office) Announce(context.Context, bridge.Announcement) error { return nil }

// submits does what the outbox would.
func (o *office) submits() {
	o.Helper()
	s := &host.Submitter{Store: o.store, Caller: o, Clock: bridge.SystemClock{}, Notifier: o.hub, Announcer: o}
	for _, f := range o.effects() {
		if f.Kind != host.EffectSubmit {
			continue
		}
		if err := s.Run(o.Context(), f); err != nil {
			o.Error(err)
		}
	}
}

// query is the document's, with an address that is public and an expiry in an hour.
func (o *office) query(edit func(q *schema.Query)) string {
	o.Helper()
	raw, err := fixtures.FS.ReadFile("queries/examples.json")
	if err != nil {
		o.Fatal(err)
	}
	var corpus map[string]struct {
		Valid []struct{ Content schema.Query }
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		o.Fatal(err)
	}
	q := corpus[schema.ProtocolVersion+"/query"].Valid[0].Content
	q.Delivery.Endpoint, q.Delivery.Capability = "https://93.184.215.14/responses", "capability-of-this-query"
	q.ExpiresAt = schema.Timestamp(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	if edit != nil {
		edit(&q)
	}
	body, err := json.Marshal(q)
	if err != nil {
		o.Fatal(err)
	}
	return string(body)
}

func (o *office) handsIn(query, terms string) answer {
	o.Helper()
	return o.do("POST", opsQueries, o.secret, `{"query":`+query+terms+`}`)
}

func (o *office) fetched(id, secret string) schema.Question {
	o.Helper()
	return o.question(o.do("GET", "/api/agent/questions/"+id, secret, ""), http.StatusOK)
}

// next is the query that follows one.
func next(o *office, response schema.Response) schema.Query {
	o.Helper()
	var q schema.Query
	if err := json.Unmarshal([]byte(o.query(func(q *schema.Query) {
		q.QueryID, q.ContinuationOf, q.Type, q.RequestedRespondent = "0198c7dd-4a50-7c2f-a084-f7f30cd8ec91", response.QueryID, "feedback", "agent"
		q.Delivery = schema.QueryDelivery{Binding: "https", Capability: "capability-of-the-next"}
	})), &q); err != nil {
		o.Fatal(err)
	}
	return q
}

// accepts answers every response with a receipt that something follows.
func (o *office) accepts(response schema.Response) schema.Receipt {
	q := next(o, response)
	return schema.Receipt{
		ProtocolVersion: schema.ProtocolVersion, QueryID: response.QueryID, ResponseID: response.ResponseID, Status: schema.ReceiptAccepted,
		NextQuery: &q, ReceivedAt: "2026-07-30T17:05:13Z",
	}
}

// A query that is handed in is a question, and the same one as often as it comes.
func TestAQueryIsHandedIn(t *testing.T) {
	o := newOffice(t)
	query := o.query(nil)
	a := o.handsIn(query, `,"correlation_id":"run-17"`)
	q := o.question(a, http.StatusCreated)
	if a.header.Get("Location") != "/api/agent/questions/"+q.ID || q.Gate == nil || q.Gate.Status != "waiting" || q.Gate.ResponseID != nil ||
		q.Gate.QueryID != "0198c7cb-1af1-7e79-bd7f-02f8a89b8857" || *q.CorrelationID != "run-17" {
		t.Errorf("handed in: %s", a.body)
	}
	if again := o.question(o.handsIn(query, `,"correlation_id":"run-17"`), http.StatusOK); again.ID != q.ID || again.Gate == nil {
		t.Errorf("handed in again: %+v", again)
	}
	if p := o.problem(o.handsIn(query, ""), http.StatusConflict, "query_conflict"); !hasFault(p, "query_conflict", "/query/queryId", "query_conflict") {
		t.Errorf("%+v", p)
	}
	if cancelled := o.question(o.do("POST", "/api/agent/questions/"+q.ID+"/cancel", o.scoped("ci", "cancel"), ""), http.StatusOK); cancelled.State != schema.Cancelled {
		t.Errorf("cancelled: %+v", cancelled)
	}
	if got := o.fetched(q.ID, o.secret); got.Gate.Status != "none" {
		t.Errorf("withdrawn: %+v", got.Gate)
	}
}

// A wait for a query's question ends when the answer is submitted, with the query that follows. Only its asker is given
// that, and no list.
func TestAWaitEndsWithTheSubmission(t *testing.T) {
	o := newOffice(t)
	o.answer = o.accepts
	q := o.question(o.handsIn(o.query(nil), ""), http.StatusCreated)
	done := make(chan answer)
	go func() { done <- o.do("GET", "/api/agent/questions/"+q.ID+"/wait?timeout=30", o.secret, "") }()
	o.until(func() bool { return o.hub.Waiting() == 1 })
	o.answered(q.ID, "approved")
	early := o.question(o.do("GET", "/api/agent/questions/"+q.ID+"/wait?timeout=0", o.secret, ""), http.StatusOK)
	if early.State != schema.Answered || early.Gate.Status != "submitting" || early.Gate.ResponseID == nil || early.NextQuery != nil {
		t.Errorf("before the submission: %+v", early)
	}
	select {
	case a := <-done:
		t.Fatalf("the wait ended before the submission: %s", a.body)
	default:
	}
	o.submits()
	got := o.question(<-done, http.StatusOK)
	if got.Gate.Status != "accepted" || got.NextQuery == nil || got.NextQuery.Delivery.Endpoint != "https://93.184.215.14/responses" ||
		got.NextQuery.Delivery.Capability != "capability-of-the-next" || *got.Gate.ResponseID != *early.Gate.ResponseID {
		t.Errorf("after the submission: %+v %+v", got.Gate, got.NextQuery)
	}
	if fetched := o.fetched(q.ID, o.secret); fetched.NextQuery == nil {
		t.Errorf("fetched: %+v", fetched)
	}
	for who, a := range map[string]answer{
		"a list":             o.do("GET", "/api/agent/questions", o.secret, ""),
		"a list of a room":   o.do("GET", "/api/agent/questions?room=OPS", o.scoped("ci", "read:room"), ""),
		"another agent":      o.do("GET", "/api/agent/questions/"+q.ID, o.scoped("another", "read", "read:room"), ""),
		"the agent's room":   o.do("GET", "/api/agent/questions/"+q.ID, o.scoped("ci", "read:room"), ""),
		"another that waits": o.do("GET", "/api/agent/questions/"+q.ID+"/wait", o.scoped("another", "read:room"), ""),
		"a person":           o.do("GET", "/api/questions/"+q.ID, o.dana, ""),
		"who cannot see it":  o.do("GET", "/api/agent/questions/"+q.ID, o.scoped("another", "read"), ""),
	} {
		for _, private := range []string{`"gate"`, "next_query", "capability", "93.184.215.14", "usr_pairwise", "Ask exactly this question"} {
			if strings.Contains(string(a.body), private) {
				t.Errorf("%s is told %s: %s", who, private, a.body)
			}
		}
	}
}

// A decline is submitted too; nothing follows it, whatever came with its receipt, and the asker is told.
func TestNothingFollowsADecline(t *testing.T) {
	o := newOffice(t)
	o.answer = o.accepts
	q := o.question(o.handsIn(o.query(nil), ""), http.StatusCreated)
	o.answered(q.ID, "declined")
	o.submits()
	if got := o.fetched(q.ID, o.secret); got.Gate.Status != "accepted" || got.Gate.Refused != "after_decline" || got.NextQuery != nil {
		t.Errorf("after a decline: %+v %+v", got.Gate, got.NextQuery)
	}
}

// What is no query, or not for people, or goes nowhere that is called, is refused with its code, and a pointer to it.
func TestQueriesThatAreRefused(t *testing.T) {
	o := newOffice(t)
	for name, c := range map[string]struct {
		edit    func(*schema.Query)
		terms   string
		status  int
		code    string
		rule    string
		pointer string
	}{
		"for an agent":   {func(q *schema.Query) { q.Type, q.RequestedRespondent = "feedback", "agent" }, "", 422, "invalid_query", "invalid_query", "/query/requestedRespondent"},
		"a third answer": {func(q *schema.Query) { q.Response.Choices = []string{"approved", "declined", "later"} }, "", 422, "invalid_query", "approval", "/query/response/choices"},
		"no prompt":      {func(q *schema.Query) { q.Prompt = "" }, "", 422, "invalid_query", "schema", "/query/prompt"},
		"U+0000":         {func(q *schema.Query) { q.Prompt = "a\x00b" }, "", 422, "invalid_query", "nul", "/query/prompt"},
		"too long to type": {func(q *schema.Query) {
			q.Type, q.Response = "feedback", schema.ResponseFormat{Format: "text", MaxLength: 2001}
		}, "", 422, "invalid_query", "size", "/query/response/maxLength"},
		"expired": {func(q *schema.Query) { q.ExpiresAt = "2026-07-30T17:00:00Z" }, "", 422, "query_expired", "query_expired", "/query/expiresAt"},
		"inside":  {func(q *schema.Query) { q.Delivery.Endpoint = "https://127.0.0.1/" }, "", 422, "endpoint_refused", "endpoint_refused", "/query/delivery/endpoint"},
		"nowhere": {func(q *schema.Query) { q.Delivery.Endpoint = "" }, "", 422, "invalid_query", "invalid_query", "/query/delivery/endpoint"},
		"a ttl":   {nil, `,"ttl":60`, 400, "malformed", "schema", "/ttl"},
		"a scope": {nil, `,"responder_scope":"all"`, 422, "invalid_question", "schema", "/responder_scope"},
		"nobody":  {nil, `,"target_user_id":"@nobody:example.org"`, 422, "target_not_permitted", "target_not_permitted", "/target_user_id"},
	} {
		p := o.problem(o.handsIn(o.query(c.edit), c.terms), c.status, c.code)
		if len(p.Errors) == 0 || string(p.Errors[0].Rule) != c.rule || p.Errors[0].Location != c.pointer {
			t.Errorf("%s: %+v", name, p.Errors)
		}
	}
	o.problem(o.do("POST", opsQueries, o.secret, `{"query":`), http.StatusBadRequest, "malformed")
	o.problem(o.do("POST", opsQueries, o.secret, `{}`), http.StatusBadRequest, "malformed")
	o.problem(o.do("POST", opsQueries, o.secret, strings.Repeat(" ", schema.MaxBytes+1)), http.StatusRequestEntityTooLarge, "too_large")
	body := `{"query":` + o.query(nil) + `}`
	for room, status := range map[string]int{"DEV": 403, "%23nowhere:example.org": 404, "%23down:example.org": 503} {
		code := map[int]string{403: "room_not_granted", 404: "room_not_found", 503: "unavailable"}[status]
		secret := o.secret
		if status != 403 {
			secret = o.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}, Scopes: []string{"gate"}})
		}
		o.problem(o.do("POST", "/api/agent/rooms/"+room+"/queries", secret, body), status, code)
	}
	if a := o.do("GET", "/api/agent/questions", o.secret, ""); !strings.Contains(string(a.body), `"questions":[]`) {
		t.Errorf("something was stored: %s", a.body)
	}
	o.faulty.lose = true
	o.problem(o.handsIn(o.query(nil), ""), http.StatusInternalServerError, "internal")
	o.faulty.lose = false
	o.question(o.handsIn(o.query(nil), ""), http.StatusCreated) // nothing was left of it
}

// sealed is a room that nobody can be asked in.
type sealed struct{ *people }

func (sealed) Supports(context.Context, bridge.ConversationID) error {
	return &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: "the bot is not in the room"}
}

// A query is asked at the pace and within the quota of everything else that is asked, and where it can be answered.
func TestQueriesHaveThePaceOfAsks(t *testing.T) {
	o := newOffice(t, func(p plan) {
		p.api.Limits = httpapi.Limits{Agent: agents(httpapi.Pace{PerMinute: 1, Burst: 2})}
		p.engine.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1} }
	})
	id := func(n int) func(*schema.Query) {
		return func(q *schema.Query) { q.QueryID = fmt.Sprintf("0198c7cb-1af1-7e79-bd7f-02f8a89b885%d", n) }
	}
	o.question(o.handsIn(o.query(id(1)), ""), http.StatusCreated)
	o.problem(o.handsIn(o.query(id(2)), ""), http.StatusTooManyRequests, "quota_exceeded")
	o.problem(o.handsIn(o.query(id(3)), ""), http.StatusTooManyRequests, "rate_limited")
	shut := newOffice(t, func(p plan) { p.engine.Channel = sealed{p.engine.Channel.(*people)} })
	shut.problem(shut.handsIn(shut.query(nil), ""), http.StatusConflict, "room_unanswerable")
}
