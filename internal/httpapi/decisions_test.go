package httpapi_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// memoryBook is a manor where decisions are remembered.
type memoryBook struct {
	*manor
	book   *decision.Book
	broken bool // whether the book's database fails
	audit  *auditLog
	gates  string // the secret of the agent that opens gates
}

// brittleDecisions is a store that fails while its book is broken.
type brittleDecisions struct {
	decision.Store
	b *memoryBook
}

func (s brittleDecisions) ListDecisions(ctx context.Context, l decision.Listing) ([]decision.Decision, string, error) {
	if s.b.broken {
		return nil, "", errBroken
	}
	return s.Store.ListDecisions(ctx, l)
}

func (s brittleDecisions) MoveDecision(ctx context.Context, d decision.Decision) (bool, error) {
	if s.b.broken {
		return false, errBroken
	}
	return s.Store.MoveDecision(ctx, d)
}

const admin bridge.UserID = "@root:example.org"

func newMemoryBook(t *testing.T, database sqlstore.Config, change ...func(*httpapi.Config)) *memoryBook {
	t.Helper()
	b := &memoryBook{audit: &auditLog{}}
	b.manor = newManorOn(t, database, func(p plan) {
		b.book = decision.New(decision.Parts{
			Store: brittleDecisions{p.store, b}, Clock: p.engine.Clock, Auditor: b.audit, Admin: func(who bridge.UserID) bool { return who == admin },
		})
		p.api.Decisions, p.api.Audit, p.api.SignIn.Identity = b.book, b.audit, &clerk{}
		for _, c := range change {
			c(p.api)
		}
	})
	b.gates = b.token(httpapi.TokenTerms{Agent: "study", Rooms: []string{"*"}, Scopes: []string{"gate"}})
	return b
}

// decides remembers what somebody decided for the agent "study", about another purpose each.
func (b *memoryBook) decides(who bridge.UserID, purpose string) string {
	b.Helper()
	b.clock.ahead.Add(int64(time.Second))
	scope := collector.Scope{Agent: "study", Requester: "Research", Purpose: purpose, Principal: collector.Principal{Kind: "user", ID: "usr_secret", Scope: "local"}}
	err := b.book.Remember(b.Context(), collector.Made{Scope: scope, Gate: "g_1", Approved: true, By: who, At: b.clock.Now()})
	if err != nil {
		b.Fatal(err)
	}
	d, err := b.book.Recall(b.Context(), scope)
	if err != nil {
		b.Fatal(err)
	}
	if err := b.book.Used(b.Context(), collector.Use{Decision: d.ID, Gate: "g_2", At: b.clock.Now()}); err != nil {
		b.Fatal(err)
	}
	return d.ID
}

// list gives the decisions of a page, and the cursor of the next.
func (b *memoryBook) list(path, secret string) ([]schema.Decision, string) {
	b.Helper()
	a := b.do("GET", path, secret, "")
	page, err := schema.Decode[schema.Decisions](a.body)
	if err != nil || a.status != http.StatusOK || strings.Contains(string(a.body), "usr_secret") {
		b.Fatalf("no page of decisions: %v, %d %s", err, a.status, a.body)
	}
	if page.NextCursor == nil {
		return page.Decisions, ""
	}
	return page.Decisions, *page.NextCursor
}

func (b *memoryBook) ids(path, secret string) (ids []string) {
	b.Helper()
	found, _ := b.list(path, secret)
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids
}

func (b *memoryBook) revoke(path, id, secret string) answer {
	b.Helper()
	return b.do("POST", path+"/"+id+"/revoke", secret, "")
}

const agentDecisions, decisions = "/api/agent/decisions", "/api/decisions"

// An agent lists what is remembered for its own exchanges, a person what they decided, an admin everything; each is shown
// what is theirs to know.
func TestDecisionsAreListed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database sqlstore.Config) {
		b := newMemoryBook(t, database)
		danas, sams, elsewhere := b.decides("@dana:example.org", "one"), b.decides("@sam:example.org", "two"), b.decides("", "three")
		for _, c := range []struct {
			path, secret string
			want         []string
		}{
			{agentDecisions, b.gates, []string{elsewhere, sams, danas}},
			{decisions, b.dana, []string{danas}},
			{decisions + "?of=me", b.person("@sam:example.org"), []string{sams}},
			{decisions + "?of=", b.person(admin), nil},
			{decisions + "?of=everybody", b.person(admin), []string{elsewhere, sams, danas}},
			{agentDecisions, b.token(httpapi.TokenTerms{Agent: "cd", Rooms: []string{"*"}, Scopes: []string{"gate"}}), nil},
		} {
			if got := b.ids(c.path, c.secret); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.path, got, c.want)
			}
			first, next := b.list(c.path+and(c.path)+"limit=1", c.secret)
			if len(c.want) > 1 && (len(first) != 1 || len(b.ids(c.path+and(c.path)+"cursor="+url.QueryEscape(next), c.secret)) != len(c.want)-1) {
				t.Errorf("%s has other pages", c.path)
			}
		}
		seen, _ := b.list(agentDecisions, b.gates)
		if d := seen[1]; d.Agent != "study" || d.Requester != "Research" || d.Purpose != "two" || d.Decision != "approved" || d.DecidedBy != nil || *d.GateID != "g_1" ||
			d.Uses != 1 || *d.LastUsedAt != d.DecidedAt {
			t.Errorf("to its agent: %+v", d)
		}
		if own, _ := b.list(decisions, b.dana); own[0].GateID != nil || *own[0].DecidedBy != "@dana:example.org" {
			t.Errorf("to its person: %+v", own[0])
		}
		if all, _ := b.list(decisions+"?of=everybody", b.person(admin)); *all[1].DecidedBy != "@sam:example.org" || all[0].DecidedBy != nil {
			t.Errorf("to an admin: %+v", all)
		}
	})
}

func and(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// doors are those that every route has: no token, none of ours, and one of the other kind.
func (b *memoryBook) doors(method, path, otherKind string) {
	b.Helper()
	b.problem(b.do(method, path, "", ""), http.StatusUnauthorized, "unauthorized")
	b.problem(b.do(method, path, "qb_nobodys", ""), http.StatusUnauthorized, "invalid_token")
	b.problem(b.do(method, path, otherKind, ""), http.StatusForbidden, "wrong_token_kind")
}

// What is no list of decisions is refused, and everybody's to whoever is no admin, or has only signed in.
func TestDecisionsAreRefused(t *testing.T) {
	b := newMemoryBook(t, sqlite(t))
	weak := b.token(httpapi.TokenTerms{User: admin, Session: true, ExpiresAt: new(time.Now().Add(time.Hour))})
	for path, secret := range map[string]string{agentDecisions: b.gates, decisions: b.dana} {
		b.problem(b.do("GET", path+"?limit=many", secret, ""), http.StatusBadRequest, "invalid_parameter")
		b.problem(b.do("GET", path+"?cursor=%zz", secret, ""), http.StatusBadRequest, "invalid_parameter")
		b.problem(b.do("GET", path+"?cursor=x", secret, ""), http.StatusBadRequest, "invalid_cursor")
	}
	b.problem(b.do("GET", decisions+"?of=dana", b.dana, ""), http.StatusBadRequest, "invalid_parameter")
	b.problem(b.do("GET", decisions+"?of=everybody", b.dana, ""), http.StatusForbidden, "admins_only")
	b.problem(b.do("GET", decisions+"?of=everybody", weak, ""), http.StatusForbidden, "weak_sign_in")
	usual := b.token(httpapi.TokenTerms{Agent: "study", Rooms: []string{"*"}, Scopes: []string{"ask", "read", "read:room", "cancel", "queue"}})
	b.problem(b.do("GET", agentDecisions, usual, ""), http.StatusForbidden, "insufficient_scope")
	b.problem(b.revoke(agentDecisions, "d22222", usual), http.StatusForbidden, "insufficient_scope")
	b.doors("GET", agentDecisions, b.dana)
	b.doors("GET", decisions, b.gates)
	b.doors("POST", agentDecisions+"/d22222/revoke", b.dana)
	b.doors("POST", decisions+"/d22222/revoke", b.gates)
	b.broken = true
	b.problem(b.do("GET", agentDecisions, b.gates, ""), http.StatusInternalServerError, "internal")
	b.problem(b.do("GET", decisions, b.dana, ""), http.StatusInternalServerError, "internal")
}

// A decision is taken back by its person, by its agent, or by an admin, once; to anybody else it is as if there were none.
func TestDecisionsAreTakenBack(t *testing.T) {
	b := newMemoryBook(t, sqlite(t))
	weak := b.token(httpapi.TokenTerms{User: admin, Session: true, ExpiresAt: new(time.Now().Add(time.Hour))})
	other := b.token(httpapi.TokenTerms{Agent: "cd", Rooms: []string{"*"}, Scopes: []string{"gate"}})
	id := b.decides("@dana:example.org", "one")
	for _, c := range []struct{ path, secret string }{{decisions, b.person("@sam:example.org")}, {decisions, weak}, {agentDecisions, other}} {
		records := len(b.audit.records)
		b.problem(b.revoke(c.path, id, c.secret), http.StatusNotFound, "decision_not_found")
		if got := b.audit.records[records:]; len(got) != 1 || got[0].Code != decision.CodeUnknown {
			t.Errorf("recorded %+v", got)
		}
	}
	for _, no := range []string{"d22222", "2", "d", "g22222", "d%00zzzz", strings.Repeat("d", 2000)} {
		b.problem(b.revoke(decisions, no, b.dana), http.StatusNotFound, "decision_not_found")
		b.problem(b.revoke(agentDecisions, no, b.gates), http.StatusNotFound, "decision_not_found")
	}
	b.broken = true
	b.problem(b.revoke(decisions, id, b.dana), http.StatusInternalServerError, "internal")
	b.problem(b.revoke(agentDecisions, id, b.gates), http.StatusInternalServerError, "internal")
	b.broken = false
	for _, c := range []struct{ path, secret, user, agent string }{
		{decisions, b.dana, "@dana:example.org", "study"}, {decisions, b.person(admin), string(admin), "study"}, {agentDecisions, b.gates, "", "study"},
	} {
		id := b.decides("@dana:example.org", "of "+c.path+c.user)
		a := b.revoke(c.path, strings.ToUpper(id), c.secret)
		stood, err := schema.Decode[schema.Decision](a.body)
		if err != nil || a.status != http.StatusOK || stood.ID != id || stood.Uses != 1 || (stood.GateID != nil) != (c.path == agentDecisions) {
			t.Fatalf("taken back: %v, %d %s", err, a.status, a.body)
		}
		if r := b.audit.records[len(b.audit.records)-1]; r.Action != bridge.AuditDecisionRevoked || string(r.User) != c.user || string(r.Agent) != c.agent || r.Origin.Request == "" {
			t.Errorf("recorded %+v", r)
		}
		b.problem(b.revoke(c.path, id, c.secret), http.StatusNotFound, "decision_not_found")
	}
	if got := b.ids(agentDecisions, b.gates); !slices.Equal(got, []string{id}) {
		t.Errorf("there stand %v", got)
	}
}

// Agents and people in a hurry are slowed down here too.
func TestTakingBackHasAPace(t *testing.T) {
	b := newMemoryBook(t, sqlite(t), func(c *httpapi.Config) {
		c.Limits.Person, c.Limits.Agent = httpapi.Pace{PerMinute: 1, Burst: 1}, func(bridge.AgentID) httpapi.Pace { return httpapi.Pace{PerMinute: 1, Burst: 1} }
	})
	for path, secret := range map[string]string{decisions: b.dana, agentDecisions: b.gates} {
		b.revoke(path, "d22222", secret)
		b.problem(b.revoke(path, "d22222", secret), http.StatusTooManyRequests, "rate_limited")
	}
}

// The SDK's calls, of an agent, a person and an admin.
func TestDecisionsOverTheSDK(t *testing.T) {
	b := newMemoryBook(t, sqlite(t))
	danas, sams, last := b.decides("@dana:example.org", "one"), b.decides("@sam:example.org", "two"), b.decides("@sam:example.org", "three")
	agent, err := client.New(client.Config{Server: b.url, Token: b.gates})
	if err != nil {
		t.Fatal(err)
	}
	person := func(who bridge.UserID) *client.Responder {
		r, err := client.NewResponder(client.Config{Server: b.url, Token: b.person(who)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	dana, sam, root := person("@dana:example.org"), person("@sam:example.org"), person(admin)
	lists := func(want []string, found iter.Seq2[*schema.Decision, error]) {
		t.Helper()
		var ids []string
		for d, err := range found {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, d.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("lists %v, want %v", ids, want)
		}
	}
	lists([]string{last, sams, danas}, agent.Decisions(t.Context()))
	lists([]string{danas}, dana.Decisions(t.Context()))
	lists([]string{last, sams, danas}, root.AllDecisions(t.Context()))
	for id, revoke := range map[string]func(context.Context, string) (*schema.Decision, error){
		danas: dana.RevokeDecision, sams: root.RevokeDecision, last: agent.RevokeDecision,
	} {
		if d, err := revoke(t.Context(), id); err != nil || d.ID != id {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
	lists(nil, agent.Decisions(t.Context()))
	for _, err := range sam.AllDecisions(t.Context()) {
		if refused := (*client.Error)(nil); !errors.As(err, &refused) || refused.Code != "admins_only" {
			t.Errorf("who is no admin: %v", err)
		}
	}
}
