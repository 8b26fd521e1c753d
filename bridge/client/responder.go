package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"superpipeline.dev/question-bridge/schema"
)

// Responder answers questions on one server as one person: the one whom the responder token authenticates. Nothing lets a
// caller name another. It is safe for concurrent use. (The Question Protocol 1.1, section 7, "Responder (human) side".)
type Responder struct{ api *Client }

// NewResponder checks the configuration, whose Token is a person's own responder token; it does not connect.
func NewResponder(cfg Config) (*Responder, error) {
	api, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Responder{api}, nil
}

// PendingOptions says which page of what waits for a person to give. The zero value is the first.
type PendingOptions struct {
	PageSize int    // 1–MaxPage; 0 for the server's default
	Cursor   string // where to begin: the NextCursor of a page
}

// Pending gives one page of the questions that this person may answer now, newest first.
func (r *Responder) Pending(ctx context.Context, o PendingOptions) (*Page, error) {
	query := url.Values{}
	if o.PageSize > 0 {
		query.Set("limit", strconv.Itoa(min(o.PageSize, MaxPage)))
	}
	if o.Cursor != "" {
		query.Set("cursor", o.Cursor)
	}
	raw, err := r.api.send(ctx, request{method: http.MethodGet, path: "/api/questions/pending", query: query})
	if err != nil {
		return nil, err
	}
	return readPage(raw, o.Cursor)
}

// Show gives a question that this person may answer, or might have before it ended, with everything that there is to
// decide by: options, items, and the whole preview of a subject. Data, CorrelationID and ReplyTo are the asker's and nil.
func (r *Responder) Show(ctx context.Context, id string) (*Question, error) {
	path, err := responderPath(id)
	if err != nil {
		return nil, err
	}
	return r.api.question(ctx, id, request{method: http.MethodGet, path: path})
}

// Answer answers a question. The first valid answer wins: what is returned is the question with the answer that stands,
// which may be somebody else's, or none where the question expired or was withdrawn before. Sending the same answer again
// changes nothing, so it may be repeated after an error that leaves open whether it arrived.
//
// Whatever an option that does not reject does with a question's subject needs that subject in full: see [SubjectOf]. A
// body that is no answer to any question is not sent: the error is then a [*schema.Refusal]. Refusals of the server are
// [*Error], and leave the question pending.
func (r *Responder) Answer(ctx context.Context, id string, body schema.AnswerBody) (*Question, error) {
	path, err := responderPath(id)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("client: the answer cannot be written as JSON: %w", err)
	}
	if _, err := schema.Decode[schema.AnswerBody](raw); err != nil {
		return nil, fmt.Errorf("client: the answer is not sent: %w", err)
	}
	q, err := r.api.question(ctx, id, request{method: http.MethodPost, path: path + "/answer", body: raw})
	if err == nil && q.State == schema.Pending {
		return nil, unreadable(http.StatusOK, "the question is still pending after an answer")
	}
	return q, err
}

// SubjectOf names exactly the subject that a question shows, for an answer that is about it; nil where it shows none.
func SubjectOf(q *Question) *schema.SubjectRef {
	s := q.Subject
	if s == nil {
		return nil
	}
	return &schema.SubjectRef{ID: s.ID, Digest: s.Digest, Schema: s.Schema, Revision: s.Revision}
}

func responderPath(id string) (string, error) {
	segment, err := pathSegment("question id", id)
	return "/api/questions/" + segment, err
}
