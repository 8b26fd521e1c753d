package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

const (
	asked = `{"id": "q_8t2k", "kind": "question", "prompt": "Deploy v1.4.0?", "context": null, "text_input": null,
		"options": [{"value": "approve", "label": "Yes", "style": "primary", "primary": true, "destructive": false},
			{"value": "deny", "label": "No", "style": "danger", "primary": false, "destructive": true}],
		"responder_scope": "room", "target_user_id": null, "resolution_policy": "first", "state": "pending", "answer": null,
		"created_at": "2026-11-01T12:00:00Z", "expires_at": "2026-11-01T12:30:00Z", "resolved_at": null,
		"correlation_id": "deploy-42", "reply_to": null, "data": null}`
	pending   = `"state": "pending", "answer": null`
	unsettled = `"resolved_at": null`
	saidNo    = `"state": "answered", "answer": {"value": "deny", "label": "No", "text": null,
		"responder": {"id": "@federica:example.org", "display_name": "Federica"}, "answered_at": "2026-11-01T12:10:00Z"}`
	settled = `"resolved_at": "2026-11-01T12:10:00Z"`
)

// newServer stands in for a server on which Federica said no.
func newServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := strings.NewReplacer(pending, saidNo, unsettled, settled).Replace(asked)
		switch {
		case r.URL.Path == "/api/agent/questions":
			io.WriteString(w, `{"questions": [`+answered+`], "next_cursor": null}`)
		case r.URL.Path == "/api/agent/rooms/OPS/questions":
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, asked)
		case strings.HasPrefix(r.URL.Path, "/api/agent/questions/q_8t2k"):
			io.WriteString(w, answered)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"status": 404, "code": "room_not_found", "detail": "There is no such room."}`)
		}
	}))
}

func newClient(server string) *client.Client {
	c, err := client.New(client.Config{Server: server, Token: "agent-token"})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A gate opens for one value alone, and tells the three outcomes apart.
func Example() {
	server := newServer()
	defer server.Close()
	c := newClient(server.URL)
	ctx := context.Background()

	q, err := c.AskYesNo(ctx, "OPS", &schema.CoreAsk{
		Prompt:   "Deploy v1.4.0?",
		AskTerms: schema.AskTerms{TTL: client.TTL(30 * time.Minute)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("asked", q.ID, "until", q.Expires().Format(time.TimeOnly))

	outcome, err := c.Await(ctx, q.ID)
	if err != nil {
		log.Fatal(err)
	}
	switch {
	case outcome.Chose(client.ValueApprove):
		fmt.Println("deploying")
	case outcome.Answered():
		by, _ := outcome.Responder()
		fmt.Println("said no:", by.ID)
	case outcome.NoAnswer():
		fmt.Println("nobody answered")
	case outcome.Withdrawn():
		fmt.Println("withdrawn")
	}
	// Output:
	// asked q_8t2k until 12:30:00
	// said no: @federica:example.org
}

// An ask that the protocol does not allow is refused before it is sent.
func ExampleClient_Ask_refused() {
	c := newClient("https://questions.example.org")
	_, err := c.Ask(context.Background(), "OPS", &schema.CoreAsk{
		Prompt:  "Which?",
		Options: []schema.AskOption{{Value: "a"}, {Value: "b"}, {Value: "c"}, {Value: "d"}, {Value: "e"}},
	})
	var refusal *schema.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Faults[0].Location, refusal.Faults[0].Keyword, refusal.Faults[0].Limit)
	}
	// Output: /options maxItems 4
}

// A refusal by the server has a stable code.
func ExampleError() {
	server := newServer()
	defer server.Close()
	_, err := newClient(server.URL).AskApproval(context.Background(), "#nowhere:example.org", &schema.CoreAsk{Prompt: "Deploy?"})
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Code)
	}
	// Output: 404 room_not_found
}

// After a crash, an asker finds its questions again by correlation id.
func ExampleClient_List() {
	server := newServer()
	defer server.Close()
	c := newClient(server.URL)
	for q, err := range c.List(context.Background(), client.ListOptions{CorrelationID: "deploy-42"}) {
		if err != nil {
			log.Fatal(err)
		}
		if outcome, ok := q.Outcome(); ok {
			value, _ := outcome.Value()
			fmt.Println(q.ID, "was answered:", value)
		}
	}
	// Output: q_8t2k was answered: deny
}
