package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// ledger is a manor whose answers grant.
type ledger struct {
	*manor
	book   *grant.Book
	broken bool // whether the book's database fails
	audit  *auditLog
	asked  int
}

type auditLog struct{ records []bridge.AuditRecord }

func (l *auditLog) Record(_ context.Context, r bridge.AuditRecord) { l.records = append(l.records, r) }

// brittle is a store of grants that fails while its ledger is broken.
type brittle struct {
	grant.Store
	l *ledger
}

var errBroken = errors.New("pq: the disk is full")

func (b brittle) ListGrants(ctx context.Context, l grant.Listing) ([]grant.Grant, string, error) {
	if b.l.broken {
		return nil, "", errBroken
	}
	return b.Store.ListGrants(ctx, l)
}

func (b brittle) RevokeGrant(ctx context.Context, r grant.Revoking) (bool, error) {
	if b.l.broken {
		return false, errBroken
	}
	return b.Store.RevokeGrant(ctx, r)
}

func newLedger(t *testing.T, database sqlstore.Config, change ...func(*httpapi.Config)) *ledger {
	t.Helper()
	l := &ledger{audit: &auditLog{}}
	l.manor = newManorOn(t, database, func(p plan) {
		l.book = grant.New(grant.Parts{Store: brittle{p.store, l}, Gatekeeper: p.engine.Gatekeeper, Clock: p.engine.Clock, Auditor: l.audit})
		p.engine.Features, p.api.Grants, p.api.Audit, p.api.Clock = []bridge.Feature{l.book}, l.book, l.audit, p.engine.Clock
		for _, c := range change {
			c(p.api)
		}
	})
	return l
}

// given is the grant of a new question that somebody answered by an option.
func (l *ledger) given(who bridge.UserID, option string) schema.Grant {
	l.Helper()
	l.asked++
	id := "elc_" + strings.Repeat("x", l.asked)
	body := strings.NewReplacer(`"elicitation_id":"elc_1"`, `"elicitation_id":"`+id+`"`, `"id":"op_1"`, `"id":"op_`+id+`"`).Replace(grantable)
	q := l.house.asked(body)
	subject := `{"id":"op_` + id + `","digest":"sha256:aa","schema":"x/v1","revision":1}`
	answered := l.question(l.do("POST", answerPath(q.ID), l.person(who), `{"value":"`+option+`","subject":`+subject+`}`), http.StatusOK)
	l.clock.ahead.Add(int64(time.Second))
	if option == "once" {
		if g := answered.Answer.Grant; g == nil || g.Scope != "once" {
			l.Fatalf("once granted %+v", g)
		}
		return schema.Grant{}
	}
	page := l.page(l.do("GET", "/api/agent/grants?limit=1", l.secret, ""))
	g := page.Grants[0]
	if shown := answered.Answer.Grant; shown == nil || shown.Scope != g.Scope || shown.Option != option || *shown.Subject != *g.Subject || *shown.RunID != "run_12" ||
		shown.By != string(who) || *shown.Until != "2099-01-01T00:00:00Z" || g.QuestionID != q.ID {
		l.Fatalf("the answer grants %+v, and listed is %+v", shown, g)
	}
	return g
}

const grantable = `{"msgtype":"m.text","suite_event_type":"dev.superpipeline.question.v2","schema_version":1,"body":"x","elicitation_id":"elc_1","board_id":"b1",
"card_id":"c1","run_id":"run_12","stage_key":"s1","card_title":"Deploy","asked_by":"Deployer","question":"Deploy?","options":[
{"id":"once","label":"Allow once","meaning":"approve","needs_comment":false,"scope":"once"},
{"id":"run","label":"Allow for this run","meaning":"approve","needs_comment":false,"scope":"run"},
{"id":"always","label":"Always allow","meaning":"approve","needs_comment":false,"scope":"always","requires":"workspace-admin"},
{"id":"no","label":"No","meaning":"reject","needs_comment":false}],
"subject":{"id":"op_1","digest":"sha256:aa","schema":"x/v1","revision":1,"expires_at":"2099-01-01T00:00:00Z","preview_complete":true,"preview":[{"type":"text","text":"rm"}]}}`

func (l *ledger) page(a answer) schema.Grants {
	l.Helper()
	page, err := schema.Decode[schema.Grants](a.body)
	if err != nil || a.status != http.StatusOK {
		l.Fatalf("no page of grants: %v, %d %s", err, a.status, a.body)
	}
	return *page
}

func (l *ledger) revoke(id, secret string) answer {
	l.Helper()
	return l.do("POST", "/api/grants/"+id+"/revoke", secret, "")
}

func (l *ledger) revoked(a answer) schema.Grant {
	l.Helper()
	g, err := schema.Decode[schema.Grant](a.body)
	if err != nil || a.status != http.StatusOK {
		l.Fatalf("no grant: %v, %d %s", err, a.status, a.body)
	}
	return *g
}

func ids(page schema.Grants) (ids []string) {
	for _, g := range page.Grants {
		ids = append(ids, g.ID)
	}
	return ids
}

// An asker lists what its own questions were granted, whole, by state and page by page; another agent sees none of it.
func TestAnAskerListsItsGrants(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database sqlstore.Config) {
		l := newLedger(t, database)
		l.given("@dana:example.org", "once")
		a, b, c := l.given("@dana:example.org", "run"), l.given("@root:example.org", "always"), l.given("@sam:example.org", "run")
		revoked := l.revoked(l.revoke(b.ID, l.person("@root:example.org")))
		if revoked.State != schema.GrantRevoked || *revoked.RevokedBy != "@root:example.org" || revoked.RevokedAt == nil || revoked.CorrelationID != nil {
			t.Errorf("revoked: %+v", revoked)
		}
		list := func(query string) schema.Grants { return l.page(l.do("GET", "/api/agent/grants"+query, l.secret, "")) }
		for query, want := range map[string][]string{
			"": {c.ID, b.ID, a.ID}, "?state=": {c.ID, b.ID, a.ID}, "?state=active": {c.ID, a.ID}, "?state=revoked": {b.ID}, "?state=lapsed": nil, "?limit=2": {c.ID, b.ID},
		} {
			if got := ids(list(query)); !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", query, got, want)
			}
		}
		first := list("?limit=2")
		if got := list("?limit=2&cursor=" + url.QueryEscape(*first.NextCursor)); !slices.Equal(ids(got), []string{a.ID}) || got.NextCursor != nil {
			t.Errorf("the next page: %v", ids(got))
		}
		if g := first.Grants[0]; g.State != schema.GrantActive || *g.CorrelationID != "elc_xxxx" || g.AskedBy != "Deployer" || g.Label != "Allow for this run" || *g.Room.Code != "OPS" {
			t.Errorf("listed: %+v", g)
		}
		other := l.token(httpapi.TokenTerms{Agent: "cd", Rooms: []string{"*"}, Scopes: []string{"ask", "read", "read:room", "cancel", "queue", "gate"}})
		if got := l.page(l.do("GET", "/api/agent/grants", other, "")); len(got.Grants) != 0 {
			t.Errorf("another agent sees %v", ids(got))
		}
		l.problem(l.do("GET", "/api/agent/grants?state=given", l.secret, ""), http.StatusBadRequest, "invalid_parameter")
		l.problem(l.do("GET", "/api/agent/grants?limit=many", l.secret, ""), http.StatusBadRequest, "invalid_parameter")
		l.problem(l.do("GET", "/api/agent/grants?cursor=x", l.secret, ""), http.StatusBadRequest, "invalid_cursor")
		l.problem(l.do("GET", "/api/agent/grants?cursor=%zz", l.secret, ""), http.StatusBadRequest, "invalid_parameter")
		asks := l.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}, Scopes: []string{"ask", "read:room"}})
		l.problem(l.do("GET", "/api/agent/grants", asks, ""), http.StatusForbidden, "insufficient_scope")
		l.doors("GET", "/api/agent/grants", l.dana)
		l.broken = true
		l.problem(l.do("GET", "/api/agent/grants", l.secret, ""), http.StatusInternalServerError, "internal")
	})
}

// doors are those that every route has: no token, none of ours, and one of the other kind.
func (l *ledger) doors(method, path, otherKind string) {
	l.Helper()
	l.problem(l.do(method, path, "", ""), http.StatusUnauthorized, "unauthorized")
	l.problem(l.do(method, path, "qb_nobodys", ""), http.StatusUnauthorized, "invalid_token")
	l.problem(l.do(method, path, otherKind, ""), http.StatusForbidden, "wrong_token_kind")
}

// A person lists what stands in their rooms, with nothing that is the asker's alone.
func TestAPersonListsWhatStands(t *testing.T) {
	l := newLedger(t, sqlite(t))
	a, b := l.given("@dana:example.org", "run"), l.given("@root:example.org", "always")
	list := func(secret, query string) schema.Grants { return l.page(l.do("GET", "/api/grants"+query, secret, "")) }
	got := list(l.dana, "")
	if !slices.Equal(ids(got), []string{b.ID, a.ID}) || got.Grants[0].CorrelationID != nil || got.Grants[0].By != "@root:example.org" {
		t.Errorf("stands: %+v", got)
	}
	first := list(l.dana, "?limit=1")
	if got := list(l.dana, "?cursor="+url.QueryEscape(*first.NextCursor)); !slices.Equal(ids(got), []string{a.ID}) {
		t.Errorf("the next page: %v", ids(got))
	}
	l.revoked(l.revoke(a.ID, l.dana))
	if got := list(l.person("@sam:example.org"), ""); !slices.Equal(ids(got), []string{b.ID}) {
		t.Errorf("stands: %v", ids(got))
	}
	if got := list(l.person("@nobody:example.org"), ""); len(got.Grants) != 0 {
		t.Errorf("who is in no room sees %v", ids(got))
	}
	l.problem(l.do("GET", "/api/grants?limit=many", l.dana, ""), http.StatusBadRequest, "invalid_parameter")
	l.problem(l.do("GET", "/api/grants?cursor=x", l.dana, ""), http.StatusBadRequest, "invalid_cursor")
	l.doors("GET", "/api/grants", l.secret)
	l.people.set(true)
	l.problem(l.do("GET", "/api/grants", l.dana, ""), http.StatusServiceUnavailable, "unavailable")
	l.people.set(false)
	l.broken = true
	l.problem(l.do("GET", "/api/grants", l.dana, ""), http.StatusInternalServerError, "internal")
}

// Who may not take a grant back is refused with the reason and recorded, and what is taken back is so once.
func TestRevoke(t *testing.T) {
	l := newLedger(t, sqlite(t), func(c *httpapi.Config) { c.SignIn.Identity = &clerk{} })
	g := l.given("@root:example.org", "always")
	weak := l.token(httpapi.TokenTerms{User: "@root:example.org", Session: true, ExpiresAt: new(time.Now().Add(time.Hour))})
	for secret, want := range map[string]string{
		l.dana: "admins_only", l.person("@ci:example.org"): "not_eligible", l.person("@robot:example.org"): "not_eligible", l.person("@nobody:example.org"): "grant_not_found", weak: "weak_sign_in",
	} {
		records := len(l.audit.records)
		status := http.StatusForbidden
		if want == "grant_not_found" {
			status = http.StatusNotFound
		}
		p := l.problem(l.revoke(g.ID, secret), status, want)
		if strings.Contains(p.Detail, "Deploy") {
			t.Errorf("it says what was asked: %s", p.Detail)
		}
		if got := l.audit.records[records:]; len(got) != 1 || got[0].Action != bridge.AuditRevokeRefused || string(got[0].Code) != want {
			t.Errorf("recorded %+v", got)
		}
	}
	for _, id := range []string{"gzzzzz", "2", "g", g.QuestionID, "g%00zzzz", strings.Repeat("g", 2000)} {
		l.problem(l.revoke(id, l.dana), http.StatusNotFound, "grant_not_found")
	}
	l.doors("POST", "/api/grants/"+g.ID+"/revoke", l.secret)
	root := l.person("@root:example.org")
	l.people.set(true)
	l.problem(l.revoke(g.ID, root), http.StatusServiceUnavailable, "unavailable")
	l.people.set(false)
	l.broken = true
	l.problem(l.revoke(g.ID, root), http.StatusInternalServerError, "internal")
	l.broken = false
	if got := l.page(l.do("GET", "/api/agent/grants", l.secret, "")); got.Grants[0].State != schema.GrantActive {
		t.Fatalf("it is %+v", got.Grants[0])
	}
	first := l.revoked(l.revoke(strings.ToUpper(g.ID), root))
	again := l.revoked(l.revoke(g.ID, root))
	if first.State != schema.GrantRevoked || *again.RevokedAt != *first.RevokedAt {
		t.Errorf("first %+v, again %+v", first, again)
	}
	q := l.question(l.get("/api/agent/questions/"+g.QuestionID), http.StatusOK)
	if q.State != schema.Answered || q.Answer.Grant == nil {
		t.Errorf("the question has become %+v", q)
	}
}

// A person in a hurry is slowed down here too.
func TestRevokingHasAPace(t *testing.T) {
	l := newLedger(t, sqlite(t), func(c *httpapi.Config) { c.Limits.Person = httpapi.Pace{PerMinute: 1, Burst: 1} })
	l.revoke("gzzzzz", l.dana)
	l.problem(l.revoke("gzzzzz", l.dana), http.StatusTooManyRequests, "rate_limited")
}
