package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"superpipeline.dev/question-bridge/bridge/producer"
	"superpipeline.dev/question-bridge/schema"
)

// A host asks its queue once per turn, asks the person in its own words, and gives the reply back.
func ExampleQueue() {
	server := newQueueServer()
	defer server.Close()
	queue, ctx := newClient(server.URL).Queue(), context.Background()

	// A producer proposes; it never asks directly.
	_, err := queue.Propose(ctx, schema.Proposal{
		Turn: 12, QuestionText: "Does Dana prefer morning or afternoon meetings?",
		Kind: "disjunction", AmbiguitySignal: "disjunction", SourceModule: "reconciliation", TargetKeys: schema.Keys("fact:17", "fact:42"),
		Options: []schema.ProposalOption{
			{Label: "morning", Acted: []string{"fact:17"}, Contradicted: []string{"fact:42"}},
			{Label: "afternoon", Acted: []string{"fact:42"}, Contradicted: []string{"fact:17"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	// The host asks the queue once per turn.
	q, err := queue.Next(ctx, schema.NextBody{Turn: 13, QueryCues: &schema.Cues{"morning meetings with Dana"}})
	if err != nil {
		log.Fatal(err)
	}
	if q == nil {
		return // nothing is worth a question on this turn
	}
	fmt.Println(q.QuestionText) // in whatever words the host likes

	outcome, err := queue.Answer(ctx, q.CandidateID, schema.ReplyBody{AnswerText: "morning", Turn: 14})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Applied, outcome.Reason, *outcome.OptionIndex)
	// Output:
	// Does Dana prefer morning or afternoon meetings?
	// true applied 0
}

// Package producer makes a proposal of what a host's confidence gate withheld.
func ExampleQueue_Propose() {
	server := newQueueServer()
	defer server.Close()
	queue := newClient(server.URL).Queue()
	withheld := &producer.GateReport{Query: "deployment", Gated: true, Mode: producer.GateRefuse, RefusedKeys: []string{"fact:9"}}
	for _, p := range producer.FromGate(12, withheld) {
		r, err := queue.Propose(context.Background(), p)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Outcome, p.QuestionText)
	}
	// Output:
	// proposed I am not sure of what I know about “deployment” (fact:9). Is it still right?
}

// newQueueServer is a server whose queue holds whatever was proposed last.
func newQueueServer() *httptest.Server {
	var last schema.Candidate
	mux := http.NewServeMux()
	on := func(pattern string, document func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewEncoder(w).Encode(document(r)); err != nil {
				log.Fatal(err)
			}
		})
	}
	on("POST /api/agent/queue/propose", func(r *http.Request) any {
		var p schema.Proposal
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			log.Fatal(err)
		}
		last = schema.Candidate{CandidateID: "c_1", QuestionText: p.QuestionText, Options: p.Options}
		return schema.Proposed{Outcome: "proposed", Candidate: &last}
	})
	on("POST /api/agent/queue/next", func(*http.Request) any { return schema.NextCandidate{Candidate: &last} })
	on("POST /api/agent/queue/candidates/c_1/answer", func(*http.Request) any {
		return schema.ReplyResult{Applied: true, Reason: "applied", OptionIndex: new(int)}
	})
	return httptest.NewServer(mux)
}
