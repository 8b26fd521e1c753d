package client

import (
	"errors"
	"iter"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

const activeGrant = `{"id":"g7k3pd","state":"active","scope":"run","question_id":"q_1"}`

// Lists are walked page by page, and a grant is revoked by one request.
func TestGrantRequests(t *testing.T) {
	pages := func() []reply {
		return []reply{{status: 200, body: `{"grants":[` + activeGrant + `],"next_cursor":"c 1"}`}, {status: 200, body: `{"grants":[{"id":"gx2m9q","state":"revoked"}],"next_cursor":null}`}}
	}
	for _, c := range []struct {
		list        func(*Client) iter.Seq2[*schema.Grant, error]
		first, next string
	}{
		{func(c *Client) iter.Seq2[*schema.Grant, error] { return c.Grants(t.Context(), GrantOptions{}) }, "/api/agent/grants", "/api/agent/grants?cursor=c+1"},
		{func(c *Client) iter.Seq2[*schema.Grant, error] {
			return c.Grants(t.Context(), GrantOptions{State: schema.GrantActive, PageSize: 1000})
		}, "/api/agent/grants?limit=200&state=active", "/api/agent/grants?cursor=c+1&limit=200&state=active"},
		{func(c *Client) iter.Seq2[*schema.Grant, error] { return (&Responder{c}).Grants(t.Context()) }, "/api/grants", "/api/grants?cursor=c+1"},
	} {
		s, got := &script{replies: pages()}, ""
		for g, err := range c.list(scripted(t, s)) {
			if err != nil {
				t.Fatal(err)
			}
			got += g.ID + " " + g.State + " "
		}
		if got != "g7k3pd active gx2m9q revoked " || s.asked[0].URL.RequestURI() != c.first || s.asked[1].URL.RequestURI() != c.next {
			t.Errorf("got %s by %s and %s", got, s.asked[0].URL, s.asked[1].URL)
		}
		s.replies, s.asked = pages(), nil
		for range c.list(scripted(t, s)) {
			break
		}
		if len(s.asked) != 1 {
			t.Errorf("%d requests for the first grant", len(s.asked))
		}
	}
	s := &script{replies: []reply{{status: 200, body: `{"id":"g7k3pd","state":"revoked","revoked_by":"@bob:example.org"}`}}}
	g, err := (&Responder{scripted(t, s)}).Revoke(t.Context(), "g7k3pd")
	if err != nil || *g.RevokedBy != "@bob:example.org" || s.asked[0].Method != "POST" || s.asked[0].URL.RequestURI() != "/api/grants/g7k3pd/revoke" {
		t.Errorf("%v %v by %s", g, err, s.asked[0].URL)
	}
}

// What is no answer is an error, and so is a refusal; nothing is sent for an id that is none.
func TestGrantErrors(t *testing.T) {
	for _, body := range []string{"hello", `{}`, activeGrant, `{"grants":[],"next_cursor":""}`} {
		c := scripted(t, &script{replies: []reply{{status: 200, body: body}}})
		var listed error
		for _, err := range c.Grants(t.Context(), GrantOptions{}) {
			listed = err
		}
		_, revoked := (&Responder{c}).Revoke(t.Context(), "g7k3pd")
		for _, err := range []error{listed, revoked} {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code != CodeUnreadable {
				t.Errorf("%s: %v", body, err)
			}
		}
	}
	s := &script{replies: []reply{problemReply(403, `{"code":"admins_only"}`)}}
	if _, err := (&Responder{scripted(t, s)}).Revoke(t.Context(), "g7k3pd"); err == nil || err.(*Error).Code != "admins_only" {
		t.Errorf("refused: %v", err)
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := (&Responder{scripted(t, s)}).Revoke(t.Context(), id); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("%d requests", len(s.asked))
	}
}

// A receiver is given the grant that was revoked, and no end of a question.
func TestARevocationIsAnEvent(t *testing.T) {
	event := `{"event":"grant.revoked","grant":{"id":"g7k3pd","state":"revoked","question_id":"q_1","scope":"run","run_id":"run_12","revoked_by":"@bob:example.org"},
		"room":{"name":"Ops","code":"OPS"},"timestamp":"2026-11-02T08:00:00Z"}`
	got, err := hook(t, secretNew).Reconcile(delivery{body: event, secrets: []string{secretNew}}.request(t))
	if err != nil || got.Name != EventGrantRevoked || got.Grant.ID != "g7k3pd" || *got.Grant.RunID != "run_12" || *got.Room.Code != "OPS" ||
		!got.At.Equal(time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)) || got.ID != "msg_1" {
		t.Fatalf("%+v %v", got, err)
	}
	if got.Answered() || got.NoAnswer() || got.Withdrawn() || got.QuestionID != "" {
		t.Errorf("it tells of the end of a question: %+v", got.Outcome)
	}
	for _, bad := range []string{
		`{"event":"grant.revoked"}`, `{"event":"grant.revoked","grant":` + activeGrant + `,"timestamp":"2026-11-02T08:00:00Z"}`,
		`{"event":"grant.revoked","grant":{"id":"g7k3pd","state":"revoked","question_id":"q_1"},"timestamp":"yesterday"}`, `{"event":"grant.revoked","grant":1}`,
	} {
		_, err := hook(t, secretNew).Reconcile(delivery{body: bad, secrets: []string{secretNew}}.request(t))
		if e := (*WebhookError)(nil); !errors.As(err, &e) || e.Code != CodeMalformed {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
