package sqlstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/mattn/go-sqlite3"
	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// exec runs one statement and says how many rows it changed.
func (s *Store) exec(ctx context.Context, query string, args ...any) (int, error) {
	result, err := s.db.Exec(ctx, query, storable(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// list reads every row of a query.
func list[T any](ctx context.Context, s *Store, scan func(dbutil.Scannable) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.db.Query(ctx, query, storable(args)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return all, rows.Close()
}

// first reads the first row of a query; ok is false when there is none.
func first[T any](ctx context.Context, s *Store, scan func(dbutil.Scannable) (T, error), query string, args ...any) (one T, ok bool, err error) {
	all, err := list(ctx, s, scan, query, args...)
	if err != nil || len(all) == 0 {
		return one, false, err
	}
	return all[0], true, nil
}

// column scans a row of one column.
func column[T any](row dbutil.Scannable) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// textOf scans a row of one column of text.
func textOf[T ~string](row dbutil.Scannable) (value T, err error) {
	err = row.Scan(text(&value))
	return value, err
}

// placeholders writes "($1,$2),($3,$4)" for so many rows of so many columns.
func placeholders(rows, columns int) string {
	var b strings.Builder
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for j := range columns {
			if j == 0 {
				b.WriteString("($")
			} else {
				b.WriteString(",$")
			}
			b.WriteString(strconv.Itoa(i*columns + j + 1))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// numbered writes "$1,$2" for so many values.
func numbered(n int) string { return strings.Trim(placeholders(1, n), "()") }

// notFound is the error for an id that the store does not have.
func notFound(what string) error {
	return &bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such " + what}
}

// orphaned says whether SQLite refused a row because there is not what it hangs on.
func orphaned(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	return ok && e.ExtendedCode == sqlite3.ErrConstraintForeignKey
}

// found turns "no row" into notFound.
func found(ok bool, err error, what string) error {
	if err == nil && !ok {
		return notFound(what)
	}
	return err
}

// storable turns arguments into what both databases keep: a time into milliseconds, JSON into bytes, and text that
// PostgreSQL refuses (NUL, broken UTF-8) into text that it takes.
func storable(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			out[i] = v.UnixMilli()
		case *time.Time:
			if v != nil {
				out[i] = v.UnixMilli()
			}
		case json.RawMessage:
			if v != nil {
				out[i] = []byte(v)
			}
		case string:
			out[i] = escape(v)
		case *string:
			if v != nil {
				out[i] = escape(*v)
			}
		default:
			out[i] = arg
			if value := reflect.ValueOf(arg); value.Kind() == reflect.String {
				out[i] = escape(value.String())
			}
		}
	}
	return out
}

// orNull is NULL for the empty text.
func orNull[T ~string](text T) any {
	if text == "" {
		return nil
	}
	return text
}

// escaped begins text that is stored as its bytes in hexadecimal.
const escaped = "\uFFFD"

func escape(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 && !strings.HasPrefix(text, escaped) {
		return text
	}
	return escaped + hex.EncodeToString([]byte(text))
}

func unescape(text string) string {
	if rest, ok := strings.CutPrefix(text, escaped); ok {
		if plain, err := hex.DecodeString(rest); err == nil {
			return string(plain)
		}
	}
	return text
}

// scanFunc makes a destination of a function; it gets nil, an int64, a bool, a string or bytes.
type scanFunc func(value any) error

func (f scanFunc) Scan(value any) error { return f(value) }

// text reads text; NULL is the empty one.
func text[T ~string](into *T) scanFunc {
	return func(value any) error {
		switch v := value.(type) {
		case nil:
			*into = ""
		case string:
			*into = T(unescape(v))
		case []byte:
			*into = T(unescape(string(v)))
		default:
			return fmt.Errorf("%T is not text", value)
		}
		return nil
	}
}

// maybeText reads text; NULL is nil.
func maybeText(into **string) scanFunc {
	return func(value any) error {
		*into = nil
		if value == nil {
			return nil
		}
		*into = new(string)
		return text(*into)(value)
	}
}

// moment reads a time.
func moment(into *time.Time) scanFunc {
	return func(value any) error {
		ms, ok := value.(int64)
		if !ok {
			return fmt.Errorf("%T is not a time", value)
		}
		*into = time.UnixMilli(ms).UTC()
		return nil
	}
}

// maybeMoment reads a time; NULL is nil.
func maybeMoment(into **time.Time) scanFunc {
	return func(value any) error {
		*into = nil
		if value == nil {
			return nil
		}
		*into = new(time.Time)
		return moment(*into)(value)
	}
}

// raw reads bytes as they are; NULL is nil.
func raw(into *json.RawMessage) *[]byte { return (*[]byte)(into) }

// decoded reads JSON, in half the time that encoding/json takes; NULL leaves the destination alone.
func decoded(into any) scanFunc {
	return func(value any) error {
		switch v := value.(type) {
		case nil:
			return nil
		case string:
			return jsonv2.Unmarshal([]byte(v), into)
		case []byte:
			return jsonv2.Unmarshal(v, into)
		}
		return fmt.Errorf("%T is not JSON", value)
	}
}

// encode writes JSON for a text column.
func encode(value any) (string, error) {
	b, err := json.Marshal(value)
	return string(b), err
}

// kept is a time as the store keeps it.
func kept(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

func maybeKept(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	k := kept(*t)
	return &k
}
