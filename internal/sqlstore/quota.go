package sqlstore

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// CountPending implements [bridge.Store]. Each count walks its part of one index, and no further than its bound.
func (s *Store) CountPending(ctx context.Context, asker bridge.AgentID, conv bridge.ConversationID, bound bridge.Quota) (pending bridge.Quota, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if s.dialect.holdPending != "" { // a statement of its own: the count sees what was stored before it begins
			if _, err := s.exec(ctx, s.dialect.holdPending, asker, conv); err != nil {
				return err
			}
		}
		pending, _, err = first(ctx, s, func(row dbutil.Scannable) (n bridge.Quota, err error) {
			err = row.Scan(&n.Asker, &n.Conversation)
			return n, err
		}, countPending, asker, bound.Asker, conv, bound.Conversation)
		return err
	})
	if err != nil {
		return bridge.Quota{}, fmt.Errorf("count the pending questions of %s: %w", asker, err)
	}
	return pending, nil
}

const countPending = `
	SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE asker = $1 AND state = 'pending' LIMIT $2) AS asked),
		(SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE conversation = $3 AND state = 'pending' LIMIT $4) AS there)`
