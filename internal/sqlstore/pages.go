package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// paging is how a page is read: by a query, whose last placeholder is how many rows, and the place of each row in it.
type paging[T any] struct {
	query string
	args  []any
	limit int // one outside 1–200 is taken as the nearest one inside
	scan  func(dbutil.Scannable) (T, error)
	place func(T) bridge.Place
}

// pageOf reads a page, and gives the cursor of the next one, "" on the last.
func pageOf[T any](ctx context.Context, s *Store, p paging[T]) (all []T, next string, err error) {
	limit := min(max(p.limit, 1), 200)
	if all, err = list(ctx, s, p.scan, p.query, append(p.args, limit+1)...); err != nil {
		return nil, "", fmt.Errorf("list: %w", err)
	}
	if len(all) <= limit {
		return all, "", nil
	}
	all = all[:limit]
	return all, p.place(all[limit-1]).Cursor(), nil
}

// page is the query for a page of questions, newest first.
type page struct {
	b    strings.Builder
	args []any
}

func (p *page) where(condition string, values ...any) {
	for _, value := range values {
		p.args = append(p.args, value)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(p.args)), 1)
	}
	p.b.WriteString(" AND " + condition)
}

// after leaves out what stands up to a place, if there is one, so that later questions change no later page.
func (p *page) after(place *bridge.Place) {
	if place != nil {
		p.where("(created_at, id) < (?, ?)", place.CreatedAt, place.ID)
	}
}

func (p *page) query() string {
	return p.b.String() + " ORDER BY created_at DESC, id DESC LIMIT $" + strconv.Itoa(len(p.args)+1)
}
