// Package metrics counts what the bridge does, for Prometheus. docs/operations.md lists every metric.
//
// A label has few values: a route's pattern, a status, a kind of effect, an endpoint's configured name. None is an id, nor
// anything that somebody wrote.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"superpipeline.dev/question-bridge/bridge"
)

// namespace begins the name of every metric of ours.
const namespace = "question"

// Metrics is everything that is counted, in a registry of its own. All its methods may be called at once.
type Metrics struct {
	registry *prometheus.Registry

	asked    prometheus.Counter
	settled  *prometheus.CounterVec // state
	replied  prometheus.Histogram
	requests *prometheus.HistogramVec // listener, route, status
	effects  *prometheus.HistogramVec // kind, result
	hooks    *prometheus.HistogramVec // endpoint, result
	limited  prometheus.Counter
}

var _ bridge.Observer = (*Metrics)(nil)

// Sources are what is looked up when somebody scrapes.
type Sources struct {
	Load  Loader
	Waits func() int // how many waits are open
}

// seconds are the buckets of every duration: from what is done in memory up to the longest wait, and to a homeserver that
// is down for a while.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// New makes the metrics of a program of this version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(),
		asked:   prometheus.NewCounter(prometheus.CounterOpts(opts("asked_total", "Questions that were asked or adopted, since the start."))),
		settled: prometheus.NewCounterVec(prometheus.CounterOpts(opts("settled_total", "Questions that ended, since the start, by how.")), []string{"state"}),
		replied: prometheus.NewHistogram(durations("reply_settle_seconds",
			"From the receipt of a reply, a reaction or a structured answer until it had answered its question.")),
		requests: prometheus.NewHistogramVec(durations("http_request_seconds",
			"Requests that were answered, by listener, route and status."), []string{"listener", "route", "status"}),
		effects: prometheus.NewHistogramVec(durations("effect_seconds",
			"Tries to do what is owed in a room, by kind and result."), []string{"kind", "result"}),
		hooks: prometheus.NewHistogramVec(durations("webhook_attempt_seconds",
			"Attempts to deliver an event to an endpoint, by result."), []string{"endpoint", "result"}),
		limited: prometheus.NewCounter(prometheus.CounterOpts(opts("homeserver_limited_total",
			"Requests that the homeserver answered with 429."))),
	}
	for _, s := range []bridge.State{bridge.Answered, bridge.Expired, bridge.Cancelled} {
		m.settled.WithLabelValues(string(s)) // 0 is a value
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "1, of this version.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.asked, m.settled, m.replied, m.requests, m.effects, m.hooks, m.limited, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: namespace, Name: name, Help: help}
}

func durations(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: seconds}
}

// Watch adds what is looked up at a scrape. It is called once.
func (m *Metrics) Watch(s Sources) {
	m.registry.MustRegister(newLoadCollector(s.Load), prometheus.NewGaugeFunc(
		prometheus.GaugeOpts(opts("waits", "Requests that wait for a question to end.")), func() float64 { return float64(s.Waits()) }))
}

// Handler serves the metrics at /metrics.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// Asked implements [bridge.Observer].
func (m *Metrics) Asked() { m.asked.Inc() }

// Settled implements [bridge.Observer].
func (m *Metrics) Settled(s bridge.State) { m.settled.WithLabelValues(string(s)).Inc() }

// Replied implements [bridge.Observer].
func (m *Metrics) Replied(took time.Duration) { m.replied.Observe(took.Seconds()) }

// Effect counts one try of an effect.
func (m *Metrics) Effect(kind bridge.EffectKind, result string, took time.Duration) {
	m.effects.WithLabelValues(string(kind), result).Observe(took.Seconds())
}

// Webhook counts one attempt to tell an endpoint.
func (m *Metrics) Webhook(endpoint, result string, took time.Duration) {
	m.hooks.WithLabelValues(endpoint, result).Observe(took.Seconds())
}

// Limited counts one 429 of the homeserver.
func (m *Metrics) Limited() { m.limited.Inc() }

// Request is one that came to one of our listeners.
type Request struct {
	Listener string
	Route    string // its pattern, never its path; "" for a path that there is not
	Status   int    // 0 for a client that left before there was an answer
	Took     time.Duration
}

// Request counts a request.
func (m *Metrics) Request(r Request) {
	route, status := r.Route, "none"
	if route == "" {
		route = "none"
	}
	if r.Status != 0 {
		status = strconv.Itoa(r.Status)
	}
	m.requests.WithLabelValues(r.Listener, route, status).Observe(r.Took.Seconds())
}

// Requests counts every request to a handler that is, or ends in, an [http.ServeMux].
func (m *Metrics) Requests(listener string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, out := time.Now(), &answered{ResponseWriter: w}
		defer func() { m.Request(Request{listener, r.Pattern, out.status, time.Since(began)}) }()
		next.ServeHTTP(out, r)
		if out.status == 0 { // then that is what the server answers
			out.status = http.StatusOK
		}
	})
}

// answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
