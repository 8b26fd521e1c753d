package app

import (
	"cmp"
	"context"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/sweep"
)

var (
	_ collector.Store = (*sqlstore.Store)(nil)
	_ collector.Rooms = (*bridge.Engine)(nil)
)

// newCollector makes the collector of gated exchanges. Its Rooms are the engine, which is made with it and comes later.
func (b *parts) newCollector(ctx context.Context, cfg config.Config, decisions collector.Decisions, clock bridge.Clock) (*collector.Collector, error) {
	key, err := openSecret(ctx, b.store, "key of capabilities") // whoever reads it can answer every query that is open
	if err != nil {
		return nil, err
	}
	return collector.New(collector.Parts{
		Store: b.store, Announcer: b.hooks, Decisions: decisions, Clock: clock, Key: key, Endpoint: responses(cfg.APIURL()),
		Changed: func(g collector.Gate) { b.hub.Notify(g.Woken()) }, Deadline: func(at time.Time) { b.sweeper.Deadline(at) },
	}), nil
}

// responses is where the response to a query is posted; nil where the API is not reached by https.
func responses(api string) func(gate.QueryID) string {
	if !strings.HasPrefix(api, "https://") {
		return nil
	}
	return func(id gate.QueryID) string {
		return strings.TrimSuffix(api, "/") + "/api/queries/" + string(id) + "/responses"
	}
}

// expirers expire what is overdue of each kind.
type expirers []sweep.Expirer

// Expire implements [sweep.Expirer].
func (all expirers) Expire(ctx context.Context, limit int) (expired int, err error) {
	for _, one := range all {
		n, failed := one.Expire(ctx, limit)
		expired, err = max(expired, n), cmp.Or(err, failed)
	}
	return expired, err
}

// deadlines are the questions' and those of gates.
type deadlines struct{ store *sqlstore.Store }

// NextDeadline implements [sweep.Deadlines].
func (d deadlines) NextDeadline(ctx context.Context) (at time.Time, ok bool, err error) {
	at, ok, err = d.store.NextDeadline(ctx)
	if err != nil {
		return at, ok, err
	}
	other, also, err := d.store.NextGateDeadline(ctx)
	if also && (!ok || other.Before(at)) {
		at, ok = other, true
	}
	return at, ok, err
}
