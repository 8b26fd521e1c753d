package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// paged is a list of the server whose pages are documents P of items T.
type paged[P, T any] struct {
	path     string
	selected map[string]string // by the parameter; "" for every one
	pageSize int               // 1–MaxPage; 0 for the server's default
	of       func(*P) (items []T, next *string)
}

// each gives the items in the list's order, and asks for further pages as the loop gets to them. An error is the last thing
// it gives. A page without a list in it, or whose next one is itself, is none.
func (l paged[P, T]) each(ctx context.Context, c *Client) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor := ""; ; {
			page, err := l.page(ctx, c, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			items, next := l.of(page)
			for i := range items {
				if !yield(&items[i], nil) {
					return
				}
			}
			if next == nil {
				return
			}
			cursor = *next
		}
	}
}

func (l paged[P, T]) page(ctx context.Context, c *Client, cursor string) (*P, error) {
	query := url.Values{}
	for name, value := range l.selected {
		if value != "" {
			query.Set(name, value)
		}
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if l.pageSize > 0 {
		query.Set("limit", strconv.Itoa(min(l.pageSize, MaxPage)))
	}
	return documentOf(ctx, c, request{method: http.MethodGet, path: l.path, query: query}, func(p *P) bool {
		items, next := l.of(p)
		return items != nil && (next == nil || *next != cursor)
	})
}
