package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"superpipeline.dev/question-bridge/fixtures"
	"superpipeline.dev/question-bridge/schema"
)

// theQuery is the document's approval query.
func theQuery(t *testing.T) schema.Query {
	t.Helper()
	raw, err := fixtures.FS.ReadFile("queries/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct {
		Valid []struct{ Content schema.Query }
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	return corpus[schema.ProtocolVersion+"/query"].Valid[0].Content
}

func gated(status string, q schema.Question) schema.Question {
	q.Gate = &schema.Submission{QueryID: "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", Status: status}
	return q
}

// A query is handed in once, through what passes, and without an Idempotency-Key: its id is one.
func TestAskQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{replies: []reply{{status: http.StatusBadGateway}, {status: http.StatusCreated, body: mustJSON(t, gated("waiting", pendingQuestion("q_1")))}}}
		correlation := "run-17"
		q, err := scripted(t, s).AskQuery(t.Context(), "#ops:example.org", &schema.QueryAsk{
			Query: theQuery(t), AskTerms: schema.AskTerms{CorrelationID: &correlation, TTL: TTL(60)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := q.Submission(); !ok || got.Status != "waiting" {
			t.Errorf("got %+v", q)
		}
		sent, err := schema.Decode[schema.QueryAsk]([]byte(s.bodies[1]))
		if err != nil || *sent.CorrelationID != correlation || sent.Query.Prompt != theQuery(t).Prompt {
			t.Errorf("sent %s, %v", s.bodies[1], err)
		}
		if r := s.asked[1]; r.URL.RequestURI() != "/api/agent/rooms/%23ops:example.org/queries" || r.Header.Get("Idempotency-Key") != "" || s.bodies[0] != s.bodies[1] {
			t.Errorf("asked %s with %v", r.URL.RequestURI(), r.Header)
		}
	})
}

// A query that breaks the rules is not sent.
func TestAskQueryRefuses(t *testing.T) {
	s := &script{replies: []reply{{status: http.StatusCreated}}}
	broken := theQuery(t)
	broken.Response.Choices = []string{"yes", "no"}
	_, err := scripted(t, s).AskQuery(t.Context(), "OPS", &schema.QueryAsk{Query: broken})
	var refused *schema.Refusal
	if !errors.As(err, &refused) || refused.Rule() != schema.RuleApproval {
		t.Errorf("got %v", err)
	}
	if _, err := scripted(t, s).AskQuery(t.Context(), "OPS", nil); err == nil || len(s.asked) > 0 {
		t.Errorf("got %v after %d requests", err, len(s.asked))
	}
}

// A wait goes on until the answer is submitted, and gives the query that follows.
func TestAwaitASubmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := gated("accepted", answeredQuestion("q_1", "approved", "approved"))
		following := theQuery(t)
		ended.NextQuery = &following
		s := &script{replies: []reply{ok(t, gated("submitting", answeredQuestion("q_1", "approved", "approved"))), ok(t, ended)}}
		o, err := scripted(t, s).Await(t.Context(), "q_1")
		if err != nil {
			t.Fatal(err)
		}
		if next, ok := o.Next(); !ok || next.QueryID != following.QueryID || !o.Chose("approved") || len(s.asked) != 2 {
			t.Errorf("got %+v after %d polls", o, len(s.asked))
		}
		if _, ok := (&Outcome{}).Next(); ok {
			t.Error("something follows nothing")
		}
	})
}
