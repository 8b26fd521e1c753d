package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/sweep"
	"superpipeline.dev/question-bridge/internal/webhook"
)

// hooks is what a bridge does for its webhooks: with none configured, nothing.
type hooks struct {
	store   *sqlstore.Store
	feature *webhook.Feature
	lanes   []*outbox.Worker // one an endpoint, so that one which hangs holds up nobody else
	places  *roomNames
}

// laneWidth is how many events one endpoint is sent at once.
const laneWidth = 4

// newHooks readies the webhooks of a bridge that alone serves the store.
func newHooks(ctx context.Context, cfg config.Config, store *sqlstore.Store, clock bridge.Clock) (*hooks, error) {
	h := &hooks{store: store, places: &roomNames{rooms: cfg.Rooms, store: store, aliases: map[string]bridge.ConversationID{}}}
	if err := store.ReleaseDeliveries(ctx, clock.Now()); err != nil {
		return nil, err
	}
	if len(cfg.Webhooks) == 0 {
		return h, nil
	}
	if err := h.places.load(ctx, cfg.Webhooks); err != nil {
		return nil, err
	}
	h.feature = &webhook.Feature{Endpoints: endpoints(cfg), Rooms: h.places, Store: store, Clock: clock}
	client, err := outward(cfg, egress.Timeouts{})
	if err != nil {
		return nil, err
	}
	for _, e := range h.feature.Endpoints {
		sender, err := webhook.NewSender(e, webhook.Means{Caller: client, Book: store, Clock: clock, Retry: webhook.DefaultRetry()})
		if err != nil {
			return nil, err
		}
		h.lanes = append(h.lanes, &outbox.Worker{
			Store: store.Lane(e.Name, clock), Clock: clock, Parallel: laneWidth, Lease: 5 * time.Minute, Grace: grace,
			// The sender says itself when to come back; only what the database refuses is left to this.
			Kinds: map[bridge.EffectKind]outbox.Kind{bridge.EffectWebhook: {Handler: sender, Backoff: time.Second, MaxBackoff: time.Minute}},
		})
	}
	return h, nil
}

func endpoints(cfg config.Config) []webhook.Endpoint {
	var out []webhook.Endpoint
	for _, w := range cfg.Webhooks {
		e := webhook.Endpoint{Name: w.Name, Rooms: w.Rooms, URL: w.URL, Events: w.Events}
		for _, s := range w.Secrets {
			e.Secrets = append(e.Secrets, s.Value())
		}
		out = append(out, e)
	}
	return out
}

// features is the webhooks as the engine takes them.
func (h *hooks) features() []bridge.Feature {
	if h.feature == nil {
		return nil
	}
	return []bridge.Feature{h.feature}
}

// Announce implements [bridge.Announcer]: the other events, to nobody where no webhooks are configured.
func (h *hooks) Announce(ctx context.Context, a bridge.Announcement) error {
	if h.feature == nil {
		return nil
	}
	bridge.AfterCommit(ctx, h.wake)
	return h.feature.Announce(ctx, a)
}

// observe lets somebody hear of every attempt.
func (h *hooks) observe(attempt func(endpoint, result string, took time.Duration)) {
	for i, lane := range h.lanes {
		name := h.feature.Endpoints[i].Name
		lane.Observe = func(_ bridge.Effect, r outbox.Result, took time.Duration) { attempt(name, string(r), took) }
	}
}

// wake makes every lane look for what is owed.
func (h *hooks) wake() {
	for _, lane := range h.lanes {
		lane.Wake()
	}
}

// How long deliveries are kept; a question that is forgotten takes its own with it in any case.
const (
	deliveredKept   = 7 * 24 * time.Hour  // after it was taken, for a replay
	undeliveredKept = 30 * 24 * time.Hour // after it was given up, or due
	aliasesLookedUp = 5 * time.Minute
)

// chores are what the sweep does for webhooks.
func (h *hooks) chores(find func(ctx context.Context, alias string) (bridge.ConversationID, error)) []sweep.Chore {
	all := []sweep.Chore{{Name: "forget webhook deliveries", Every: time.Hour, Do: func(ctx context.Context, now time.Time) error {
		for ctx.Err() == nil {
			n, err := h.store.PurgeDeliveries(ctx, now.Add(-deliveredKept), now.Add(-undeliveredKept), choreBatch)
			if err != nil || n < choreBatch {
				return err
			}
		}
		return ctx.Err()
	}}}
	if len(h.places.aliases) > 0 {
		all = append(all, sweep.Chore{Name: "look up the aliases of webhooks", Every: aliasesLookedUp, Do: func(ctx context.Context, _ time.Time) error {
			return h.places.lookUp(ctx, find)
		}})
	}
	return all
}

// roomNames knows what rooms are called without asking anybody. Which room an alias stands for is looked up beforehand and
// kept in the database. What a room itself says of its aliases is not believed: anybody can make a room that says so.
type roomNames struct {
	rooms []config.Room
	store *sqlstore.Store

	mu      sync.RWMutex
	aliases map[string]bridge.ConversationID // those of the configuration; "" for one that was never found
}

// kept is the name that the room of an alias has in the store.
func kept(alias string) string { return "room of " + alias }

// load takes over what is known of the aliases that the configuration names.
func (p *roomNames) load(ctx context.Context, hooks []config.Webhook) error {
	var named []string
	for _, r := range p.rooms {
		named = append(named, r.Room)
	}
	for _, w := range hooks {
		named = append(named, w.Rooms...)
	}
	for _, name := range named {
		if !strings.HasPrefix(name, "#") {
			continue
		}
		id, err := p.store.Value(ctx, kept(name))
		if err != nil {
			return err
		}
		p.aliases[name] = bridge.ConversationID(id)
	}
	return nil
}

// lookUp asks which rooms the aliases stand for now. One that cannot be found keeps the room it had.
func (p *roomNames) lookUp(ctx context.Context, find func(ctx context.Context, alias string) (bridge.ConversationID, error)) error {
	p.mu.RLock()
	known := maps.Clone(p.aliases)
	p.mu.RUnlock()
	var failures []error
	for alias := range known {
		id, err := find(ctx, alias)
		if err == nil {
			err = p.learn(ctx, alias, id)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", alias, err))
		}
	}
	return errors.Join(failures...)
}

// learn keeps which room an alias of the configuration, or a code for one, was just found to stand for.
func (p *roomNames) learn(ctx context.Context, name string, id bridge.ConversationID) error {
	for _, r := range p.rooms {
		if r.Code == name {
			name = r.Room
		}
	}
	p.mu.RLock()
	known, ours := p.aliases[name]
	p.mu.RUnlock()
	if !ours || known == id {
		return nil
	}
	if err := p.store.SetValue(ctx, kept(name), string(id)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aliases[name] = id
	return nil
}

// Place implements [webhook.Rooms].
func (p *roomNames) Place(ctx context.Context, conv bridge.ConversationID) (webhook.Place, error) {
	out := webhook.Place{Names: []string{string(conv)}}
	p.mu.RLock()
	for alias, id := range p.aliases {
		if id == conv {
			out.Names = append(out.Names, alias)
		}
	}
	for _, r := range p.rooms {
		if r.Room == string(conv) || p.aliases[r.Room] == conv {
			out.Names = append(out.Names, r.Code)
			if out.Code == "" {
				out.Code, out.Name = r.Code, r.Name
			}
		}
	}
	p.mu.RUnlock()
	if out.Name != "" {
		return out, nil
	}
	states, err := p.store.StateOf(ctx, conv, "m.room.name")
	for _, s := range states {
		var content struct {
			Name string `json:"name"`
		}
		if s.Key == "" && json.Unmarshal(s.Content, &content) == nil {
			out.Name = content.Name
		}
	}
	return out, err
}
