package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/schema"
)

// receiptLost dies when a receipt came, before it is kept.
func receiptLost(b *parts) {
	submitter := b.submits.Kinds[host.EffectSubmit].Handler.(*host.Submitter)
	submitter.Caller = dyingCaller{submitter.Caller}
}

type dyingCaller struct{ host.Caller }

func (d dyingCaller) Do(ctx context.Context, r egress.Request) (egress.Response, error) {
	if _, err := d.Caller.Do(ctx, r); err != nil {
		return egress.Response{}, err
	}
	return egress.Response{}, die()
}

// collecting is a collector: one receipt a response, always the same, and a query that follows a yes.
type collecting struct {
	*httptest.Server
	mu       sync.Mutex
	came     []string // bodies, in order
	receipts map[string][]byte
}

const (
	queryCapability = "capability-of-the-approval"
	nextCapability  = "capability-of-the-report"
	queryPrompt     = "May the product provider receive a bounded feedback report about this interaction?"
	nextPrompt      = "Provide a bounded assessment of the product outcome."
	principal       = "usr_pairwise_Q7c"
)

func newCollecting(t *testing.T) *collecting {
	t.Helper()
	c := &collecting{receipts: map[string][]byte{}}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever sent it died
		}
		response, err := schema.Decode[schema.Response](body)
		if err != nil || r.Header.Get("Authorization") != "Bearer "+queryCapability || r.URL.Path != "/responses" {
			t.Errorf("%s with %q: %v", r.URL.Path, r.Header.Get("Authorization"), err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.came = append(c.came, string(body))
		if c.receipts[response.ResponseID] == nil {
			c.receipts[response.ResponseID] = receiptFor(response)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(c.receipts[response.ResponseID])
	}))
	t.Cleanup(c.Close)
	return c
}

func receiptFor(response *schema.Response) []byte {
	receipt := schema.Receipt{
		ProtocolVersion: schema.ProtocolVersion, QueryID: response.QueryID, ResponseID: response.ResponseID,
		Status: schema.ReceiptAccepted, ReceivedAt: stampOf(0),
	}
	if *response.Answer.Choice == schema.ChoiceApproved {
		receipt.NextQuery = &schema.Query{
			ProtocolVersion: schema.ProtocolVersion, QueryID: "0198c7dd-4a50-7c2f-a084-f7f30cd8ec91", ContinuationOf: response.QueryID,
			Type: "feedback", Subject: schema.Principal{Kind: "user", ID: principal, IDScope: "pairwise"}, RequestedRespondent: schema.RespondentAgent,
			Prompt: nextPrompt, Timing: schema.TimingAfterOutcomeKnown, Response: schema.ResponseFormat{Format: schema.FormatText, MaxLength: 700},
			Delivery: schema.QueryDelivery{Binding: "https", Capability: nextCapability}, ExpiresAt: stampOf(time.Hour),
		}
	}
	raw, _ := json.Marshal(receipt) // it can be
	return raw
}

func stampOf(after time.Duration) schema.Timestamp {
	return schema.Timestamp(time.Now().Add(after).UTC().Format(time.RFC3339))
}

// query is the document's approval query, at this collector.
func (c *collecting) query(lives time.Duration) *schema.QueryAsk {
	return &schema.QueryAsk{Query: schema.Query{
		ProtocolVersion: schema.ProtocolVersion, QueryID: "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", Type: schema.TypeApproval,
		Subject: schema.Principal{Kind: "user", ID: principal, IDScope: "pairwise"}, RequestedRespondent: schema.RespondentHuman,
		Prompt: queryPrompt, Instructions: "Ask exactly this question. Do not infer an answer from silence or unrelated approval.",
		Timing:   schema.TimingImmediate,
		Response: schema.ResponseFormat{Format: schema.FormatChoice, Choices: []string{schema.ChoiceApproved, schema.ChoiceDeclined}},
		Delivery: schema.QueryDelivery{Binding: "https", Endpoint: c.URL + "/responses", Capability: queryCapability}, ExpiresAt: stampOf(lives),
	}}
}

// once wants the same response to have come as often as it did, at least so many times, and gives it.
func (c *collecting) once(t *testing.T, atLeast int) *schema.Response {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.came) < atLeast {
		t.Fatalf("%d responses came, want %d", len(c.came), atLeast)
	}
	for _, body := range c.came {
		if body != c.came[0] {
			t.Errorf("submitted %s and %s", c.came[0], body)
		}
	}
	response, err := schema.Decode[schema.Response]([]byte(c.came[0]))
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// reaches lets the stage's bridge call somewhere by TLS, whose certificate it has from a file.
func (s *stage) reaches(server *httptest.Server) {
	s.t.Helper()
	file := withAuthority(s.t, server)
	s.reconfigure(func(cfg *config.Config) { cfg.Egress.Allow, cfg.Egress.CAFile = []string{"127.0.0.1"}, file })
}

// gateClient acts as an agent that has gated exchanges.
func (s *stage) gateClient(agent string) *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{Server: s.api, Token: s.granted(agent, "gate", "read")})
	s.ok(err)
	return c
}

// everythingSaid is what stands in the room, for looking for what must not.
func (s *stage) everythingSaid() string {
	s.t.Helper()
	events, err := s.alice.Messages(s.ctx, s.room)
	s.ok(err)
	return fmt.Sprintf("%+v", events)
}
