package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxResponse bounds what is read of a response: a page of the largest questions fits.
const maxResponse = 16 << 20

// request is one call of the API. Its path begins with a slash and is escaped.
type request struct {
	method string
	path   string
	query  url.Values
	body   []byte         // JSON, or nil
	hold   time.Duration  // how long the server may hold it
	key    IdempotencyKey // "" for none
}

// send gives the body of a response with success. Every other response is an [*Error]; any other error means that there
// was no response.
func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	limit := c.timeout + r.hold
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(bounded, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", "question-bridge-client")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", string(r.key))
	}

	resp, err := c.http.Do(req)
	var body []byte
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("client: %w", ctx.Err())
	case err != nil && bounded.Err() != nil:
		// Not wrapped: it is not the caller's deadline that has passed.
		return nil, fmt.Errorf("client: %s did not respond within %s", req.URL.Host, limit)
	case err != nil:
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("client: cannot reach %s: %w", req.URL.Host, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, responseError(resp, body)
	case len(body) > maxResponse:
		return nil, unreadable(resp.StatusCode, fmt.Sprintf("the response is larger than %d bytes", maxResponse))
	}
	return body, nil
}

func unreadable(status int, detail string) *Error {
	return &Error{Status: status, Code: CodeUnreadable, Detail: detail}
}

// pathSegment escapes what a caller names for one segment of a path. Dots alone would be taken for a step up.
func pathSegment(what, name string) (string, error) {
	switch name {
	case "":
		return "", fmt.Errorf("client: the %s is empty", what)
	case ".", "..":
		return "", fmt.Errorf("client: %q is no %s", name, what)
	}
	return url.PathEscape(name), nil
}

func questionPath(id string) (string, error) {
	segment, err := pathSegment("question id", id)
	return "/api/agent/questions/" + segment, err
}

// question sends a request whose response is a question; of this id, unless it is "".
func (c *Client) question(ctx context.Context, id string, r request) (*Question, error) {
	body, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	q, err := readQuestion(body)
	if err != nil {
		return nil, unreadable(http.StatusOK, err.Error())
	}
	if id != "" && q.ID != id {
		return nil, unreadable(http.StatusOK, "the response is about another question")
	}
	return q, nil
}

// Fetch reads one question of this agent. A question of somebody else is 404 question_not_found.
func (c *Client) Fetch(ctx context.Context, id string) (*Question, error) {
	path, err := questionPath(id)
	if err != nil {
		return nil, err
	}
	return c.question(ctx, id, request{method: http.MethodGet, path: path})
}

// Cancel withdraws a question. One that has ended already stays as it is: look at the State of what is returned. Doing it
// twice changes nothing, so it is tried again as [Client.Ask] is.
func (c *Client) Cancel(ctx context.Context, id string) (*Question, error) {
	path, err := questionPath(id)
	if err != nil {
		return nil, err
	}
	return c.persist(ctx, id, request{method: http.MethodPost, path: path + "/cancel"})
}

// documentOf sends a request and reads the document that comes back. One that is not good is no answer to what was asked.
func documentOf[T any](ctx context.Context, c *Client, r request, good func(*T) bool) (*T, error) {
	raw, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	document := new(T)
	if err := decodeOne(raw, document); err != nil || !good(document) {
		return nil, unreadable(http.StatusOK, "the response is not the document that was asked for")
	}
	return document, nil
}
