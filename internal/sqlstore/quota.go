package sqlstore

import (
	"context"
	"fmt"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// QuotaReached implements [bridge.Store]. It walks along two indexes, and no further than the quota.
func (s *Store) QuotaReached(ctx context.Context, asker bridge.AgentID, conv bridge.ConversationID, quota bridge.Quota) (byAsker, there bool, err error) {
	type reached struct{ byAsker, there bool }
	var r reached
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if s.dialect.holdPending != "" { // by a statement of its own: the next one sees what was stored before it begins
			if _, err := s.exec(ctx, s.dialect.holdPending, asker, conv); err != nil {
				return err
			}
		}
		r, _, err = first(ctx, s, func(row dbutil.Scannable) (r reached, err error) {
			err = row.Scan(&r.byAsker, &r.there)
			return r, err
		}, quotaReached, asker, max(quota.Asker-1, 0), conv, max(quota.Conversation-1, 0))
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("pending questions of %s: %w", asker, err)
	}
	return r.byAsker && quota.Asker > 0, r.there && quota.Conversation > 0, nil
}

// To look for the last one that may be pending takes a fraction of the time that counting does.
const quotaReached = `
	SELECT EXISTS (SELECT 1 FROM questions WHERE asker = $1 AND state = 'pending' LIMIT 1 OFFSET $2),
		EXISTS (SELECT 1 FROM questions WHERE conversation = $3 AND state = 'pending' LIMIT 1 OFFSET $4)`
