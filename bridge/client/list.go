package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"superpipeline.dev/question-bridge/schema"
)

// MaxPage is the most questions that a server gives in one page.
const MaxPage = 200

// ListOptions says which questions to list. The zero value lists all of them.
type ListOptions struct {
	State         schema.State // "" for every state
	CorrelationID string       // "" for every one
	PageSize      int          // questions per request, 1–MaxPage; 0 for the server's default
	Cursor        string       // where to begin: the NextCursor of a page
}

// Page is one page of a list.
type Page struct {
	Questions  []*Question // newest first
	NextCursor string      // "" on the last page
}

// List gives this agent's questions, newest first, and asks for further pages as the loop gets to them. An error is the
// last thing it gives.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[*Question, error] {
	return func(yield func(*Question, error) bool) {
		for o := o; ; {
			page, err := c.ListPage(ctx, o)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, q := range page.Questions {
				if !yield(q, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			o.Cursor = page.NextCursor
		}
	}
}

// ListPage gives one page of a list.
func (c *Client) ListPage(ctx context.Context, o ListOptions) (*Page, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"state": string(o.State), "correlation_id": o.CorrelationID, "cursor": o.Cursor,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if o.PageSize > 0 {
		query.Set("limit", strconv.Itoa(min(o.PageSize, MaxPage)))
	}
	raw, err := c.send(ctx, request{method: http.MethodGet, path: "/api/agent/questions", query: query})
	if err != nil {
		return nil, err
	}
	return readPage(raw, o.Cursor)
}

func readPage(raw []byte, cursor string) (*Page, error) {
	var list struct {
		Questions  []json.RawMessage `json:"questions"`
		NextCursor *string           `json:"next_cursor"`
	}
	if err := decodeOne(raw, &list); err != nil || list.Questions == nil {
		return nil, unreadable(http.StatusOK, "the response is not a list of questions")
	}
	page := &Page{Questions: make([]*Question, 0, len(list.Questions))}
	for _, one := range list.Questions {
		q, err := readQuestion(one)
		if err != nil {
			return nil, unreadable(http.StatusOK, err.Error())
		}
		page.Questions = append(page.Questions, q)
	}
	if list.NextCursor != nil {
		page.NextCursor = *list.NextCursor
	}
	if page.NextCursor != "" && page.NextCursor == cursor {
		return nil, unreadable(http.StatusOK, "the next page of the list is the same page again")
	}
	return page, nil
}
