package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// listen serves at an address, which may be one that was served before.
func listen(t *testing.T, address string, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func TestAwaitSurvivesARestart(t *testing.T) {
	waiting := make(chan struct{}, 1)
	first := listen(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		<-r.Context().Done()
	})
	address := first.Listener.Addr().String()
	failed := make(chan Poll, 100)
	c, err := New(Config{Server: first.URL, Token: token, OnPoll: func(p Poll) { failed <- p }})
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		o   *Outcome
		err error
	}
	done := make(chan result, 1)
	go func() {
		o, err := c.Await(context.Background(), "q_1")
		done <- result{o, err}
	}()

	<-waiting
	first.Listener.Close()
	first.CloseClientConnections()
	for range 2 { // the lost poll, and one that nobody listens to
		if p := <-failed; p.Err == nil || p.RetryIn <= 0 || p.ID != "q_1" {
			t.Errorf("told of %v", p)
		}
	}
	listen(t, address, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, mustJSON(t, answeredQuestion("q_1", "approve", "Yes")))
	})
	if r := <-done; r.err != nil || !r.o.Chose("approve") {
		t.Errorf("got %v, %v", r.o, r.err)
	}
}

func TestTheTokenDoesNotFollowARedirect(t *testing.T) {
	var reached atomic.Int32
	other := listen(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		api := listen(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/elsewhere", status)
		})
		c, err := New(Config{Server: api.URL, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		_, e1 := c.Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"})
		_, e2 := c.Await(t.Context(), "q_1")
		_, e3 := c.Fetch(t.Context(), "q_1")
		for _, err := range []error{e1, e2, e3} {
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeRedirect || e.Status != status || !strings.Contains(e.Detail, "/elsewhere") {
				t.Errorf("%d: got %v", status, err)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("%v shows the token", err)
			}
		}
	}
	if reached.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

func TestErrorsAreTyped(t *testing.T) {
	faults := []schema.Fault{{Rule: schema.RuleSchema, Location: "/options", Keyword: "maxItems", Limit: 4.0, Reason: "has more than 4 items"}}
	full := `{"type": "about:blank", "title": "Refused", "status": 422, "code": "invalid_question", "detail": "Too many.",
		"errors": [{"rule": "schema", "instance_location": "/options", "keyword": "maxItems", "limit": 4, "reason": "has more than 4 items"}]}`
	tests := []struct {
		name  string
		reply reply
		want  Error
	}{
		{"a problem", problemReply(422, full), Error{Status: 422, Code: "invalid_question", Detail: "Too many.", Faults: faults}},
		{"a problem with parameters in its type", reply{status: 422, body: full, header: map[string]string{"Content-Type": "application/problem+json; charset=utf-8"}}, Error{Status: 422, Code: "invalid_question", Detail: "Too many.", Faults: faults}},
		{"a title alone", problemReply(403, `{"title": "No grant", "code": "room_not_granted"}`), Error{Status: 403, Code: "room_not_granted", Detail: "No grant"}},
		{"a property of another type", problemReply(429, `{"code": "rate_limited", "retry_after": "soon", "detail": "Slow down."}`), Error{Status: 429, Code: "rate_limited", Detail: "Slow down."}},
		{"a page of a proxy", reply{status: 502, body: `<html>{"code": "x"}`, header: map[string]string{"Content-Type": "text/html"}}, Error{Status: 502, Detail: "Bad Gateway"}},
		{"a broken problem", problemReply(400, `{"code": `), Error{Status: 400, Detail: "Bad Request"}},
		{"the header before the problem", reply{status: 429, body: `{"retry_after": 5}`, header: map[string]string{"Content-Type": "application/problem+json", "Retry-After": "9"}}, Error{Status: 429, Detail: "Too Many Requests", RetryAfter: 9 * time.Second}},
		{"garbage", reply{status: 200, body: "hello"}, Error{Status: 200, Code: CodeUnreadable, Detail: "the response is not a question"}},
		{"two documents", reply{status: 200, body: mustJSON(t, pendingQuestion("q_1")) + "{}"}, Error{Status: 200, Code: CodeUnreadable, Detail: "the response is not a question"}},
		{"another object", reply{status: 200, body: "{}"}, Error{Status: 200, Code: CodeUnreadable, Detail: "the response is not a question"}},
		{"too large", reply{status: 200, body: strings.Repeat(" ", maxResponse+1)}, Error{Status: 200, Code: CodeUnreadable, Detail: "the response is larger than 16777216 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := scripted(t, &script{replies: []reply{tt.reply}}).Fetch(t.Context(), "q_1")
			var e *Error
			if !errors.As(err, &e) || !reflect.DeepEqual(*e, tt.want) {
				t.Errorf("got %#v, want %#v", err, tt.want)
			}
		})
	}
}

func TestAQuestionThatContradictsItselfIsNotRead(t *testing.T) {
	withAnswer := answeredQuestion("q_1", "approve", "Yes")
	withAnswer.State = schema.Expired
	without := endedQuestion("q_1", schema.Answered)
	both := answeredQuestion("q_1", "approve", "Yes")
	both.Answer.Text = new("Yes")
	unknown := endedQuestion("q_1", "approved")
	undated := pendingQuestion("q_1")
	undated.ExpiresAt = "soon"
	for _, q := range []schema.Question{withAnswer, without, both, unknown, undated} {
		_, err := scripted(t, &script{replies: []reply{ok(t, q)}}).Fetch(t.Context(), "q_1")
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnreadable {
			t.Errorf("%s: got %v", mustJSON(t, q), err)
		}
	}
}

func TestFetchKeepsTheDocument(t *testing.T) {
	q := pendingQuestion("q_1")
	q.Data = map[string]any{"n": 1}
	raw := strings.Replace(mustJSON(t, q), `{"n":1}`, `{"n":12345678901234567890}`, 1)
	raw = strings.TrimSuffix(raw, "}") + `,"new_property":true}`
	got, err := scripted(t, &script{replies: []reply{{status: 200, body: raw + "\n"}}}).Fetch(t.Context(), "q_1")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Raw) != raw || fmt.Sprint(got.Data["n"]) != "12345678901234567890" {
		t.Errorf("got %s, data %v", got.Raw, got.Data)
	}
}

func TestCancel(t *testing.T) {
	s := &script{replies: []reply{ok(t, endedQuestion("q_1", schema.Cancelled)), ok(t, answeredQuestion("q_1", "deny", "No"))}}
	c := scripted(t, s)
	for _, want := range []schema.State{schema.Cancelled, schema.Answered} {
		if q, err := c.Cancel(t.Context(), "q_1"); err != nil || q.State != want {
			t.Errorf("got %v, %v", q, err)
		}
	}
	if r := s.asked[0]; r.Method != "POST" || r.URL.RequestURI() != "/api/agent/questions/q_1/cancel" {
		t.Errorf("sent %s %s", r.Method, r.URL.RequestURI())
	}
}

func TestList(t *testing.T) {
	page := func(next *string, ids ...string) reply {
		list := schema.Questions{Questions: []schema.Question{}, NextCursor: next}
		for _, id := range ids {
			list.Questions = append(list.Questions, pendingQuestion(id))
		}
		return ok(t, list)
	}
	s := &script{replies: []reply{page(new("c 1"), "q_3", "q_2"), page(new("c2")), page(nil, "q_1")}}
	c := scripted(t, s)
	var got []string
	for q, err := range c.List(t.Context(), ListOptions{State: schema.Pending, CorrelationID: "a&b", PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, q.ID)
	}
	if want := []string{"q_3", "q_2", "q_1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if q := s.asked[1].URL.RawQuery; q != "correlation_id=a%26b&cursor=c+1&limit=2&state=pending" {
		t.Errorf("asked %s", q)
	}
	for range c.List(t.Context(), ListOptions{}) { // stops at the first
		break
	}
	if len(s.asked) != 4 || s.asked[3].URL.RawQuery != "" {
		t.Errorf("%d requests, the last %s", len(s.asked), s.asked[len(s.asked)-1].URL)
	}
}

func TestListEndsWithAnError(t *testing.T) {
	good := ok(t, schema.Questions{Questions: []schema.Question{pendingQuestion("q_1")}, NextCursor: new("c")})
	for name, bad := range map[string]reply{
		"refused": problemReply(401, `{"code": "unauthorized"}`), "garbage": {status: 200, body: "[]"}, "an object": {status: 200, body: "{}"},
		"the same page for ever": good, "a question in it is none": {status: 200, body: `{"questions": [{}], "next_cursor": null}`},
	} {
		n, last := 0, error(nil)
		for q, err := range scripted(t, &script{replies: []reply{good, bad}}).List(t.Context(), ListOptions{}) {
			if n++; (q == nil) != (err != nil) {
				t.Errorf("%s: question %v with error %v", name, q, err)
			}
			last = err
		}
		var e *Error
		if n != 2 || !errors.As(last, &e) {
			t.Errorf("%s: %d steps, then %v", name, n, last)
		}
	}
}
