package sqlstore

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"
)

// Mention is a column in which a text stands, whatever it means there.
type Mention struct {
	Table, Column string
	Rows          int
}

// Mentions looks for a text in every column of every table, those of libraries too. It reads the whole database.
func (s *Store) Mentions(ctx context.Context, wanted string) ([]Mention, error) {
	type searched struct {
		Mention
		bytes string
	}
	columns, err := list(ctx, s, func(row dbutil.Scannable) (c searched, err error) {
		err = row.Scan(text(&c.Table), text(&c.Column), text(&c.bytes))
		return c, err
	}, s.dialect.columns)
	if err != nil {
		return nil, err
	}
	var found []Mention
	for _, c := range columns {
		query := `SELECT COUNT(*) FROM "` + c.Table + `" WHERE ` + fmt.Sprintf(s.dialect.contains, c.bytes)
		if c.Rows, _, err = first(ctx, s, column[int], query, wanted); err != nil {
			return nil, fmt.Errorf("look through %s: %w", c.Table, err)
		}
		if c.Rows > 0 {
			found = append(found, c.Mention)
		}
	}
	return found, nil
}
