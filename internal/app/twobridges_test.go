package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/schema"
)

// twoBridges are two bridges, each on a homeserver of its own: one hands queries out, behind TLS, and the other puts them to
// people in a room.
type twoBridges struct {
	host, collector *stage
	agent           *client.Client // that takes queries from the one to the other
	opener          string         // a token of whoever opens gates at the collector
	front           *httptest.Server
}

func newTwoBridges(t *testing.T) *twoBridges {
	t.Helper()
	x := &twoBridges{host: newStage(t)}
	d := newSQLite(t)
	x.collector = newStageBeside(t, func(c *config.Config) { c.Database = d })
	behind, err := url.Parse(x.collector.api)
	x.host.ok(err)
	x.front = httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(behind))
	t.Cleanup(x.front.Close)
	x.collector.reconfigure(func(cfg *config.Config) { cfg.API.PublicURL = x.front.URL })
	x.host.reaches(x.front)
	x.collector.start("")
	x.opener = x.collector.granted("requester", "gate")
	x.agent = x.host.gateClient("ci")
	return x
}

// secretQuestion is what the protected queries ask; no part of it may be read before a yes.
const secretQuestion = "How did the deployment of the zebra release go?"

// opens opens a gate whose protected query is for somebody, and gives it with the approval query and its capability.
func (x *twoBridges) opens(respondent string, lives time.Duration) schema.Gate {
	x.host.t.Helper()
	body := map[string]any{
		"requester": "product provider", "purpose": "feedback", "ask": "return",
		"subject":  map[string]any{"kind": "user", "id": principal, "idScope": "pairwise"},
		"approval": map[string]any{"prompt": queryPrompt, "ttl": int(lives / time.Second)},
		"query": map[string]any{
			"type": "feedback", "prompt": secretQuestion, "requestedRespondent": respondent, "timing": "after_outcome_known",
			"response": map[string]any{"format": "text", "maxLength": 700},
		},
	}
	return sent[schema.Gate](x, x.collector.api, http.MethodPost, "/api/agent/rooms/OPS/gates", x.opener, body, http.StatusCreated)
}

// gate is how a gate stands at the collector, as soon as it is not open.
func (x *twoBridges) gate(id string) schema.Gate {
	x.host.t.Helper()
	return sent[schema.Gate](x, x.collector.api, http.MethodGet, "/api/agent/gates/"+id+"?wait=5", x.opener, nil, http.StatusOK)
}

// sent makes a call and reads the document that comes back.
func sent[T any](x *twoBridges, server, method, path, token string, body any, want int) (document T) {
	s := x.host
	s.t.Helper()
	raw, err := json.Marshal(body)
	s.ok(err)
	req, err := http.NewRequestWithContext(s.ctx, method, server+path, bytes.NewReader(raw))
	s.ok(err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := x.front.Client().Do(req)
	s.ok(err)
	defer resp.Body.Close()
	var said bytes.Buffer
	_, err = said.ReadFrom(resp.Body)
	s.ok(err)
	if resp.StatusCode != want {
		s.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, &said)
	}
	s.ok(json.Unmarshal(said.Bytes(), &document))
	return document
}

// asks hands an approval query in at the host, has somebody answer it, and gives how that ended.
func (x *twoBridges) asks(query schema.Query, reply string) *client.Outcome {
	s := x.host
	s.t.Helper()
	q, event := s.handedIn(x.agent, &schema.QueryAsk{Query: query})
	if reply != "" {
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, reply)
		s.ok(err)
	}
	o, err := x.agent.Await(s.ctx, q.ID)
	s.ok(err)
	return o
}

// TestTwoBridges is the document from end to end, between two bridges with TLS between them and a person who answers in a
// room: after a yes the protected query is disclosed and answered, by an agent or by a person again; a no discloses nothing,
// and neither does silence. A host that is killed between the receipt and handing over what follows asks for it again.
func TestTwoBridges(t *testing.T) {
	x := newTwoBridges(t)
	x.host.start("")
	silent := x.opens("agent", 30*time.Second)
	unanswered, _ := x.host.handedIn(x.agent, &schema.QueryAsk{Query: silent.Query})

	opened := x.opens("agent", time.Hour)
	o := x.asks(opened.Query, "approved")
	next, ok := o.Next()
	if !ok || next.Prompt != secretQuestion || next.RequestedRespondent != "agent" || next.ContinuationOf != opened.Query.QueryID ||
		next.Subject != opened.Query.Subject || next.Delivery.Capability == "" {
		t.Fatalf("a yes is followed by %+v", next)
	}
	x.answers(*next, "It went well.")
	x.stands(opened.GateID, "answered", "mediated", "It went well.")

	opened = x.opens("human", time.Hour)
	o = x.asks(opened.Query, "1")
	if next, ok = o.Next(); !ok {
		t.Fatalf("a yes is followed by nothing: %+v", o.Question.Gate)
	}
	o = x.asks(*next, "It went so so, é & <b>.")
	if _, ok := o.Next(); ok || o.Question.Gate.Status != "accepted" {
		t.Errorf("the continuation ended as %+v", o.Question.Gate)
	}
	x.stands(opened.GateID, "answered", "mediated", "It went so so, é & <b>.")

	opened = x.opens("agent", time.Hour)
	o = x.asks(opened.Query, "declined")
	if _, ok := o.Next(); ok || o.Question.Gate.Status != "accepted" || o.Question.Gate.Refused != "" {
		t.Errorf("a no ended as %+v", o.Question.Gate)
	}
	x.stands(opened.GateID, "declined", "mediated", "")

	for _, death := range []string{"submission", "receipt"} {
		x.survives(death)
	}

	o, err := x.agent.Await(x.host.ctx, unanswered.ID)
	x.host.ok(err)
	if _, ok := o.Next(); ok || !o.NoAnswer() || o.Question.Gate.Status != "none" {
		t.Errorf("silence ended as %+v", o.Question.Gate)
	}
	x.stands(silent.GateID, "expired", "", "")
	if strings.Contains(x.collector.everythingSaid(), "zebra") {
		t.Error("the collector's room has the protected query")
	}
}

// survives kills the host at a place of a submission: what follows is handed over all the same, and is the one that there is.
func (x *twoBridges) survives(death string) {
	s := x.host
	s.t.Helper()
	opened := x.opens("agent", time.Hour)
	s.kill()
	s.start(death)
	q, event := s.handedIn(x.agent, &schema.QueryAsk{Query: opened.Query})
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "approved")
	s.ok(err)
	s.gone()
	s.start("")
	o, err := x.agent.Await(s.ctx, q.ID)
	s.ok(err)
	next, ok := o.Next()
	if !ok || o.Question.Gate.Status != "accepted" || next.Prompt != secretQuestion {
		s.t.Fatalf("killed at %s, it ended as %+v, followed by %+v", death, o.Question.Gate, next)
	}
	x.answers(*next, "After all.")
	x.stands(opened.GateID, "answered", "mediated", "After all.")
}

// answers answers a query for an agent, at its collector itself.
func (x *twoBridges) answers(query schema.Query, text string) {
	x.host.t.Helper()
	receipt := sent[schema.Receipt](x, "", http.MethodPost, query.Delivery.Endpoint, query.Delivery.Capability, schema.Response{
		ProtocolVersion: schema.ProtocolVersion, QueryID: query.QueryID, ResponseID: string(gate.NewResponseID(time.Now())),
		Respondent: schema.Respondent{Kind: schema.RespondentAgent}, Provenance: schema.ProvenanceDirect,
		Answer: schema.ResponseAnswer{Text: &text}, RespondedAt: stampOf(0),
	}, http.StatusOK)
	if receipt.Status != schema.ReceiptAccepted || receipt.NextQuery != nil {
		x.host.t.Errorf("answered with %+v", receipt)
	}
}

// stands wants a gate in a state, by an approval of a provenance, with an answer; "" for none of those.
func (x *twoBridges) stands(id, state, provenance, answer string) {
	x.host.t.Helper()
	g := x.gate(id)
	got := ""
	if g.Answer != nil && g.Answer.Text != nil {
		got = *g.Answer.Text
	}
	by := ""
	if g.Provenance != nil {
		by = *g.Provenance
	}
	if g.State != state || got != answer || by != provenance {
		x.host.t.Errorf("the gate stands as %s, %s, with %q; want %s, %s, with %q", g.State, by, got, state, provenance, answer)
	}
}
