package app

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

var (
	_ host.Store  = (*sqlstore.Store)(nil)
	_ host.Engine = (*bridge.Engine)(nil)
)

// hosting is the host role of gated exchanges.
type hosting struct {
	feature *host.Feature
	host    *host.Host
}

// newHosting makes the host role, and the worker that submits answers for it. Its Engine is made with it and comes later.
func newHosting(cfg config.Config, b *parts, clock bridge.Clock) (hosting, error) {
	client, err := outward(cfg, egress.Timeouts{})
	if err != nil {
		return hosting{}, err
	}
	submitter := &host.Submitter{
		Store: b.store, Caller: client, Clock: clock, Notifier: b.hub, Announcer: b.hooks,
	}
	b.submits = &outbox.Worker{
		Store: b.store.EffectsOf(host.EffectSubmit), Clock: clock, Parallel: 8, Lease: 5 * time.Minute, Grace: grace, Observe: b.outbox.Observe,
		// The submitter minds when the query expires.
		Kinds: map[bridge.EffectKind]outbox.Kind{host.EffectSubmit: {Handler: submitter, Backoff: 2 * time.Second, MaxBackoff: time.Minute}},
	}
	return hosting{
		feature: &host.Feature{Store: b.store}, host: host.New(host.Parts{Store: b.store, Guard: client, Clock: clock}),
	}, nil
}
