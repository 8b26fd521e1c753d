package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// An agent opens a gate, waits until a person in the room has approved, and answers the continuation itself.
func ExampleGates() {
	server := newGateServer()
	defer server.Close()
	gates, ctx := newClient(server.URL).Gates(), context.Background()

	gate, err := gates.Open(ctx, "OPS", &schema.GateOpening{
		Requester: "Product provider", Purpose: "feedback", Ask: "room",
		Subject:  schema.Principal{Kind: "user", ID: "usr_pairwise_Q7c", IDScope: "pairwise"},
		Approval: schema.ApprovalTerms{Prompt: "May the product provider receive a bounded feedback report about this interaction?"},
		Query: schema.ProtectedQuery{ // nobody sees it before approval
			Type: "feedback", Prompt: "Provide a bounded assessment of the product outcome.", RequestedRespondent: schema.RespondentAgent,
			Timing: schema.TimingAfterOutcomeKnown, Response: schema.ResponseFormat{Format: schema.FormatText, MaxLength: 700},
		},
	}, client.IdempotencyKey("run-17"))
	if err != nil {
		log.Fatal(err)
	}
	gate, err = gates.Await(ctx, gate.GateID, schema.GateOpen)
	if err != nil {
		log.Fatal(err)
	}
	if gate.State != schema.GateApproved {
		return // a no, or silence: nothing is disclosed
	}
	fmt.Println(gate.NextQuery.Prompt)
	answer := client.NewResponse(gate.NextQuery, schema.ResponseAnswer{Text: new("It did what was asked of it.")})
	receipt, err := client.Respond(ctx, server.Client(), gate.NextQuery, answer)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Status)
	// Output:
	// Provide a bounded assessment of the product outcome.
	// accepted
}

const continuation = `{"protocolVersion": "2026-07-30", "queryId": "0198c7dd-4a50-7c2f-a084-f7f30cd8ec91",
	"continuationOf": "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", "type": "feedback", "subject": {"kind": "user", "id": "usr_pairwise_Q7c", "idScope": "pairwise"},
	"requestedRespondent": "agent", "prompt": "Provide a bounded assessment of the product outcome.", "timing": "after_outcome_known",
	"response": {"format": "text", "maxLength": 700}, "delivery": {"binding": "https", "endpoint": "SERVER/responses", "capability": "a-secret-of-this-query"},
	"expiresAt": "2026-07-30T19:05:00Z"}`

// newGateServer stands in for a server on which a person approves at once.
func newGateServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			io.WriteString(w, `{"gate_id": "g_7t2k", "state": "approved", "next_query": `+strings.Replace(continuation, "SERVER", "http://"+r.Host, 1)+`}`)
		case r.URL.Path == "/responses":
			response, err := readResponse(r)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Fprintf(w, `{"protocolVersion": "2026-07-30", "queryId": %q, "responseId": %q, "status": "accepted", "retryable": false,
				"receivedAt": "2026-07-30T18:05:13Z"}`, response.QueryID, response.ResponseID)
		default:
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"gate_id": "g_7t2k", "state": "open"}`)
		}
	}))
}

func readResponse(r *http.Request) (*schema.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return schema.Decode[schema.Response](body)
}
