package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/wait"
	"superpipeline.dev/question-bridge/schema"
)

// Engine is what this API asks of the engine. Errors are *bridge.Error where the asker can do something about them.
type Engine interface {
	// Ask stores a question. An equal ask under the same elicitation id gives the stored one and created false.
	Ask(ctx context.Context, q bridge.Question) (asked bridge.Question, created bool, err error)
	// Read gives a question that may be read; one that may not is CodeNotFound, as if there were none. An error of may is
	// the error.
	Read(ctx context.Context, id bridge.QuestionID, may func(bridge.Question) (bool, error)) (bridge.Question, error)
	// List gives an asker's own questions, or those of a conversation, newest first, and the cursor of the next page, "" on the last.
	List(ctx context.Context, l bridge.Listing) ([]bridge.Question, string, error)
	// Cancel withdraws a pending question of the asker; a settled one comes back as it is.
	Cancel(ctx context.Context, asker bridge.AgentID, id bridge.QuestionID) (bridge.Question, error)
	// AskOnce and CancelOnce do the same once for a request that names itself; repeated, it gets the response that it got
	// first. Another request of that name is CodeIdempotencyConflict.
	AskOnce(ctx context.Context, q bridge.Question, o bridge.Once) (r bridge.Response, replayed bool, err error)
	CancelOnce(ctx context.Context, asker bridge.AgentID, id bridge.QuestionID, o bridge.Once) (r bridge.Response, replayed bool, err error)

	// Show gives a question to a person who may answer it, or might have. Otherwise it is CodeNotFound or CodeNotEligible,
	// or a *bridge.ErrRetry where that cannot be told now.
	Show(ctx context.Context, who bridge.UserID, id bridge.QuestionID) (bridge.Question, error)
	// PendingFor gives the pending questions that a person may answer, newest first, and the cursor of the next page, "" on
	// the last.
	PendingFor(ctx context.Context, l bridge.PendingListing) (page []bridge.Question, next string, err error)
	// Answer takes a person's answer. Whoever is late gets the question as it was settled; errors besides those of Show are
	// why the answer is none, and leave the question pending.
	Answer(ctx context.Context, who bridge.UserID, id bridge.QuestionID, c bridge.Choice) (bridge.Question, error)
}

// Config is what the API is made of.
type Config struct {
	Engine Engine
	Tokens Tokens
	Rooms  Rooms
	Hub    *wait.Hub // close it to release every wait when shutting down
	Checks []Check   // of /readyz
	Agents map[bridge.AgentID]string
	SignIn SignIn // with a Matrix OpenID token
	// Queue is the Question Queue, and Callbacks are where it asks hosts what is stale.
	Queue     *queue.Queue
	Callbacks Callbacks
	// Gates opens gated exchanges, and takes the responses to their queries.
	Gates *collector.Collector
	// Host puts queries to people for the agents that were given them; nil where nobody hands any in.
	Host      *host.Host
	Grants    Grants
	Decisions Decisions
	Log       zerolog.Logger
	// Observe hears of each request: its route, "" for none of ours, the status, and how long it took. It may be nil.
	Observe func(route string, status int, took time.Duration)
	// Keys lists the keys that certificates are signed with; nil for none.
	Keys func(ctx context.Context) (certificate.KeyList, error)
	// Limits are how fast agents and people may act; unlimited if zero.
	Limits Limits
	// Audit keeps what is refused here; nil for nobody. The engine has its own.
	Audit bridge.Auditor
	// Proxies are the networks of the proxies in front of this API, whose X-Forwarded-For is believed.
	Proxies []netip.Prefix

	Clock        bridge.Clock  // the system's, if nil
	Reread       time.Duration // how often a wait looks again by itself; 15 s, if 0 (see wait.go)
	ReplyTimeout time.Duration // to the end of a wait's response, on top of what it holds; 30 s, if 0
}

// Timeouts of one request.
const (
	headerTimeout = 10 * time.Second // from the first byte to the end of the header
	bodyTimeout   = 30 * time.Second // to the end of the body
	replyTimeout  = 30 * time.Second // to the end of the response
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
)

// New makes the API. A wait moves the deadline of its own response, so a server with any WriteTimeout can serve it.
func New(c Config) http.Handler {
	if c.Clock == nil {
		c.Clock = bridge.SystemClock{}
	}
	if c.Audit == nil {
		c.Audit = bridge.Unaudited{}
	}
	if c.Reread == 0 {
		c.Reread = 15 * time.Second
	}
	if c.ReplyTimeout == 0 {
		c.ReplyTimeout = replyTimeout
	}
	s := &server{c, newLimiter()}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.pattern, r.handle)
	}
	return s.guard(answerUnmatched(mux))
}

// HTTPServer makes a server that no slow client can hold open for long.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: replyTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
}

type server struct {
	Config
	limiter *limiter
}

// Routes gives the pattern of every route, as net/http has them: for whoever must miss none.
func Routes() []string {
	var patterns []string
	for _, r := range (&server{}).routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

type route struct {
	pattern string
	handle  handler
}

// routes is every route of this API (The Question Protocol 1.1, section 7). Each is described in the folder openapi, with
// every status and code that it may answer; the tests tell what is missing there, and what never comes.
func (s *server) routes() []route {
	return []route{
		{"POST /api/agent/rooms/{room}/questions", s.agent(ScopeAsk, s.ask)},
		{"GET /api/agent/questions", s.reading(s.list)},
		{"GET /api/agent/questions/{id}", s.reading(s.fetch)},
		{"GET /api/agent/questions/{id}/wait", s.wait}, // reading
		{"POST /api/agent/questions/{id}/cancel", s.agent(ScopeCancel, s.cancel)},
		{"POST /api/agent/rooms/{room}/queries", s.agent(ScopeGate, s.handIn)},
		{"POST /api/agent/queue/propose", s.eachTurn(schema.Proposed{Outcome: string(queue.Dropped)}, s.propose)},
		{"POST /api/agent/queue/next", s.eachTurn(schema.NextCandidate{}, s.next)},
		{"POST /api/agent/queue/use", s.eachTurn(schema.Updated{}, s.used)},
		{"POST /api/agent/queue/stale", s.eachTurn(schema.ExpiredCandidates{}, s.gone)},
		{"POST /api/agent/queue/prune", s.eachTurn(schema.Pruned{}, s.prune)},
		{"GET /api/agent/queue/candidates", s.agent(ScopeQueue, s.candidates)},
		{"GET /api/agent/queue/candidates/{id}", s.agent(ScopeQueue, s.candidate)},
		{"POST /api/agent/queue/candidates/{id}/answer", s.eachTurn(schema.ReplyResult{Reason: string(queue.ReasonError)}, s.replied)},
		{"GET /api/agent/queue/evidence", s.agent(ScopeQueue, s.evidence)},
		{"GET /api/agent/queue/callback", s.agent(ScopeQueue, s.callback)},
		{"PUT /api/agent/queue/callback", s.agent(ScopeQueue, s.setCallback)},
		{"POST /api/agent/rooms/{room}/gates", s.agent(ScopeGate, s.openGate)},
		{"GET /api/agent/gates", s.agent(ScopeGate, s.gates)},
		{"GET /api/agent/gates/{id}", s.agent(ScopeGate, s.gate)},
		{"POST /api/queries/{id}/responses", s.respond},
		{"GET /api/agent/grants", s.agent(ScopeRead, s.grants)},
		{"POST /api/auth/matrix", s.signIn},
		{"GET /api/questions/pending", s.responder(bridge.AuditReadRefused, s.pending)},
		{"GET /api/questions/{id}", s.responder(bridge.AuditReadRefused, s.show)},
		{"POST /api/questions/{id}/answer", s.responder(bridge.AuditAnswerRefused, s.answer)},
		{"GET /api/agent/decisions", s.agent(ScopeGate, s.agentDecisions)},
		{"POST /api/agent/decisions/{id}/revoke", s.agent(ScopeGate, s.agentRevoke)},
		{"GET /api/decisions", s.responder(bridge.AuditReadRefused, s.decisions)},
		{"POST /api/decisions/{id}/revoke", s.responder(bridge.AuditRevokeRefused, s.revokeOwn)},
		{"GET /api/grants", s.responder(bridge.AuditReadRefused, s.standing)},
		{"POST /api/grants/{id}/revoke", s.responder(bridge.AuditRevokeRefused, s.revoke)},
		{"GET " + certificate.KeysPath, s.keys},
		{"GET /openapi.json", s.openapi},
		{"GET /healthz", s.healthz},
		{"GET /readyz", s.readyz},
	}
}
