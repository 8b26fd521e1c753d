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
	feature   *host.Feature
	submitter *host.Submitter
	host      *host.Host
}

// newHosting makes the host role of a bridge whose engine comes later.
func newHosting(cfg config.Config, b *parts, clock bridge.Clock) (hosting, error) {
	client, err := outward(cfg, egress.Timeouts{})
	if err != nil {
		return hosting{}, err
	}
	return hosting{
		feature: &host.Feature{Store: b.store},
		submitter: &host.Submitter{
			Store: b.store, Caller: client, Clock: clock, Notifier: b.hub, Announcer: b.hooks, Owed: b.owed,
		},
		host: host.New(host.Parts{Store: b.store, Guard: client, Clock: clock}),
	}, nil
}

// submissions says how answers are submitted: until the query expires, which the submitter minds.
func (h hosting) submissions() outbox.Kind {
	return outbox.Kind{Handler: h.submitter, Backoff: 2 * time.Second, MaxBackoff: time.Minute}
}
