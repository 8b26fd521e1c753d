package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// NewResponse words the response to a query, under a new id, which is one for all the times that it is sent. An answer of an
// agent's own is for a query that asks for one; nobody but a person answers a query for a human.
func NewResponse(q *schema.Query, answer schema.ResponseAnswer) schema.Response {
	now := time.Now()
	r := schema.Response{
		ProtocolVersion: schema.ProtocolVersion, QueryID: q.QueryID, ResponseID: schema.NewID(now), Respondent: schema.Respondent{Kind: q.RequestedRespondent},
		Provenance: schema.ProvenanceDirect, Answer: answer, RespondedAt: schema.Timestamp(now.UTC().Format(time.RFC3339)),
	}
	if q.RequestedRespondent == schema.RespondentHuman {
		r.Provenance = schema.ProvenanceMediated
	}
	return r
}

// Respond submits a response to the endpoint of its query, with the query's capability and no token, and gives the receipt,
// whatever its Status. Any other response is an [*Error]. It is not tried again: the same response may be, as often as one
// likes, and gets the same receipt.
func Respond(ctx context.Context, h *http.Client, q *schema.Query, r schema.Response) (*schema.Receipt, error) {
	if q.Delivery.Endpoint == "" || q.Delivery.Capability == "" {
		return nil, errors.New("client: the query says neither where nor by what right it is answered")
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("client: the response cannot be written as JSON: %w", err)
	}
	if _, err := schema.Decode[schema.Response](body); err != nil {
		return nil, fmt.Errorf("client: the response is not sent: %w", err)
	}
	to, err := url.Parse(q.Delivery.Endpoint)
	if err != nil {
		return nil, errors.New("client: the query's endpoint is no URL")
	}
	c, err := New(Config{Server: to.Scheme + "://" + to.Host, Token: q.Delivery.Capability, HTTPClient: h})
	if err != nil {
		return nil, err
	}
	raw, err := c.send(ctx, request{method: http.MethodPost, path: to.EscapedPath(), query: to.Query(), body: body})
	refused := unreadable(http.StatusOK, "the response is not the receipt that was asked for")
	if errors.As(err, &refused) {
		raw = refused.document // a receipt too may come with a status that is no success
	} else if err != nil {
		return nil, err
	}
	receipt, err := schema.Decode[schema.Receipt](raw)
	if err != nil || receipt.QueryID != r.QueryID || receipt.ResponseID != r.ResponseID {
		return nil, refused
	}
	return receipt, nil
}
