package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

const openGate = `{"gate_id":"g_1","state":"open"}`

func gateOpening() *schema.GateOpening {
	return &schema.GateOpening{
		Requester: "Provider", Purpose: "feedback", Subject: schema.Principal{Kind: "user", ID: "usr_pairwise_Q7c", IDScope: "pairwise"},
		Approval: schema.ApprovalTerms{Prompt: "May the provider receive a report?"}, Ask: "room",
		Query: schema.ProtectedQuery{
			Type: "feedback", Prompt: "How did it go?", RequestedRespondent: schema.RespondentAgent, Timing: schema.TimingImmediate,
			Response: schema.ResponseFormat{Format: schema.FormatText, MaxLength: 10},
		},
	}
}

// A gate is opened under one key, however often that is tried; one that breaks a rule is not sent.
func TestOpenGate(t *testing.T) {
	s := &script{replies: []reply{{err: errors.New("lost")}, {status: 502}, {status: 201, body: openGate}}}
	c := scripted(t, s)
	c.pace.firstRetry, c.pace.lastRetry = time.Millisecond, time.Millisecond
	g, err := c.Gates().Open(t.Context(), "OPS", gateOpening())
	if err != nil || g.GateID != "g_1" || len(s.asked) != 3 {
		t.Fatalf("%+v %v after %d requests", g, err, len(s.asked))
	}
	for i, r := range s.asked {
		if r.URL.Path != "/api/agent/rooms/OPS/gates" || r.Header.Get("Idempotency-Key") != s.asked[0].Header.Get("Idempotency-Key") || s.bodies[i] != s.bodies[0] {
			t.Errorf("try %d: %s %v", i, r.URL, r.Header)
		}
	}
	if _, err := c.Gates().Open(t.Context(), "OPS", gateOpening(), IdempotencyKey("mine")); err != nil || s.asked[3].Header.Get("Idempotency-Key") != "mine" {
		t.Errorf("%v with %v", err, s.asked[3].Header)
	}
	bad := gateOpening()
	bad.Ask = "mail"
	var refused *schema.Refusal
	if _, err := c.Gates().Open(t.Context(), "OPS", bad); !errors.As(err, &refused) {
		t.Errorf("a broken opening: %v", err)
	}
	if _, err := c.Gates().Open(t.Context(), "", gateOpening()); err == nil {
		t.Error("no room is taken for one")
	}
	if _, err := c.Gates().Open(t.Context(), "OPS", gateOpening(), IdempotencyKey("a b")); err == nil {
		t.Error("a key with a space is taken")
	}
	if len(s.asked) != 4 {
		t.Errorf("%d requests", len(s.asked))
	}
}

// A wait for a gate goes on through failures until it has left the state; a refusal and the caller end it.
func TestAwaitGate(t *testing.T) {
	approved := `{"gate_id":"g_1","state":"approved"}`
	s := &script{replies: []reply{{status: 200, body: openGate}, {err: errors.New("lost")}, {status: 503}, {status: 200, body: approved}}}
	c := scripted(t, s)
	c.pace.pause, c.pace.firstRetry, c.pace.lastRetry = 0, time.Millisecond, time.Millisecond
	g, err := c.Gates().Await(t.Context(), "g_1", schema.GateOpen)
	if err != nil || g.State != schema.GateApproved || len(s.asked) != 4 || s.asked[0].URL.RequestURI() != "/api/agent/gates/g_1?wait=25&while=open" {
		t.Errorf("%+v %v after %d requests, by %s", g, err, len(s.asked), s.asked[0].URL)
	}
	s = &script{replies: []reply{problemReply(404, `{"code":"gate_not_found"}`)}}
	if _, err := scripted(t, s).Gates().Await(t.Context(), "g_1", schema.GateOpen); err == nil || err.(*Error).Code != "gate_not_found" {
		t.Errorf("refused: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scripted(t, s).Gates().Await(ended, "g_1", schema.GateOpen); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "gate g_1") {
		t.Errorf("ended: %v", err)
	}
}

// A gate is read by its id, and lists are walked page by page. What is no answer is an error.
func TestReadGates(t *testing.T) {
	s := &script{replies: []reply{{status: 200, body: openGate}, {status: 200, body: `{"gates":[` + openGate + `],"next_cursor":"c 1"}`},
		{status: 200, body: `{"gates":[{"gate_id":"g_0","state":"declined"}],"next_cursor":null}`}}}
	c := scripted(t, s)
	if g, err := c.Gates().Fetch(t.Context(), "g_1"); err != nil || g.State != schema.GateOpen || s.asked[0].URL.RequestURI() != "/api/agent/gates/g_1" {
		t.Errorf("%+v %v by %s", g, err, s.asked[0].URL)
	}
	got := ""
	for g, err := range c.Gates().List(t.Context(), GateOptions{State: "open", CorrelationID: "run 7", PageSize: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		got += g.GateID + " "
	}
	if got != "g_1 g_0 " || s.asked[1].URL.RequestURI() != "/api/agent/gates?correlation_id=run+7&limit=200&state=open" ||
		s.asked[2].URL.RequestURI() != "/api/agent/gates?correlation_id=run+7&cursor=c+1&limit=200&state=open" {
		t.Errorf("got %s by %s and %s", got, s.asked[1].URL, s.asked[2].URL)
	}
	for _, body := range []string{"hello", `{}`, `{"gate_id":"g_2","state":"open"}`, `{"gates":[],"next_cursor":""}`} {
		c := scripted(t, &script{replies: []reply{{status: 200, body: body}}})
		_, fetched := c.Gates().Fetch(t.Context(), "g_1")
		var listed error
		for _, err := range c.Gates().List(t.Context(), GateOptions{}) {
			listed = err
		}
		for _, err := range []error{fetched, listed} {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code != CodeUnreadable {
				t.Errorf("%s: %v", body, err)
			}
		}
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := c.Gates().Fetch(t.Context(), id); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
}

// A response goes to the endpoint of its query by the query's capability alone, and gets its receipt, whatever the status.
func TestRespond(t *testing.T) {
	q := &schema.Query{
		QueryID: "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", RequestedRespondent: schema.RespondentAgent,
		Delivery: schema.QueryDelivery{Binding: "https", Endpoint: "https://queries.example/responses?x=1", Capability: "the-capability-of-it"},
	}
	r := NewResponse(q, schema.ResponseAnswer{Text: new("fine")})
	if r.Provenance != schema.ProvenanceDirect || r.Respondent.Kind != "agent" || r.ResponseID == NewResponse(q, r.Answer).ResponseID {
		t.Errorf("worded as %+v", r)
	}
	human := *q
	human.RequestedRespondent = schema.RespondentHuman
	if p := NewResponse(&human, r.Answer); p.Provenance != schema.ProvenanceMediated || p.Respondent.Kind != "human" {
		t.Errorf("worded as %+v", p)
	}
	receipt := func(status, id string) string {
		return `{"protocolVersion":"2026-07-30","queryId":"` + q.QueryID + `","responseId":"` + id + `","status":"` + status + `","retryable":false,"receivedAt":"2026-07-30T17:05:13Z"}`
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{200, receipt("accepted", r.ResponseID), "accepted"}, {409, receipt("rejected", r.ResponseID), "rejected"}, {410, receipt("expired", r.ResponseID), "expired"},
		{200, receipt("accepted", "0198c7d0-2180-7729-b005-d33c99fc7452"), ""}, {200, "{}", ""}, {422, "hello", ""},
	} {
		s := &script{replies: []reply{{status: c.status, body: c.body, header: map[string]string{"Content-Type": "application/json"}}}}
		got, err := Respond(t.Context(), &http.Client{Transport: s}, q, r)
		if e := (*Error)(nil); c.want == "" && (!errors.As(err, &e) || e.Status != c.status) || c.want != "" && (err != nil || got.Status != c.want) {
			t.Errorf("%d %s: %+v %v", c.status, c.body, got, err)
		}
		if a := s.asked[0]; a.URL.String() != q.Delivery.Endpoint || a.Header.Get("Authorization") != "Bearer the-capability-of-it" || a.Method != "POST" {
			t.Errorf("sent to %s with %v", a.URL, a.Header)
		}
	}
	s := &script{replies: []reply{problemReply(404, `{"code":"query_not_found","retryable":false}`)}}
	if _, err := Respond(t.Context(), &http.Client{Transport: s}, q, r); err == nil || err.(*Error).Code != "query_not_found" {
		t.Errorf("refused: %v", err)
	}
	broken := r
	broken.ResponseID = "one"
	var refused *schema.Refusal
	if _, err := Respond(t.Context(), &http.Client{Transport: s}, q, broken); !errors.As(err, &refused) {
		t.Errorf("a broken response: %v", err)
	}
	shown := *q
	shown.Delivery.Capability = ""
	if _, err := Respond(t.Context(), &http.Client{Transport: s}, &shown, r); err == nil {
		t.Error("a query without a capability is answered")
	}
	if len(s.asked) != 1 {
		t.Errorf("%d requests", len(s.asked))
	}
}

// A receiver is told where a gate went, and of no end of a question.
func TestAGateMovesIsAnEvent(t *testing.T) {
	event := `{"event":"gate.approved","gate_id":"g_1","state":"approved","reason":null,"ask":"room","asker":"ci","requester":"Provider","purpose":"feedback",
		"question_id":"q_1","provenance":"mediated","correlation_id":"run-7","room":{"name":"Ops","code":"OPS"},"timestamp":"2026-11-02T08:00:00Z"}`
	got, err := hook(t, secretNew).Reconcile(delivery{body: event, secrets: []string{secretNew}}.request(t))
	if err != nil || got.Name != EventGateApproved || got.Gate.GateID != "g_1" || *got.Gate.CorrelationID != "run-7" || *got.Room.Code != "OPS" ||
		!got.At.Equal(time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)) || got.ID != "msg_1" {
		t.Fatalf("%+v %v", got, err)
	}
	if got.Answered() || got.NoAnswer() || got.Withdrawn() || got.QuestionID != "" {
		t.Errorf("it tells of the end of a question: %+v", got.Outcome)
	}
	for _, bad := range []string{
		`{"event":"gate.approved"}`, strings.Replace(event, `"state":"approved"`, `"state":"declined"`, 1), strings.Replace(event, "2026-11-02", "yester", 1),
		strings.Replace(event, `"g_1"`, `""`, 1), strings.Replace(event, `"g_1"`, `1`, 1),
	} {
		_, err := hook(t, secretNew).Reconcile(delivery{body: bad, secrets: []string{secretNew}}.request(t))
		if e := (*WebhookError)(nil); !errors.As(err, &e) || e.Code != CodeMalformed {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
