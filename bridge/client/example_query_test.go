package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"superpipeline.dev/question-bridge/schema"
)

// An agent that a collector gave an approval query has it put to the people of a room, and is handed what follows a yes.
func ExampleClient_AskQuery() {
	server := newQueryServer()
	defer server.Close()
	c, ctx := newClient(server.URL), context.Background()

	query := schema.Query{ // as the collector gave it
		ProtocolVersion: schema.ProtocolVersion, QueryID: "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", Type: schema.TypeApproval,
		Subject:             schema.Principal{Kind: "user", ID: "usr_pairwise_Q7c", IDScope: "pairwise"},
		RequestedRespondent: schema.RespondentHuman, Prompt: "May the product provider receive a bounded feedback report?",
		Timing:   schema.TimingImmediate,
		Response: schema.ResponseFormat{Format: schema.FormatChoice, Choices: []string{schema.ChoiceApproved, schema.ChoiceDeclined}},
		Delivery: schema.QueryDelivery{Binding: "https", Endpoint: "https://queries.example/responses"}, ExpiresAt: "2026-11-01T14:00:00Z",
	}
	q, err := c.AskQuery(ctx, "OPS", &schema.QueryAsk{Query: query})
	if err != nil {
		log.Fatal(err)
	}
	o, err := c.Await(ctx, q.ID) // until somebody answers, and that is submitted
	if err != nil {
		log.Fatal(err)
	}
	submission, _ := o.Question.Submission()
	fmt.Println(o.Chose(schema.ChoiceApproved), submission.Status)
	if next, ok := o.Next(); ok && next.RequestedRespondent == schema.RespondentAgent {
		fmt.Println(next.Prompt) // for this agent to answer: see Respond
	}
	// Output:
	// true accepted
	// Provide a bounded assessment of the product outcome.
}

// newQueryServer stands in for a server on which Federica said yes to a query, and its collector took that.
func newQueryServer() *httptest.Server {
	var q schema.Question
	if err := json.Unmarshal([]byte(asked), &q); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	give := func(w http.ResponseWriter, status int) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(q); err != nil {
			log.Fatal(err)
		}
	}
	mux.HandleFunc("POST /api/agent/rooms/OPS/queries", func(w http.ResponseWriter, _ *http.Request) {
		q.Gate = &schema.Submission{QueryID: "0198c7cb-1af1-7e79-bd7f-02f8a89b8857", Status: "waiting"}
		give(w, http.StatusCreated)
	})
	mux.HandleFunc("GET /api/agent/questions/q_8t2k/wait", func(w http.ResponseWriter, _ *http.Request) {
		said, at := schema.ChoiceApproved, schema.Timestamp("2026-11-01T12:10:00Z")
		q.State, q.ResolvedAt = schema.Answered, &at
		q.Answer = &schema.Answer{Value: &said, Label: &said, Responder: schema.Responder{ID: "@federica:example.org"}, AnsweredAt: at}
		q.Gate.Status = schema.ReceiptAccepted
		q.NextQuery = &schema.Query{RequestedRespondent: schema.RespondentAgent, Prompt: "Provide a bounded assessment of the product outcome."}
		give(w, http.StatusOK)
	})
	return httptest.NewServer(mux)
}
