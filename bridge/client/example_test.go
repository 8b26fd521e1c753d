package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

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

// The options are in the order in which people see them; one of them may be typed instead.
func ExampleClient_Ask() {
	server := newServer()
	defer server.Close()
	reference := "rel-2.4"
	q, err := newClient(server.URL).Ask(context.Background(), "OPS", &schema.CoreAsk{
		Prompt:  "Which environment?",
		Context: "Release 2.4",
		Options: []schema.AskOption{
			{Value: "dev"}, // its own label
			{Value: "staging", Label: "Staging"},
			{Value: "prod", Label: "Production", Style: schema.StylePrimary},
		},
		TextInput: &schema.TextInput{Placeholder: "Another one"},
		AskTerms:  schema.AskTerms{CorrelationID: &reference, Data: map[string]any{"pipeline": "deploy"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(q.ID, q.State)
	// Output: q_8t2k pending
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

// The binary question asks one person, who must be able to answer in the room.
func ExampleClient_AskYesNo() {
	server := newServer()
	defer server.Close()
	q, err := newClient(server.URL).AskYesNo(context.Background(), "OPS", &schema.CoreAsk{
		Prompt:   "Deploy v1.4.0?",
		AskTerms: schema.AskTerms{TargetUserID: "@federica:example.org"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range q.Options {
		fmt.Println(o.Value, "is shown as", o.Label)
	}
	// Output:
	// approve is shown as Yes
	// deny is shown as No
}

// The values are those of AskYesNo, so one gate serves both.
func ExampleClient_AskApproval() {
	server := newServer()
	defer server.Close()
	c := newClient(server.URL)
	q, err := c.AskApproval(context.Background(), "OPS", &schema.CoreAsk{Prompt: "Refund order 5519?"})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := c.Await(context.Background(), q.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("approved:", outcome.Chose(client.ValueApprove))
	// Output: approved: false
}

// A key of the program's own makes a job that runs again find the question that it asked before, and not ask again.
func ExampleIdempotencyKey() {
	server := newServer()
	defer server.Close()
	c := newClient(server.URL)
	for range 2 {
		q, err := c.AskYesNo(context.Background(), "OPS", &schema.CoreAsk{Prompt: "Deploy v1.4.0?"}, client.IdempotencyKey("deploy-42"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(q.ID)
	}
	// Output:
	// q_8t2k
	// q_8t2k
}

// A lifetime that cannot be meant is left to the documented default, which is an hour.
func ExampleTTL() {
	fmt.Println(*client.TTL(90 * time.Second))
	fmt.Println(client.TTL(time.Until(time.Time{})) == nil)
	// Output:
	// 90
	// true
}

// The context bounds the wait and not the question, which stays pending and may be awaited again.
func ExampleClient_Await() {
	server := newServer()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	outcome, err := newClient(server.URL).Await(ctx, "q_8t2k")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("still pending")
	case err != nil:
		log.Fatal(err)
	default:
		label, _ := outcome.Label()
		correlation, _ := outcome.Correlation()
		fmt.Println(outcome.State, label, correlation)
	}
	// Output: answered No deploy-42
}

// A question is read without waiting.
func ExampleClient_Fetch() {
	server := newServer()
	defer server.Close()
	q, err := newClient(server.URL).Fetch(context.Background(), "q_8t2k")
	if err != nil {
		log.Fatal(err)
	}
	_, ended := q.Outcome()
	fmt.Println(q.Prompt, q.State, ended)
	// Output: Deploy v1.4.0? answered true
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

// A program with pages of its own reads one at a time, and keeps where it stopped.
func ExampleClient_ListPage() {
	server := newServer()
	defer server.Close()
	page, err := newClient(server.URL).ListPage(context.Background(), client.ListOptions{State: schema.Answered, PageSize: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Questions), "and more:", page.NextCursor != "")
	// Output: 1 and more: false
}

// What is no longer needed is withdrawn. Somebody may have been faster.
func ExampleClient_Cancel() {
	server := newServer()
	defer server.Close()
	q, err := newClient(server.URL).Cancel(context.Background(), "q_8t2k")
	if err != nil {
		log.Fatal(err)
	}
	if outcome, ok := q.Outcome(); ok {
		fmt.Println("withdrawn:", outcome.Withdrawn(), "answered:", outcome.Answered())
	}
	// Output: withdrawn: true answered: false
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
