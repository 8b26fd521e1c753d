package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
)

const deliveryColumns = `id, endpoint, question, event, state, created_at, due, attempts, first_try, finished_at, why, body`

func scanDelivery(row dbutil.Scannable) (d bridge.WebhookDelivery, err error) {
	err = row.Scan(text(&d.ID), text(&d.Endpoint), text(&d.Question), text(&d.Event), text(&d.State), moment(&d.CreatedAt), moment(&d.Due),
		&d.Attempts, maybeMoment(&d.FirstTry), maybeMoment(&d.FinishedAt), text(&d.Why), raw(&d.Body))
	return d, err
}

// AddDeliveries stores what is owed from now on, due at once. An id that is known is an error: an event is owed once.
func (s *Store) AddDeliveries(ctx context.Context, deliveries ...bridge.WebhookDelivery) error {
	return s.Atomically(ctx, func(ctx context.Context) error {
		for some := range slices.Chunk(deliveries, 500) {
			args := make([]any, 0, 8*len(some))
			for _, d := range some {
				args = append(args, d.ID, d.Endpoint, orNull(d.Question), d.Event, bridge.WebhookPending, d.CreatedAt, d.CreatedAt, d.Body)
			}
			if _, err := s.exec(ctx, insertDeliveries+placeholders(len(some), 8), args...); err != nil {
				return fmt.Errorf("add webhook deliveries: %w", err)
			}
		}
		return nil
	})
}

const insertDeliveries = `INSERT INTO webhook_deliveries (id, endpoint, question, event, state, created_at, due, body) VALUES `

// Delivery reads one delivery.
func (s *Store) Delivery(ctx context.Context, id string) (bridge.WebhookDelivery, error) {
	d, ok, err := first(ctx, s, scanDelivery, `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE id = $1`, id)
	return d, found(ok, err, "delivery")
}

// Deliveries lists what an endpoint is owed or was, newest first; with states, only what is in one of them.
func (s *Store) Deliveries(ctx context.Context, endpoint string, limit int, states ...bridge.WebhookState) ([]bridge.WebhookDelivery, error) {
	query, args := `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE endpoint = $1`, []any{endpoint, limit}
	for i, state := range states {
		query += []string{` AND state IN (`, `, `}[min(i, 1)] + fmt.Sprintf("$%d", len(args)+1)
		args = append(args, state)
	}
	if len(states) > 0 {
		query += `)`
	}
	return list(ctx, s, scanDelivery, query+` ORDER BY seq DESC LIMIT $2`, args...)
}

// Replay makes deliveries that are delivered or failed due again under their old ids, as if they had never been tried,
// and says how many. One that is pending stays as it is.
func (s *Store) Replay(ctx context.Context, now time.Time, ids ...string) (replayed int, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		replayed = 0
		for _, id := range ids {
			n, err := s.exec(ctx, `UPDATE webhook_deliveries SET state = 'pending', due = $2, attempts = 0, first_try = NULL, finished_at = NULL
				WHERE id = $1 AND state <> 'pending'`, id, now)
			if err != nil {
				return err
			}
			replayed += n
		}
		return nil
	})
	return replayed, err
}

// PurgeDeliveries forgets, at most limit at once, what was delivered before one time, and what was given up before
// another or is still pending and was due before that.
func (s *Store) PurgeDeliveries(ctx context.Context, delivered, undelivered time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context) error {
		n, err = s.exec(ctx, `DELETE FROM webhook_deliveries WHERE seq IN (
			SELECT seq FROM webhook_deliveries WHERE state = 'delivered' AND finished_at < $1
				OR state = 'failed' AND finished_at < $2 OR state = 'pending' AND due < $2 LIMIT $3)`,
			delivered, undelivered, limit)
		return err
	})
	return n, err
}

// ReleaseDeliveries ends every lease, like [Store.ReleaseEffects].
func (s *Store) ReleaseDeliveries(ctx context.Context, now time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `UPDATE webhook_deliveries SET claimed = FALSE, due = $1 WHERE claimed AND state = 'pending'`, now)
		return err
	})
}

// Endpoints says how the endpoints are that anything is known of, with what waits for each, in the order of their names.
func (s *Store) Endpoints(ctx context.Context) ([]bridge.WebhookEndpoint, error) {
	return list(ctx, s, func(row dbutil.Scannable) (e bridge.WebhookEndpoint, err error) {
		err = row.Scan(text(&e.Name), maybeMoment(&e.DisabledAt), maybeMoment(&e.PausedUntil), maybeMoment(&e.SucceededAt),
			maybeMoment(&e.FailedAt), text(&e.Failure), &e.Pending, &e.Failed)
		return e, err
	}, `
		SELECT names.name, e.disabled_at, e.paused_until, e.succeeded_at, e.failed_at, e.failure, names.pending, names.failed
		FROM (
			SELECT name, SUM(pending) AS pending, SUM(failed) AS failed FROM (
				SELECT name, 0 AS pending, 0 AS failed FROM webhook_endpoints
				UNION ALL SELECT endpoint, COUNT(*), 0 FROM webhook_deliveries WHERE state = 'pending' GROUP BY endpoint
				UNION ALL SELECT endpoint, 0, COUNT(*) FROM webhook_deliveries WHERE state = 'failed' GROUP BY endpoint
			) counted GROUP BY name
		) names LEFT JOIN webhook_endpoints e ON e.name = names.name ORDER BY names.name`)
}

// DisableEndpoint stops everything to an endpoint until it is enabled. The first time counts.
func (s *Store) DisableEndpoint(ctx context.Context, name string, at time.Time) error {
	return s.changeEndpoint(ctx, `disabled_at = COALESCE(webhook_endpoints.disabled_at, $2)`, `disabled_at`, name, at)
}

// PauseEndpoint stops everything to an endpoint until a time.
func (s *Store) PauseEndpoint(ctx context.Context, name string, until time.Time) error {
	return s.changeEndpoint(ctx, `paused_until = excluded.paused_until`, `paused_until`, name, until)
}

// EnableEndpoint makes what waits for an endpoint due now, as if it had never been tried, and says whether the endpoint
// was disabled or paused.
func (s *Store) EnableEndpoint(ctx context.Context, name string, now time.Time) (was bool, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		n, err := s.exec(ctx, `UPDATE webhook_endpoints SET disabled_at = NULL, paused_until = NULL
			WHERE name = $1 AND (disabled_at IS NOT NULL OR paused_until > $2)`, name, now)
		if err != nil {
			return err
		}
		was = n == 1
		_, err = s.exec(ctx, `UPDATE webhook_deliveries SET due = $2, attempts = 0, first_try = NULL
			WHERE endpoint = $1 AND state = 'pending' AND NOT claimed`, name, now)
		return err
	})
	return was && err == nil, err
}

func (s *Store) changeEndpoint(ctx context.Context, change, column, name string, at time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `INSERT INTO webhook_endpoints (name, `+column+`) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET `+change, name, at)
		return err
	})
}
