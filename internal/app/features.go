package app

import (
	"context"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/callback"
	"superpipeline.dev/question-bridge/internal/sweep"
)

// features are what hooks into the engine besides webhooks. They are made before it, and some of them ask by it.
type features struct {
	queue     *queue.Queue
	callbacks *callback.Checker
	shown     bridge.Commander // what waits in the queue
	hosting   hosting
	gates     *collector.Collector
	decisions *decision.Book
	grants    *grant.Book
}

func (b *parts) newFeatures(ctx context.Context, cfg config.Config, clock bridge.Clock, auditor bridge.Auditor) (f features, err error) {
	if f.queue, f.callbacks, err = newQueue(cfg, b.store, clock, b.hooks); err != nil {
		return f, err
	}
	f.shown = queueCommand(cfg, b.store)
	if f.hosting, err = newHosting(cfg, b, clock); err != nil {
		return f, err
	}
	f.grants = b.newGrants(cfg, clock, auditor)
	if f.decisions, err = b.newDecisions(ctx, cfg, auditor); err != nil {
		return f, err
	}
	f.gates, err = b.newCollector(ctx, cfg, f.decisions, clock)
	return f, err
}

// settling is who moves with a question that settles.
func (f features) settling() []bridge.Feature {
	return []bridge.Feature{f.queue, f.hosting.feature, f.grants, f.gates}
}

// commanders are who people can give commands to in rooms.
func (f features) commanders() []bridge.Commander {
	return []bridge.Commander{f.shown, f.decisions, f.grants}
}

// meet gives the engine to those who ask by it, and its work to those who do it.
func (f features) meet(engine *bridge.Engine, b *parts) {
	f.queue.Asker, f.queue.Withdrawer = engine, engine
	f.hosting.host.Engine = engine
	f.gates.Rooms = engine
	b.sweeper.Expirer = expirers{engine, f.gates}
	b.outbox.Kinds[queue.EffectEvidence] = outbox.Kind{Handler: f.queue, Backoff: time.Second, MaxBackoff: time.Minute}
}

// chores are what the sweep does for them.
func (f features) chores(cfg config.Config, b *parts) []sweep.Chore {
	return slices.Concat(queueChores(cfg, b.store), decisionChores(b.store))
}

// serve gives them to the API.
func (f features) serve(api *httpapi.Config) {
	api.Queue, api.Callbacks = f.queue, f.callbacks
	api.Host, api.Gates, api.Decisions, api.Grants = f.hosting.host, f.gates, f.decisions, f.grants
}
