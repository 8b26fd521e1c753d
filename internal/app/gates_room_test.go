package app

import (
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/schema"
)

// insteadOf sends to one address what is for another.
type insteadOf struct{ public, real string }

func (i insteadOf) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, strings.Replace(r.URL.String(), i.public, i.real, 1), r.Body)
	if err != nil {
		return nil, err
	}
	to.Header = r.Header
	return http.DefaultTransport.RoundTrip(to)
}

// TestARoomDecidesAGate: a person in the room approves and is told that it is remembered; the agent answers the continuation
// itself; the same gate opened again is approved without asking; and once the person has taken their decision back, somebody is asked
// again, and declines. The room never reads what is protected.
func TestARoomDecidesAGate(t *testing.T) {
	s := newStageWith(t, func(cfg *config.Config) { cfg.API.PublicURL = collectorAt })
	s.start("")
	gates, outside := s.gateClient("ci").Gates(), &http.Client{Transport: insteadOf{collectorAt, s.api}}
	o, err := schema.Decode[schema.GateOpening]([]byte(gateOpening("room")))
	s.ok(err)
	o.Decisions = "ask_once"

	g, err := gates.Open(s.ctx, "OPS", o)
	s.ok(err)
	event := s.posted(*g.QuestionID)
	if told := texts.RememberedHere("Provider", "feedback"); !strings.Contains(event.Body(), "May the provider receive a report?") || !strings.Contains(event.Body(), told) {
		t.Errorf("the room reads %s", event.Body())
	}
	_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "approved")
	s.ok(err)
	g, err = gates.Await(s.ctx, g.GateID, schema.GateOpen)
	s.ok(err)
	if g.State != schema.GateApproved || *g.Provenance != schema.ProvenanceMediated || g.NextQuery.Prompt != "How did it go?" {
		t.Fatalf("approved as %+v", g)
	}
	receipt, err := client.Respond(s.ctx, outside, g.NextQuery, client.NewResponse(g.NextQuery, schema.ResponseAnswer{Text: new("Well.")}))
	s.ok(err)
	if g, err = gates.Fetch(s.ctx, g.GateID); err != nil || receipt.Status != schema.ReceiptAccepted || g.State != schema.GateAnswered || *g.Answer.Text != "Well." {
		t.Errorf("answered as %+v with %+v, %v", g, receipt, err)
	}

	remembered, err := gates.Open(s.ctx, "OPS", o)
	s.ok(err)
	if remembered.State != schema.GateApproved || *remembered.Provenance != schema.ProvenanceRemembered || remembered.QuestionID != nil || remembered.NextQuery == nil {
		t.Errorf("remembered as %+v", remembered)
	}

	book, _ := s.beside()
	kept, err := book.Recall(s.ctx, collector.Scope{
		Agent: "ci", Requester: o.Requester, Purpose: o.Purpose, Principal: collector.Principal{Kind: "user", ID: o.Subject.ID, Scope: o.Subject.IDScope},
	})
	s.ok(err)
	_, err = s.alice.Send(s.ctx, s.room, "!revoke "+kept.ID)
	s.ok(err)
	s.says(s.alice, s.directRoom(s.alice), func(body string) bool { return body == texts.DecisionRevoked(kept.ID) })
	again, err := gates.Open(s.ctx, "OPS", o)
	s.ok(err)
	_, err = s.bob.React(s.ctx, s.room, s.posted(*again.QuestionID).ID, "2️⃣")
	s.ok(err)
	if again, err = gates.Await(s.ctx, again.GateID, schema.GateOpen); err != nil || again.State != schema.GateDeclined || again.NextQuery != nil {
		t.Errorf("declined as %+v, %v", again, err)
	}
	said := s.everythingSaid() + s.log.String()
	for _, private := range []string{"How did it go?", "usr_pairwise_Q7c", g.Query.QueryID, remembered.NextQuery.Delivery.Capability} {
		if strings.Contains(said, private) {
			t.Errorf("the room or the log has %q", private)
		}
	}
}
