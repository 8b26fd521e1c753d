package client

import (
	"errors"
	"iter"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

const oneDecision = `{"id":"d7k2m9","decision":"approved"}`

// Each list is walked page by page at its own place, and each revocation is one request.
func TestDecisionRequests(t *testing.T) {
	for path, list := range map[string]func(*Client) iter.Seq2[*schema.Decision, error]{
		"/api/agent/decisions?":       func(c *Client) iter.Seq2[*schema.Decision, error] { return c.Decisions(t.Context()) },
		"/api/decisions?":             func(c *Client) iter.Seq2[*schema.Decision, error] { return (&Responder{c}).Decisions(t.Context()) },
		"/api/decisions?of=everybody": func(c *Client) iter.Seq2[*schema.Decision, error] { return (&Responder{c}).AllDecisions(t.Context()) },
	} {
		s, got := &script{replies: []reply{
			{status: 200, body: `{"decisions":[` + oneDecision + `],"next_cursor":"c 1"}`},
			{status: 200, body: `{"decisions":[{"id":"dx2m9q","decision":"declined"}],"next_cursor":null}`},
		}}, ""
		for d, err := range list(scripted(t, s)) {
			if err != nil {
				t.Fatal(err)
			}
			got += d.ID + " " + d.Decision + " "
		}
		at, query := s.asked[0].URL.Path+"?"+s.asked[0].URL.RawQuery, s.asked[1].URL.Query()
		if got != "d7k2m9 approved dx2m9q declined " || at != path || query.Get("cursor") != "c 1" || query.Get("of") != s.asked[0].URL.Query().Get("of") {
			t.Errorf("got %s by %s and %s", got, s.asked[0].URL, s.asked[1].URL)
		}
	}
	for path, revoke := range map[string]func(*Client, string) (*schema.Decision, error){
		"/api/agent/decisions/d7k2m9/revoke": func(c *Client, id string) (*schema.Decision, error) { return c.RevokeDecision(t.Context(), id) },
		"/api/decisions/d7k2m9/revoke": func(c *Client, id string) (*schema.Decision, error) {
			return (&Responder{c}).RevokeDecision(t.Context(), id)
		},
	} {
		s := &script{replies: []reply{{status: 200, body: oneDecision}, {status: 200, body: `{}`}, problemReply(404, `{"code":"decision_not_found"}`)}}
		c := scripted(t, s)
		if d, err := revoke(c, "d7k2m9"); err != nil || d.ID != "d7k2m9" || s.asked[0].Method != "POST" || s.asked[0].URL.RequestURI() != path {
			t.Errorf("%v %v by %s", d, err, s.asked[0].URL)
		}
		for _, code := range []string{CodeUnreadable, "decision_not_found"} {
			if _, err := revoke(c, "d7k2m9"); err == nil || err.(*Error).Code != code {
				t.Errorf("in place of %s: %v", code, err)
			}
		}
		for _, id := range []string{"", ".", ".."} {
			if _, err := revoke(c, id); err == nil || len(s.asked) != 3 {
				t.Errorf("%q is taken: %v", id, err)
			}
		}
	}
}

// What is no page is an error, and so is a page that would lead to itself.
func TestDecisionPageErrors(t *testing.T) {
	for _, replies := range [][]string{{"hello"}, {`{}`}, {oneDecision}, {`{"decisions":[],"next_cursor":"a"}`, `{"decisions":[],"next_cursor":"a"}`}} {
		s := &script{}
		for _, body := range replies {
			s.replies = append(s.replies, reply{status: 200, body: body})
		}
		var failed error
		for _, err := range scripted(t, s).Decisions(t.Context()) {
			failed = err
		}
		if e := (*Error)(nil); !errors.As(failed, &e) || e.Code != CodeUnreadable || len(s.asked) != len(replies) {
			t.Errorf("%q: %v after %d requests", replies, failed, len(s.asked))
		}
	}
}
