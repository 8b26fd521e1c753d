package sqlstore

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// KeepResponse implements [bridge.Store].
func (s *Store) KeepResponse(ctx context.Context, r bridge.KeptResponse) (isNew bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, r.Question); err != nil {
			return err
		}
		n, err := s.exec(ctx, insertResponse, r.Agent, r.Scope, r.Key, r.Question, r.KeptAt, r.Created, r.Request[:], r.Body)
		isNew = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("keep the response about a question: %w", err)
	}
	return isNew, nil
}

const insertResponse = `
	INSERT INTO responses (agent, scope, key, question, kept_at, created, request, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT DO NOTHING`

// Response implements [bridge.Store].
func (s *Store) Response(ctx context.Context, id bridge.RequestID) (r bridge.KeptResponse, ok bool, err error) {
	return first(ctx, s, scanResponse, selectResponse, id.Agent, id.Scope, id.Key)
}

const selectResponse = `
	SELECT agent, scope, key, question, kept_at, created, request, body FROM responses WHERE agent = $1 AND scope = $2 AND key = $3`

func scanResponse(row dbutil.Scannable) (r bridge.KeptResponse, err error) {
	var request []byte
	err = row.Scan(text(&r.Agent), text(&r.Scope), text(&r.Key), text(&r.Question), moment(&r.KeptAt), &r.Created, &request, &r.Body)
	copy(r.Request[:], request)
	return r, err
}

// PurgeResponses forgets the responses that were kept before a time, at most limit at once.
func (s *Store) PurgeResponses(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, `DELETE FROM responses WHERE (agent, scope, key) IN (
			SELECT agent, scope, key FROM responses WHERE kept_at < $1 ORDER BY kept_at LIMIT $2)`, before, limit)
		return err
	})
	return n, err
}
