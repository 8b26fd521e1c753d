package client_test

import (
	"context"
	"fmt"
	"log"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

func newResponder(server string) *client.Responder {
	r, err := client.NewResponder(client.Config{Server: server, Token: "a-person's-token"})
	if err != nil {
		log.Fatal(err)
	}
	return r
}

// A person's token lists what waits for that person.
func ExampleResponder_Pending() {
	server := newServer()
	defer server.Close()
	page, err := newResponder(server.URL).Pending(context.Background(), client.PendingOptions{PageSize: 50})
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range page.Questions {
		fmt.Println(q.ID, q.Prompt)
	}
	// Output: q_8t2k Deploy v1.4.0?
}

// An answer about an exact operation names the subject that was shown.
func ExampleResponder_Answer() {
	server := newServer()
	defer server.Close()
	r := newResponder(server.URL)
	q, err := r.Show(context.Background(), "q_8t2k")
	if err != nil {
		log.Fatal(err)
	}
	no := client.ValueDeny
	q, err = r.Answer(context.Background(), q.ID, schema.AnswerBody{Value: &no, Subject: client.SubjectOf(q)})
	if err != nil {
		log.Fatal(err)
	}
	outcome, _ := q.Outcome() // the answer that stands, which may be somebody else's
	fmt.Println(outcome.Chose(client.ValueDeny))
	// Output: true
}
