package httpapi_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/egress"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/callback"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// library is a house with a question queue over a database, and an agent that may use it.
type library struct {
	*manor
	secret   string // of agent ci, with the scope queue alone
	disabled bool   // what the environment says
	last     atomic.Int64
}

func newLibrary(t *testing.T, database sqlstore.Config, change ...func(*httpapi.Config, *queue.Parts)) *library {
	t.Helper()
	l, rationed := &library{}, (*queue.Queue)(nil)
	l.manor = newManorOn(t, database, func(p plan) {
		hosts := &callback.Checker{Store: p.store, Caller: guardFor(t, "127.0.0.1")}
		parts := queue.Parts{Store: p.store, Clock: l, Disabled: func() bool { return l.disabled }, Staleness: hosts}
		p.api.Callbacks = hosts
		for _, c := range change {
			c(p.api, &parts)
		}
		p.api.Queue = queue.New(parts)
		p.engine.Features = append(p.engine.Features, p.api.Queue)
		rationed = p.api.Queue
	})
	rationed.Asker, rationed.Withdrawer = l.engine, l.engine
	l.secret = l.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}, Scopes: []string{httpapi.ScopeQueue}})
	return l
}

// Now implements bridge.Clock before there is a manor. No two calls get the same millisecond: what is newest is so.
func (l *library) Now() time.Time {
	for {
		last, now := l.last.Load(), time.Now().UnixMilli()
		if now = max(now, last+1); l.last.CompareAndSwap(last, now) {
			return time.UnixMilli(now).UTC()
		}
	}
}

// inLibraries runs a test over each database.
func inLibraries(t *testing.T, f func(l *library)) {
	eachDatabase(t, func(t *testing.T, database sqlstore.Config) { f(newLibrary(t, database)) })
}

const queuePath = "/api/agent/queue/"

func (l *library) post(call, body string) answer {
	l.Helper()
	return l.do("POST", queuePath+call, l.secret, body)
}

// calledQueue makes a call that must succeed, and reads its document.
func calledQueue[T any, P interface {
	*T
	schema.Document
}](l *library, call, body string) T {
	l.Helper()
	return queueDocument[T, P](l, l.post(call, body))
}

func queueDocument[T any, P interface {
	*T
	schema.Document
}](l *library, a answer) T {
	l.Helper()
	document, err := schema.Decode[T, P](a.body)
	if err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		l.Fatalf("%d %s %v", a.status, a.body, err)
	}
	return *document
}

// says wants a response of 200 with exactly this document.
func (l *library) says(a answer, document string) {
	l.Helper()
	if a.status != http.StatusOK || string(a.body) != document+"\n" {
		l.Errorf("%d %s, want %s", a.status, a.body, document)
	}
}

// aboutDana is the example of the document, proposed on a turn.
const aboutDana = `{"turn":12,"question_text":"Does Dana prefer morning or afternoon meetings?","kind":"disjunction","ambiguity_signal":"disjunction",
	"source_module":"reconciliation","target_keys":["fact:17",{"key":"fact:42","confidence":true}],
	"options":[{"label":"morning","acted":["fact:17"],"contradicted":["fact:42"]},{"label":"afternoon","acted":["fact:42"],"contradicted":["fact:17"]}]}`

// proposed proposes it and gives the candidate.
func (l *library) proposed(body string) schema.Candidate {
	l.Helper()
	p := calledQueue[schema.Proposed](l, "propose", body)
	if p.Outcome != "proposed" || p.Candidate == nil {
		l.Fatalf("%+v", p)
	}
	return *p.Candidate
}

func (l *library) candidate(id string) schema.Candidate {
	l.Helper()
	return queueDocument[schema.Candidate](l, l.do("GET", queuePath+"candidates/"+id, l.secret, ""))
}

// guardFor is a guard that lets out to the addresses that are listed, besides public ones.
func guardFor(t *testing.T, allowed ...string) *egress.Client {
	t.Helper()
	guard, err := egress.New(egress.Config{Allow: allowed, Timeouts: egress.Timeouts{Whole: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}
