package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/metrics"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/sweep"
	"superpipeline.dev/question-bridge/internal/wait"
)

// The store is what each adapter wants to keep.
var (
	_ bridge.Store      = (*sqlstore.Store)(nil)
	_ matrix.Store      = (*sqlstore.Store)(nil)
	_ httpapi.TokenBook = (*sqlstore.Store)(nil)
	_ matrix.Engine     = (*bridge.Engine)(nil)
	_ httpapi.Engine    = (*bridge.Engine)(nil)
	_ httpapi.Sessions  = (*sqlstore.Store)(nil)
	_ httpapi.Identity  = (*matrix.OpenID)(nil)
)

// parts is a bridge that is put together and not yet running.
type parts struct {
	store    *sqlstore.Store
	channel  *matrix.Service
	receiver matrix.Engine
	outbox   *outbox.Worker
	submits  *outbox.Worker // of answers to queries: a collector that hangs holds up no room
	sweeper  *sweep.Sweeper
	hub      *wait.Hub
	hooks    *hooks
	metrics  *metrics.Metrics
	api      httpapi.Config
	audited  func() error                        // closes the audit log
	around   func(api http.Handler) http.Handler // what tests put around the API; nil for nothing
}

func assemble(ctx context.Context, opts Options) (_ *parts, err error) {
	cfg, clock := opts.Config, bridge.SystemClock{}
	database := databaseOf(cfg, opts.Log)
	database.Serving, database.Waiting = true, opts.Waiting
	store, err := sqlstore.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	auditor, audited, err := openAudit(cfg)
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	b := &parts{store: store, hub: wait.NewHub(), metrics: metrics.New(opts.Version), audited: audited}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	b.metrics.Watch(metrics.Sources{Load: store.Load, Waits: b.hub.Waiting})
	if err := store.ReleaseEffects(ctx, clock.Now()); err != nil {
		return nil, err
	}
	channel := channelConfig(cfg, opts.Registration)
	channel.Encryption = encryption(cfg, store)
	channel.Limited, channel.Audit = b.metrics.Limited, auditor
	var engine *bridge.Engine
	channel.IsCommand = func(text string) bool { return engine.IsCommand(text) }
	if b.channel, err = matrix.New(channel, store, clock); err != nil {
		return nil, err
	}
	keys, err := openKeyring(ctx, store, cfg.APIURL(), clock.Now())
	if err != nil {
		return nil, err
	}
	b.outbox = &outbox.Worker{Store: store.EffectsBut(host.EffectSubmit), Clock: clock, Parallel: 8, Lease: 5 * time.Minute, Grace: grace,
		Observe: func(f bridge.Effect, r outbox.Result, took time.Duration) { b.metrics.Effect(f.Kind, string(r), took) }}
	if b.hooks, err = newHooks(ctx, cfg, store, clock); err != nil {
		return nil, err
	}
	signIn, err := newSignIn(cfg, store)
	if err != nil {
		return nil, err
	}
	extra, err := b.newFeatures(ctx, cfg, clock, auditor)
	if err != nil {
		return nil, err
	}
	b.hooks.observe(b.metrics.Webhook)
	b.sweeper = &sweep.Sweeper{Deadlines: deadlines{store}, Clock: clock, Batch: 1000, Chores: slices.Concat(chores(store), b.hooks.chores(b.roomOf),
		extra.chores(cfg, b), []sweep.Chore{{Name: "read the signing key", Every: keysReread, Do: keys.reread}})}
	engine = bridge.NewEngine(bridge.Parts{
		Store: store, Channel: b.channel, Gatekeeper: b.channel, Notifier: b.hub, Clock: clock, Certifier: keys,
		Unthreaded: bridge.Unthreaded(cfg.Replies.Unthreaded), ByReply: bridge.ByReply(cfg.Approvals.ByReply),
		OpenIDMayApprove: cfg.Auth.OpenID.MayApprove,
		Features:         append(b.hooks.features(), extra.settling()...), Commanders: extra.commanders(),
		Quota: quota(cfg), Owed: b.owed, Deadline: b.sweeper.Deadline, Observer: b.metrics, Auditor: auditor,
	})
	b.receiver, b.outbox.Kinds = engine, kinds(engine)
	extra.meet(engine, b)
	b.api = httpapi.Config{
		Engine: engine, Tokens: store, Rooms: rooms{b.channel, b.hooks.places}, Hub: b.hub, Agents: agentNames(cfg), Log: opts.Log, Clock: clock,
		Keys: keys.list, SignIn: signIn, Limits: limits(cfg), Proxies: proxies(cfg), Audit: auditor, Observe: b.requested,
		Checks: []httpapi.Check{
			{Name: "database", Run: store.Ping},
			{Name: "homeserver", Run: b.channel.Reach},
			{Name: "inbox", Run: func(ctx context.Context) error { return inboxFlows(ctx, store, clock.Now()) }},
		},
	}
	extra.serve(&b.api)
	return b, nil
}

// requested counts a request to the API.
func (b *parts) requested(route string, status int, took time.Duration) {
	b.metrics.Request(metrics.Request{Listener: "api", Route: route, Status: status, Took: took})
}

// close moves what is left in SQLite's log into the database, and closes that.
func (b *parts) close() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = b.store.Checkpoint(ctx) // what it leaves there is read at the next start
	_ = b.store.Close()
	_ = b.audited()
}

// owed wakes whoever does what a commit added.
func (b *parts) owed() {
	b.outbox.Wake()
	b.submits.Wake()
	b.hooks.wake()
}

// roomOf asks the homeserver which room an alias stands for.
func (b *parts) roomOf(ctx context.Context, alias string) (bridge.ConversationID, error) {
	p, err := b.channel.Resolve(ctx, alias)
	return p.ID, err
}

// kinds says how each kind of effect is retried. What must be told in a room is told as soon as the homeserver takes it,
// however long that is; the next step of a set is tried 10 times, from 5 s on (Channel questions, "Advance a question");
// a courtesy once.
func kinds(engine *bridge.Engine) map[bridge.EffectKind]outbox.Kind {
	return map[bridge.EffectKind]outbox.Kind{
		bridge.EffectRender:  {Handler: engine, Backoff: time.Second, MaxBackoff: time.Minute},
		bridge.EffectUpdate:  {Handler: engine, Attempts: 10, Backoff: 5 * time.Second, MaxBackoff: time.Hour},
		bridge.EffectSettled: {Handler: engine, Backoff: time.Second, MaxBackoff: time.Minute},
		bridge.EffectTell:    {Handler: engine, Attempts: 1},
		bridge.EffectRemind:  {Handler: engine, Backoff: time.Second, MaxBackoff: time.Minute},
		bridge.EffectReply:   {Handler: engine, Backoff: time.Second, MaxBackoff: 10 * time.Minute},
	}
}

// How long what is done with is kept (DESIGN "Retention").
const (
	inboxKept    = 90 * 24 * time.Hour
	postingKept  = 30 * 24 * time.Hour // after its last change
	answeredKept = 24 * time.Hour      // a posting, after the answer: late clicks are told that they are late
	lockedKept   = 24 * time.Hour      // an encrypted event whose key does not come
	openIDKept   = 2 * time.Hour       // what was signed in with, which is not accepted again
	responseKept = 48 * time.Hour      // to a request with an Idempotency-Key
	choreBatch   = 1000
)

// until removes what is older than it is kept, batch by batch.
func until(remove func(ctx context.Context, before time.Time, limit int) (int, error), kept time.Duration) func(context.Context, time.Time) error {
	return func(ctx context.Context, now time.Time) error {
		for ctx.Err() == nil {
			if n, err := remove(ctx, now.Add(-kept), choreBatch); err != nil || n < choreBatch {
				return err
			}
		}
		return ctx.Err()
	}
}

// chores are what the sweep does besides expiring.
func chores(store *sqlstore.Store) []sweep.Chore {
	return []sweep.Chore{
		{Name: "forget questions", Every: time.Hour, Do: until(store.Forget, 0)},
		{Name: "forget gates", Every: time.Hour, Do: until(store.ForgetGates, 0)},
		{Name: "forget postings", Every: time.Hour, Do: until(func(ctx context.Context, now time.Time, limit int) (int, error) {
			return store.ForgetPostings(ctx, now.Add(-answeredKept), now.Add(-postingKept), limit)
		}, 0)},
		{Name: "forget events without keys", Every: time.Hour, Do: until(store.PurgeLocked, lockedKept)},
		{Name: "forget responses", Every: time.Hour, Do: until(store.PurgeResponses, responseKept)},
		{Name: "forget events", Every: time.Hour, Do: until(store.PurgeInbox, inboxKept)},
		{Name: "forget sends", Every: time.Hour, Do: until(store.PurgeSends, inboxKept)},
		{Name: "forget sessions", Every: httpapi.SessionLifetime, Do: until(store.PurgeSessions, 0)},
		{Name: "forget OpenID tokens", Every: time.Hour, Do: until(store.PurgeOpenIDTokens, openIDKept)},
		{Name: "truncate the log", Every: 5 * time.Minute, Do: func(ctx context.Context, _ time.Time) error { return store.Checkpoint(ctx) }},
	}
}

// inboxLag is how long an event may wait before the bridge counts as not ready.
const inboxLag = time.Minute

// inboxFlows fails when the oldest event that could be handled has waited too long.
func inboxFlows(ctx context.Context, store *sqlstore.Store, now time.Time) error {
	events, err := store.NextEvents(ctx, now, 1)
	if err != nil {
		return err
	}
	if len(events) > 0 && now.Sub(events[0].ReceivedAt) > inboxLag {
		return fmt.Errorf("an event has waited since %s", events[0].ReceivedAt.Format(time.RFC3339))
	}
	return nil
}

// rooms lets the API find rooms by the channel. What is found by the way is kept for the webhooks.
type rooms struct {
	channel *matrix.Service
	places  *roomNames
}

func (r rooms) Resolve(ctx context.Context, room string) (httpapi.Room, error) {
	p, err := r.channel.Resolve(ctx, room)
	if err == nil {
		err = r.places.learn(ctx, room, p.ID)
	}
	return httpapi.Room(p), err
}

func agentNames(cfg config.Config) map[bridge.AgentID]string {
	names := map[bridge.AgentID]string{}
	for _, a := range cfg.Agents {
		names[bridge.AgentID(a.ID)] = a.Name
	}
	return names
}

func channelConfig(cfg config.Config, reg config.Registration) matrix.Config {
	c := matrix.Config{
		ServerName: cfg.Homeserver.Domain, HomeserverURL: cfg.Homeserver.URL, DisplayName: cfg.Appservice.Bot.DisplayName,
		Registration: registrationFile(reg).Registration(),
		Invite:       cfg.Join.From, Bots: users(cfg.Bots), Rooms: map[string]string{}, AgentUsers: map[bridge.AgentID][]bridge.UserID{},
		Keycaps: true, Redactions: matrix.RedactionsAuto, Admins: admins(cfg.WorkspaceAdmins),
	}
	if c.Invite == nil {
		c.Invite = []string{cfg.Homeserver.Domain}
	}
	for _, r := range cfg.Rooms {
		c.Rooms[r.Code] = r.Room
	}
	for _, a := range cfg.Agents {
		c.AgentUsers[bridge.AgentID(a.ID)] = users(a.UserIDs)
	}
	for _, carrier := range cfg.Carriers {
		c.Carriers = append(c.Carriers, matrix.Carrier{
			User: bridge.UserID(carrier.UserID), Agent: bridge.AgentID(carrier.Agent), FreeTextReplies: carrier.FreeTextReplies,
		})
	}
	return c
}

// encryption is what the channel needs for encrypted rooms; nil when they are not asked for.
func encryption(cfg config.Config, store *sqlstore.Store) *matrix.Encryption {
	e := cfg.Encryption
	if !e.Enabled {
		return nil
	}
	rooms := map[string]matrix.Trust{}
	for name, trust := range e.RoomTrust {
		rooms[name] = matrix.Trust(trust)
	}
	return &matrix.Encryption{
		Database: store.Database(), PickleKey: []byte(e.PickleKey.Value()), Password: e.Password.Value(), DeviceName: cfg.Appservice.Bot.DisplayName,
		Trust: matrix.Trust(e.Trust), RoomTrust: rooms, Keycaps: e.Keycaps,
	}
}

func admins(a config.WorkspaceAdmins) matrix.Admins {
	out := matrix.Admins{Users: users(a.Users), Rooms: map[string][]bridge.UserID{}, Boards: map[string][]bridge.UserID{}}
	for room, ids := range a.Rooms {
		out.Rooms[room] = users(ids)
	}
	for board, ids := range a.Boards {
		out.Boards[board] = users(ids)
	}
	if a.PowerLevel != nil {
		level := int64(*a.PowerLevel)
		out.PowerLevel = &level
	}
	return out
}

func users(ids []string) []bridge.UserID {
	out := make([]bridge.UserID, len(ids))
	for i, id := range ids {
		out[i] = bridge.UserID(id)
	}
	return out
}

func registrationFile(r config.Registration) matrix.File {
	f := matrix.File{
		ID: r.ID, URL: r.URL, ASToken: r.ASToken, HSToken: r.HSToken, SenderLocalpart: r.SenderLocalpart, RateLimited: r.RateLimited,
	}
	for _, ns := range r.Namespaces.Users {
		f.Users = append(f.Users, matrix.Namespace{Regex: ns.Regex, Exclusive: ns.Exclusive})
	}
	return f
}

// connect makes sure that the homeserver knows us, and waits for one that does not answer yet.
func (b *parts) connect(ctx context.Context) error {
	retry := outbox.Kind{Backoff: time.Second, MaxBackoff: 30 * time.Second}
	for attempt := 1; ; attempt++ {
		_, err := b.channel.Connect(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if matrix.Hopeless(err) {
			return err
		}
		pause := outbox.Backoff(retry, attempt)
		zerolog.Ctx(ctx).Warn().Err(err).Dur("after", pause).Msg("The homeserver cannot be reached yet")
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
