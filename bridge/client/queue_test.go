package client

import (
	"errors"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// Each call is one request, and reads one document.
func TestQueueRequests(t *testing.T) {
	s := &script{}
	q := scripted(t, s).Queue()
	ctx := t.Context()
	for _, c := range []struct {
		name, answer, want string
		call               func() (any, error)
	}{
		{"propose", `{"outcome":"dropped","candidate":null}`, `POST /api/agent/queue/propose {"turn":1,"question_text":"Is it?","kind":"confirmation","ambiguity_signal":"gate_refusal","target_keys":["k",{"key":"l","confidence":true}],"options":[{"label":"yes","acted":["k"]}]}`, func() (any, error) {
			p, err := q.Propose(ctx, schema.Proposal{
				Turn: 1, QuestionText: "Is it?", Kind: "confirmation", AmbiguitySignal: "gate_refusal", TargetKeys: []schema.Target{{Key: "k"}, {Key: "l", Confidence: true}},
				Options: []schema.ProposalOption{{Label: "yes", Acted: []string{"k"}}},
			})
			return p.Outcome == "dropped" && p.Candidate == nil, err
		}},
		{"next, with cues", `{"candidate":null}`, `POST /api/agent/queue/next {"turn":2,"query_cues":["morning meetings"]}`, func() (any, error) {
			c, err := q.Next(ctx, schema.NextBody{Turn: 2, QueryCues: &schema.Cues{"morning meetings"}})
			return c == nil, err
		}},
		{"next", `{"candidate":{"candidate_id":"c_1","target_keys":["k",{"key":"l","confidence":true}]}}`, `POST /api/agent/queue/next {"turn":2}`, func() (any, error) {
			c, err := q.Next(ctx, schema.NextBody{Turn: 2})
			return c != nil && c.TargetKeys[0] == schema.Target{Key: "k"} && c.TargetKeys[1] == schema.Target{Key: "l", Confidence: true}, err
		}},
		{"answer", `{"applied":true,"reason":"applied","option_index":1}`, `POST /api/agent/queue/candidates/c%2F1/answer {"answer_text":"no","turn":3}`, func() (any, error) {
			r, err := q.Answer(ctx, "c/1", schema.ReplyBody{AnswerText: "no", Turn: 3})
			return r.Applied && *r.OptionIndex == 1, err
		}},
		{"use", `{"updated":2}`, `POST /api/agent/queue/use {"keys":["k"],"turn":4}`, func() (any, error) {
			n, err := q.Use(ctx, schema.KeysBody{Keys: []string{"k"}, Turn: 4})
			return n == 2, err
		}},
		{"gone", `{"expired":3}`, `POST /api/agent/queue/stale {"keys":["k"],"turn":5}`, func() (any, error) {
			n, err := q.Gone(ctx, schema.KeysBody{Keys: []string{"k"}, Turn: 5})
			return n == 3, err
		}},
		{"prune", `{"pruned":4}`, `POST /api/agent/queue/prune {"turn":6}`, func() (any, error) {
			n, err := q.Prune(ctx, 6)
			return n == 4, err
		}},
		{"candidate", `{"candidate_id":"c_1"}`, `GET /api/agent/queue/candidates/c_1 `, func() (any, error) {
			c, err := q.Candidate(ctx, "c_1")
			return c != nil, err
		}},
		{"evidence", `{"key":"a&b","confidence":0.8,"count":3}`, `GET /api/agent/queue/evidence?key=a%26b `, func() (any, error) {
			e, err := q.Evidence(ctx, "a&b")
			return e.Confidence == 0.8 && e.Count == 3, err
		}},
		{"set callback", `{"url":"https://h.example.org"}`, `PUT /api/agent/queue/callback {"url":"https://h.example.org"}`, func() (any, error) {
			return true, q.SetCallback(ctx, "https://h.example.org")
		}},
		{"no callback", `{"url":null}`, `PUT /api/agent/queue/callback {"url":null}`, func() (any, error) { return true, q.SetCallback(ctx, "") }},
		{"callback", `{"url":"https://h.example.org"}`, `GET /api/agent/queue/callback `, func() (any, error) {
			at, err := q.Callback(ctx)
			return at == "https://h.example.org", err
		}},
	} {
		s.replies, s.asked, s.bodies = []reply{{status: 200, body: c.answer}}, nil, nil
		good, err := c.call()
		if err != nil || good != true {
			t.Errorf("%s: %v, %v", c.name, good, err)
			continue
		}
		if got := s.asked[0].Method + " " + s.asked[0].URL.RequestURI() + " " + s.bodies[0]; got != c.want {
			t.Errorf("%s sent\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestQueueCandidates(t *testing.T) {
	s := &script{replies: []reply{
		{status: 200, body: `{"candidates":[{"candidate_id":"c_3"},{"candidate_id":"c_2"}],"next_cursor":"c 1"}`},
		{status: 200, body: `{"candidates":[{"candidate_id":"c_1"}],"next_cursor":null}`},
	}}
	var got string
	for c, err := range scripted(t, s).Queue().Candidates(t.Context(), CandidateOptions{Status: "pending", PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got += c.CandidateID + " "
	}
	if got != "c_3 c_2 c_1 " || s.asked[0].URL.RawQuery != "limit=2&status=pending" || s.asked[1].URL.RawQuery != "cursor=c+1&limit=2&status=pending" {
		t.Errorf("got %s by %s and %s", got, s.asked[0].URL, s.asked[1].URL)
	}
}

// What is no answer is an error, and so is a refusal; nothing is sent for an id that is none.
func TestQueueErrors(t *testing.T) {
	ctx := t.Context()
	for name, body := range map[string]string{"garbage": "hello", "another document": `{}`, "about another": `{"candidate_id":"c_2","key":"l","candidates":[],"next_cursor":""}`} {
		q := scripted(t, &script{replies: []reply{{status: 200, body: body}}}).Queue()
		_, e1 := q.Propose(ctx, schema.Proposal{})
		_, e2 := q.Answer(ctx, "c_1", schema.ReplyBody{})
		_, e3 := q.Candidate(ctx, "c_1")
		_, e4 := q.Evidence(ctx, "k")
		var e5 error
		for _, err := range q.Candidates(ctx, CandidateOptions{}) {
			e5 = err
		}
		for i, err := range []error{e1, e2, e3, e4, e5} {
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeUnreadable {
				t.Errorf("%s, call %d: %v", name, i+1, err)
			}
		}
	}
	s := &script{replies: []reply{problemReply(422, `{"code":"invalid_candidate","errors":[{"rule":"invalid_candidate","instance_location":"/kind","keyword":"invalid_candidate","reason":"must be one of three"}]}`)}}
	q := scripted(t, s).Queue()
	var e *Error
	if _, err := q.Propose(ctx, schema.Proposal{}); !errors.As(err, &e) || e.Code != "invalid_candidate" || e.Faults[0].Location != "/kind" {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := q.Candidate(ctx, id); err == nil {
			t.Errorf("%q is taken", id)
		}
		if _, err := q.Answer(ctx, id, schema.ReplyBody{}); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("%d requests", len(s.asked))
	}
}
