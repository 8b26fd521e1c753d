package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"superpipeline.dev/question-bridge/schema"
)

// AskQuery hands a query in that a collector gave to this agent (Approval and continuations, section 1), for the people of a
// room; the token needs the scope gate. What it returns is the question that the query has become: [Client.Await] waits for
// what somebody answers, and until that is submitted. The same query is asked once, however often it is handed in.
//
// A query that breaks the rules is not sent: the error is then a [*schema.Refusal]. A refusal by the server is an [*Error].
// What may pass is tried again, as by [Client.Ask].
func (c *Client) AskQuery(ctx context.Context, room string, ask *schema.QueryAsk) (*Question, error) {
	segment, err := pathSegment("room", room)
	if err != nil {
		return nil, err
	}
	if ask == nil {
		return nil, errors.New("client: no query")
	}
	completed := *ask
	completed.AskTerms = completedTerms(ask.AskTerms)
	completed.TTL = nil
	body, err := json.Marshal(completed)
	if err != nil {
		return nil, fmt.Errorf("client: the query cannot be written as JSON: %w", err)
	}
	if _, err := schema.Decode[schema.QueryAsk](body); err != nil {
		return nil, fmt.Errorf("client: the query is not sent: %w", err)
	}
	return c.persist(ctx, "", request{method: http.MethodPost, path: "/api/agent/rooms/" + segment + "/queries", body: body})
}

// Submission is what became of the answer to a query; ok is false for a question that asks none.
func (q *Question) Submission() (s schema.Submission, ok bool) {
	if q.Gate == nil {
		return schema.Submission{}, false
	}
	return *q.Gate, true
}

// submitting says whether an answer is still on its way to its collector.
func (q *Question) submitting() bool {
	return q.Gate != nil && q.Gate.Status == schema.SubmissionGoesOn
}

// Next is the query that follows the answer, with its capability: the agent's own to answer where it is for an agent, or to
// be handed in where it is for a human. ok is false where none follows.
func (o *Outcome) Next() (q *schema.Query, ok bool) {
	if o == nil || o.Question == nil || o.Question.NextQuery == nil {
		return nil, false
	}
	return o.Question.NextQuery, true
}
