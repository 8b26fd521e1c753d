package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// toHouse sends what is for the collector's address to the house.
type toHouse struct{ *gatehouse }

func (h toHouse) RoundTrip(r *http.Request) (*http.Response, error) {
	at, err := http.NewRequestWithContext(r.Context(), r.Method, strings.Replace(r.URL.String(), "https://collector.example", h.url, 1), r.Body)
	if err != nil {
		return nil, err
	}
	at.Header = r.Header
	return http.DefaultTransport.RoundTrip(at)
}

// The SDK's calls, end to end: one exchange is asked in the room, another one by a host of the agent's own.
func TestGatesOverTheSDK(t *testing.T) {
	inGatehouses(t, func(h *gatehouse) {
		c, err := client.New(client.Config{Server: h.url, Token: h.secret})
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ok(err)
		gates, ctx, outside := c.Gates(), t.Context(), &http.Client{Transport: toHouse{h}}
		o, err := schema.Decode[schema.GateOpening]([]byte(opening(inOps...)))
		ok(err)
		g, err := gates.Open(ctx, "OPS", o)
		ok(err)
		h.answered(*g.QuestionID, "approved")
		g, err = gates.Await(ctx, g.GateID, schema.GateOpen)
		ok(err)
		if g.State != schema.GateApproved {
			t.Fatalf("stands as %+v", g)
		}
		r, err := client.Respond(ctx, outside, g.NextQuery, client.NewResponse(g.NextQuery, schema.ResponseAnswer{Text: new("it went")}))
		ok(err)
		if g, err = gates.Await(ctx, g.GateID, schema.GateApproved); err != nil || r.Status != schema.ReceiptAccepted || *g.Answer.Text != "it went" {
			t.Errorf("receipt %+v, gate %+v, %v", r, g, err)
		}
		o.Ask = "return"
		other, err := gates.Open(ctx, "OPS", o)
		ok(err)
		declines := client.NewResponse(&other.Query, schema.ResponseAnswer{Choice: new(schema.ChoiceDeclined)})
		r, err = client.Respond(ctx, outside, &other.Query, declines)
		ok(err)
		again, err := client.Respond(ctx, outside, &other.Query, declines)
		ok(err)
		late, err := client.Respond(ctx, outside, &other.Query, client.NewResponse(&other.Query, schema.ResponseAnswer{Choice: new(schema.ChoiceApproved)}))
		ok(err)
		if *again != *r || r.NextQuery != nil || late.Reason != "already_answered" {
			t.Errorf("receipts %+v, %+v, %+v", r, again, late)
		}
		var listed []string
		for g, err := range gates.List(ctx, client.GateOptions{PageSize: 1}) {
			ok(err)
			listed = append(listed, g.State)
		}
		if strings.Join(listed, " ") != "declined answered" {
			t.Errorf("listed %v", listed)
		}
	})
}
