package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"superpipeline.dev/question-bridge/schema"
)

// Queue is an agent's Question Queue: producers propose clarifying questions in place of asking them, and the host asks
// once per turn whether one is worth asking. Turns are the host's own count, which only grows. It is safe for concurrent
// use, and the server has its methods for every language (docs/queue.md).
//
// For what a host calls on each turn the server fails closed: with its database down or the queue switched off, [Queue.Next]
// gives nil, [Queue.Use], [Queue.Gone] and [Queue.Prune] 0, and [Queue.Answer] and [Queue.Propose] say why. Errors are left for a
// server that cannot be reached, and for faults of the caller, such as 422 invalid_candidate. Nothing is tried again: the
// next turn comes anyway.
type Queue struct{ api *Client }

// Queue gives the agent's, whose token needs the scope queue.
func (c *Client) Queue() *Queue { return &Queue{c} }

// Propose hands in what a producer would like to have asked. The candidate that stands may be one that was there before;
// it is nil where the proposal was dropped, or the queue is switched off. Package producer makes proposals.
func (q *Queue) Propose(ctx context.Context, p schema.Proposal) (*schema.Proposed, error) {
	return queueCall(ctx, q, "propose", p, func(r *schema.Proposed) bool { return r.Outcome != "" })
}

// Next gives the one question that may be asked on this turn, or nil. It is delivered with that, and has spent the budget:
// asking it is the host's. A response that is lost loses it; [Queue.Candidates] shows it as delivered.
func (q *Queue) Next(ctx context.Context, b schema.NextBody) (*schema.Candidate, error) {
	r, err := queueCall(ctx, q, "next", b, func(r *schema.NextCandidate) bool { return r.Candidate == nil || r.Candidate.CandidateID != "" })
	if err != nil {
		return nil, err
	}
	return r.Candidate, nil
}

// Answer gives back what a person replied to a candidate, as they wrote it. The server keeps the option that it names, and
// nothing of the text.
func (q *Queue) Answer(ctx context.Context, id string, b schema.ReplyBody) (*schema.ReplyResult, error) {
	segment, err := pathSegment("candidate id", id)
	if err != nil {
		return nil, err
	}
	return queueCall(ctx, q, "candidates/"+segment+"/answer", b, func(r *schema.ReplyResult) bool { return r.Reason != "" })
}

// Use says which facts the host used on a turn, and gives of how many open candidates that moved the last use forwards.
func (q *Queue) Use(ctx context.Context, b schema.KeysBody) (updated int, err error) {
	r, err := queueCall(ctx, q, "use", b, anything[schema.Updated])
	if err != nil {
		return 0, err
	}
	return r.Updated, nil
}

// Gone says which facts are no more: open candidates about them expire, also delivered ones. It gives how many.
func (q *Queue) Gone(ctx context.Context, b schema.KeysBody) (expired int, err error) {
	r, err := queueCall(ctx, q, "stale", b, anything[schema.ExpiredCandidates])
	if err != nil {
		return 0, err
	}
	return r.Expired, nil
}

// Prune deletes the agent's candidates that are not pending and past their retention, and gives how many.
func (q *Queue) Prune(ctx context.Context, turn int) (pruned int, err error) {
	r, err := queueCall(ctx, q, "prune", schema.TurnBody{Turn: turn}, anything[schema.Pruned])
	if err != nil {
		return 0, err
	}
	return r.Pruned, nil
}

// CandidateOptions says which candidates to list. The zero value lists all of them.
type CandidateOptions struct {
	Status   string // pending, delivered, answered, cooled or expired; "" for every one
	PageSize int    // candidates per request, 1–MaxPage; 0 for the server's default
}

// Candidates gives the agent's, newest first, and asks for further pages as the loop gets to them. An error is the last
// thing it gives.
func (q *Queue) Candidates(ctx context.Context, o CandidateOptions) iter.Seq2[*schema.Candidate, error] {
	return paged[schema.Candidates, schema.Candidate]{
		path: queuePath + "candidates", selected: map[string]string{"status": o.Status}, pageSize: o.PageSize,
		of: func(p *schema.Candidates) ([]schema.Candidate, *string) { return p.Candidates, p.NextCursor },
	}.each(ctx, q.api)
}

// Candidate reads one of the agent's. Any other is 404 candidate_not_found.
func (q *Queue) Candidate(ctx context.Context, id string) (*schema.Candidate, error) {
	segment, err := pathSegment("candidate id", id)
	if err != nil {
		return nil, err
	}
	return queueSend(ctx, q, request{method: http.MethodGet, path: queuePath + "candidates/" + segment}, func(c *schema.Candidate) bool {
		return c.CandidateID == id
	})
}

// Evidence reads what the answers said about one of the agent's facts: a confidence of 0.5 where nothing was said.
func (q *Queue) Evidence(ctx context.Context, key string) (*schema.Evidence, error) {
	r := request{method: http.MethodGet, path: queuePath + "evidence", query: url.Values{"key": {key}}}
	return queueSend(ctx, q, r, func(e *schema.Evidence) bool { return e.Key == key })
}

// SetCallback registers where the server asks the host which candidates are stale, in place of what was registered before;
// "" registers none. The host answers a POST of a [schema.StalenessCheck] with a [schema.StaleCandidates].
func (q *Queue) SetCallback(ctx context.Context, address string) error {
	body := schema.Callback{}
	if address != "" {
		body.URL = &address
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("client: the callback cannot be written as JSON: %w", err)
	}
	_, err = queueSend(ctx, q, request{method: http.MethodPut, path: queuePath + "callback", body: raw}, anything[schema.Callback])
	return err
}

// Callback reads it; "" for none.
func (q *Queue) Callback(ctx context.Context) (string, error) {
	c, err := queueSend(ctx, q, request{method: http.MethodGet, path: queuePath + "callback"}, anything[schema.Callback])
	if err != nil || c.URL == nil {
		return "", err
	}
	return *c.URL, nil
}

const queuePath = "/api/agent/queue/"

func anything[T any](*T) bool { return true }

// queueCall posts a document, and reads the one that comes back.
func queueCall[T any](ctx context.Context, q *Queue, call string, body any, good func(*T) bool) (*T, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("client: the request cannot be written as JSON: %w", err)
	}
	return queueSend(ctx, q, request{method: http.MethodPost, path: queuePath + call, body: raw}, good)
}

func queueSend[T any](ctx context.Context, q *Queue, r request, good func(*T) bool) (*T, error) {
	return documentOf(ctx, q.api, r, good)
}
