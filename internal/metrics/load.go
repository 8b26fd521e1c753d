package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"superpipeline.dev/question-bridge/bridge"
)

// Loader says what waits in the store at a time; the store's Load does.
type Loader func(ctx context.Context, now time.Time) (bridge.Load, error)

// However often somebody scrapes, the store is asked this seldom, and given up on after so long.
const (
	loadKept     = 10 * time.Second
	loadPatience = 5 * time.Second
)

// loadCollector gives what waits in the store.
type loadCollector struct {
	load Loader
	now  func() time.Time

	mu   sync.Mutex
	last bridge.Load
	err  error
	read time.Time // when last was read
}

func newLoadCollector(load Loader) *loadCollector {
	return &loadCollector{load: load, now: time.Now}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	up       = desc("database_up", "1 if the database could be asked what waits, else 0; then nothing is said of that.")
	size     = desc("database_size_bytes", "The size of the database.")
	logSize  = desc("database_log_size_bytes", "The size of SQLite's write-ahead log; 0 for PostgreSQL.")
	pending  = desc("pending", "Questions that wait for an answer.")
	outbox   = desc("outbox_effects", "What is owed in rooms and not done.")
	outboxed = desc("outbox_oldest_seconds", "How long the oldest of what is owed in rooms has been; 0 if nothing is.")
	inbox    = desc("inbox_events", "Events from the homeserver that are stored and not handled.")
	inboxed  = desc("inbox_oldest_seconds", "How long ago the oldest of them was received; 0 if there is none.")
	hooks    = desc("webhook_deliveries", "Events that an endpoint is owed (pending), or that were given up and are kept (failed).", "endpoint", "state")
	hooked   = desc("webhook_oldest_seconds", "How long the oldest event that an endpoint is owed has been; 0 if it is owed none.", "endpoint")
	disabled = desc("webhook_disabled", "1 for an endpoint that answered 410 Gone and is sent nothing, else 0.", "endpoint")
)

// Describe implements [prometheus.Collector].
func (c *loadCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{up, size, logSize, pending, outbox, outboxed, inbox, inboxed, hooks, hooked, disabled} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *loadCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	l, now, err := c.look()
	if err != nil {
		gauge(up, 0)
		return
	}
	age := func(d *prometheus.Desc, b bridge.Backlog, labels ...string) {
		seconds := 0.0
		if b.Oldest != nil {
			seconds = max(now.Sub(*b.Oldest).Seconds(), 0)
		}
		gauge(d, seconds, labels...)
	}
	gauge(up, 1)
	gauge(size, float64(l.Bytes))
	gauge(logSize, float64(l.LogBytes))
	gauge(pending, float64(l.Pending))
	gauge(outbox, float64(l.Outbox.Waiting))
	age(outboxed, l.Outbox)
	gauge(inbox, float64(l.Inbox.Waiting))
	age(inboxed, l.Inbox)
	for _, h := range l.Webhooks {
		gauge(hooks, float64(h.Pending.Waiting), h.Endpoint, "pending")
		gauge(hooks, float64(h.Failed), h.Endpoint, "failed")
		age(hooked, h.Pending, h.Endpoint)
		off := 0.0
		if h.Disabled {
			off = 1
		}
		gauge(disabled, off, h.Endpoint)
	}
}

// look asks the store, unless it was asked just now.
func (c *loadCollector) look() (bridge.Load, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if !c.read.IsZero() && now.Sub(c.read) < loadKept {
		return c.last, now, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadPatience)
	defer cancel()
	c.last, c.err = c.load(ctx, now)
	c.read = now
	return c.last, now, c.err
}
