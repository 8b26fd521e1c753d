package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

// Lane is what is owed to one endpoint, as a worker of the outbox takes it: lanes never wait for each other. It gives
// nothing out while its endpoint is disabled or paused.
type Lane struct {
	store    *Store
	clock    bridge.Clock
	endpoint string
}

// Lane gives the one of an endpoint.
func (s *Store) Lane(endpoint string, clock bridge.Clock) *Lane {
	return &Lane{store: s, clock: clock, endpoint: endpoint}
}

// ClaimEffects leases due deliveries, like [Store.ClaimEffects]. The first claim is the delivery's first try.
func (l *Lane) ClaimEffects(ctx context.Context, now time.Time, lease time.Duration, limit int) (claimed []bridge.Effect, err error) {
	err = l.store.write(ctx, func(ctx context.Context) error {
		claimed, err = list(ctx, l.store, func(row dbutil.Scannable) (e bridge.Effect, err error) {
			e.Kind, e.Lane = bridge.EffectWebhook, l.endpoint
			err = row.Scan(&e.ID, text(&e.Key), text(&e.Question), moment(&e.Due), &e.Attempts, raw(&e.Payload))
			return e, err
		}, l.store.claimDeliveries(), l.endpoint, now, now.Add(lease), limit)
		return err
	})
	slices.SortFunc(claimed, func(a, b bridge.Effect) int { return cmp.Compare(a.ID, b.ID) })
	return claimed, err
}

func (s *Store) claimDeliveries() string {
	return `
	WITH due AS MATERIALIZED (
		SELECT seq FROM webhook_deliveries WHERE endpoint = $1 AND state = 'pending' AND due <= $2
			AND NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.name = $1 AND (e.disabled_at IS NOT NULL OR e.paused_until > $2))
		ORDER BY due, seq LIMIT $4` + s.dialect.takeRow + `
	)
	UPDATE webhook_deliveries SET due = $3, claimed = TRUE, attempts = attempts + 1, first_try = COALESCE(first_try, $2)
	WHERE seq IN (SELECT seq FROM due)
	RETURNING seq, id, question, due, attempts, body`
}

// FinishEffect keeps a delivery as delivered, and its endpoint as one that works.
func (l *Lane) FinishEffect(ctx context.Context, id int64) error {
	now := l.clock.Now()
	return l.store.Atomically(ctx, func(ctx context.Context) error {
		n, err := l.store.exec(ctx, `UPDATE webhook_deliveries SET state = 'delivered', claimed = FALSE, finished_at = $2, why = ''
			WHERE seq = $1 AND state = 'pending'`, id, now)
		if err := found(n == 1, err, "delivery"); err != nil {
			return err
		}
		return l.store.changeEndpoint(ctx, `succeeded_at = excluded.succeeded_at, paused_until = NULL`, `succeeded_at`, l.endpoint, now)
	})
}

// PostponeEffect makes a claimed delivery due again at a later time. It has failed: a webhook's effects wait for nothing
// else.
func (l *Lane) PostponeEffect(ctx context.Context, id int64, due time.Time, why string) error {
	return l.unsuccessful(ctx, why, `UPDATE webhook_deliveries SET due = $2, why = $3, claimed = FALSE WHERE seq = $1 AND state = 'pending'`, id, due, why)
}

// RetryEffect does the same.
func (l *Lane) RetryEffect(ctx context.Context, id int64, due time.Time, why string) error {
	return l.PostponeEffect(ctx, id, due, why)
}

// FailEffect keeps a delivery as given up.
func (l *Lane) FailEffect(ctx context.Context, id int64, why string) error {
	return l.unsuccessful(ctx, why, `UPDATE webhook_deliveries SET state = 'failed', claimed = FALSE, finished_at = $2, why = $3
		WHERE seq = $1 AND state = 'pending'`, id, l.clock.Now(), why)
}

// unsuccessful changes a delivery, and keeps with its endpoint what went wrong.
func (l *Lane) unsuccessful(ctx context.Context, why, query string, args ...any) error {
	return l.store.Atomically(ctx, func(ctx context.Context) error {
		n, err := l.store.exec(ctx, query, args...)
		if err := found(n == 1, err, "delivery"); err != nil {
			return err
		}
		_, err = l.store.exec(ctx, `INSERT INTO webhook_endpoints (name, failed_at, failure) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET failed_at = excluded.failed_at, failure = excluded.failure`, l.endpoint, l.clock.Now(), why)
		return err
	})
}

// NextEffect is when the next delivery can be claimed; ok is false when there is none, or the endpoint is disabled.
func (l *Lane) NextEffect(ctx context.Context) (at time.Time, ok bool, err error) {
	ms, ok, err := first(ctx, l.store, column[int64], nextDelivery, l.endpoint)
	if err != nil || !ok {
		return time.Time{}, false, err
	}
	return time.UnixMilli(ms).UTC(), true, nil
}

const nextDelivery = `
	SELECT CASE WHEN e.paused_until > d.due THEN e.paused_until ELSE d.due END
	FROM webhook_deliveries d LEFT JOIN webhook_endpoints e ON e.name = d.endpoint
	WHERE d.endpoint = $1 AND d.state = 'pending' AND e.disabled_at IS NULL ORDER BY d.due LIMIT 1`
