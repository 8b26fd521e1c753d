package httpapi_test

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

var guarded = []struct{ method, path string }{
	{"POST", opsQuestions}, {"GET", "/api/agent/questions"}, {"GET", "/api/agent/questions/q_1"},
	{"GET", "/api/agent/questions/q_1/wait"}, {"POST", "/api/agent/questions/q_1/cancel"},
}

// rationed are the routes of the question queue.
var rationed = []struct{ method, path string }{
	{"POST", queuePath + "propose"}, {"POST", queuePath + "next"}, {"POST", queuePath + "use"}, {"POST", queuePath + "stale"},
	{"POST", queuePath + "prune"}, {"POST", queuePath + "candidates/c_1/answer"}, {"GET", queuePath + "candidates"},
	{"GET", queuePath + "candidates/c_1"}, {"GET", queuePath + "evidence?key=k"}, {"GET", queuePath + "callback"}, {"PUT", queuePath + "callback"},
}

// gated are the routes of gated exchanges.
var gated = append([]struct{ method, path string }{
	{"POST", opsQueries}, {"GET", agentDecisions}, {"POST", agentDecisions + "/d22222/revoke"},
}, exchanges...)

// personal are the routes for people.
var personal = []struct{ method, path string }{
	{"GET", "/api/questions/pending"}, {"GET", "/api/questions/q_1"}, {"POST", "/api/questions/q_1/answer"},
}

// TestEachKindOfTokenOpensItsOwnRoutes: an agent never answers, and a person's token neither asks nor sees what askers see.
func TestEachKindOfTokenOpensItsOwnRoutes(t *testing.T) {
	h := newHouse(t)
	everything := h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}, Scopes: []string{"ask", "read", "cancel"}})
	both := h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}})
	h.change(both, func(t *bridge.Token) { t.User = "@dana:example.org" })
	for _, g := range slices.Concat(guarded, rationed, gated) {
		for _, secret := range []string{h.dana, both} {
			p := h.problem(h.do(g.method, g.path, secret, `{"prompt":"Go?"}`), http.StatusForbidden, "wrong_token_kind")
			if !strings.Contains(p.Detail, "agent's token") {
				t.Errorf("%s %s: %s", g.method, g.path, p.Detail)
			}
		}
	}
	for _, g := range personal {
		for _, secret := range []string{h.secret, everything, both} {
			a := h.do(g.method, g.path, secret, `{"value":"approve"}`)
			if p := h.problem(a, http.StatusForbidden, "wrong_token_kind"); !strings.Contains(p.Detail, "responder token") {
				t.Errorf("%s %s: %s", g.method, g.path, p.Detail)
			}
			if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) {
				t.Errorf("challenge %q", got)
			}
		}
	}
	if h.engine.stored() != 0 || len(h.engine.shown) != 0 {
		t.Error("the engine was asked with the wrong kind of token")
	}
}

func TestEveryRouteNeedsAToken(t *testing.T) {
	h := newHouse(t)
	revoked := h.token(httpapi.TokenTerms{Agent: "gone", Rooms: []string{"*"}})
	past := time.Now().Add(-time.Minute)
	h.change(revoked, func(t *bridge.Token) { t.RevokedAt = &past })
	expired := h.token(httpapi.TokenTerms{Agent: "late", Rooms: []string{"*"}})
	h.change(expired, func(t *bridge.Token) { t.ExpiresAt = &past })
	left := h.token(httpapi.TokenTerms{User: "@gone:example.org"})
	h.change(left, func(t *bridge.Token) { t.RevokedAt = &past })
	for _, g := range slices.Concat(guarded, rationed, gated, personal) {
		a := h.do(g.method, g.path, "", `{"prompt":"Go?"}`)
		h.problem(a, http.StatusUnauthorized, "unauthorized")
		if got := a.header.Get("WWW-Authenticate"); got != `Bearer realm="question-bridge"` {
			t.Errorf("challenge %q", got)
		}
		for _, secret := range []string{"qb_wrong", "qu_wrong", revoked, left, expired, h.secret + "x", strings.ToUpper(h.secret)} {
			a := h.do(g.method, g.path, secret, `{"prompt":"Go?"}`)
			h.problem(a, http.StatusUnauthorized, "invalid_token")
			if got := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") || !strings.Contains(got, `error="invalid_token"`) {
				t.Errorf("challenge %q", got)
			}
		}
	}
	if h.engine.stored() != 0 {
		t.Error("stored without a token")
	}
}

func (h *house) change(secret string, how func(*bridge.Token)) {
	hash := sha256.Sum256([]byte(secret))
	h.tokens.mu.Lock()
	defer h.tokens.mu.Unlock()
	t := h.tokens.byHash[hash]
	how(&t)
	h.tokens.byHash[hash] = t
}

func TestAuthorizationHeaders(t *testing.T) {
	h := newHouse(t)
	for name, c := range map[string]struct {
		values []string
		status int
	}{
		"another case":  {[]string{"bearer " + h.secret}, 200},
		"more space":    {[]string{"Bearer   " + h.secret + " "}, 200},
		"basic":         {[]string{"Basic " + h.secret}, 401},
		"nothing":       {[]string{"Bearer"}, 401},
		"only a scheme": {[]string{"Bearer "}, 401},
		"no scheme":     {[]string{h.secret}, 401},
		"two of them":   {[]string{"Bearer " + h.secret, "Bearer " + h.secret}, 401},
	} {
		req, _ := http.NewRequest("GET", h.url+"/api/agent/questions", nil)
		req.Header["Authorization"] = c.values
		res, err := h.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	req, _ := http.NewRequest("GET", h.url+"/api/agent/questions?access_token="+h.secret, nil)
	if res, err := h.http.Do(req); err != nil || res.StatusCode != 401 {
		t.Errorf("a token in the query: %v", err)
	}
}

func TestRoomsAndGrants(t *testing.T) {
	h := newHouse(t)
	byAlias := h.token(httpapi.TokenTerms{Agent: "a", Rooms: []string{"#dev:example.org"}})
	byID := h.token(httpapi.TokenTerms{Agent: "b", Rooms: []string{"!ops:example.org", "#gone:example.org"}})
	every := h.token(httpapi.TokenTerms{Agent: "c", Rooms: []string{"*"}})
	// The room "!dev" says of itself that it is #ops, which leads to another room.
	byCode := h.token(httpapi.TokenTerms{Agent: "e", Rooms: []string{"DEV", "GONE"}})
	unreachable := h.token(httpapi.TokenTerms{Agent: "f", Rooms: []string{"#down:example.org", "!dev:example.org"}})
	opsAlias := h.token(httpapi.TokenTerms{Agent: "d", Rooms: []string{"#ops:example.org"}})
	for _, c := range []struct {
		secret, room string
		status       int
		code         string
	}{
		{h.secret, "OPS", 201, ""}, {h.secret, "!ops:example.org", 201, ""}, {h.secret, "%23ops:example.org", 201, ""},
		{h.secret, "!dev:example.org", 403, "room_not_granted"},
		{h.secret, "!nowhere:example.org", 404, "room_not_found"}, {h.secret, "ops", 404, "room_not_found"}, {h.secret, "%00", 404, "room_not_found"},
		{byAlias, "!dev:example.org", 201, ""}, {byAlias, "%23dev:example.org", 201, ""}, {byAlias, "OPS", 403, "room_not_granted"},
		{byID, "OPS", 201, ""}, {byID, "!dev:example.org", 403, "room_not_granted"},
		{every, "!dev:example.org", 201, ""}, {every, "nowhere", 404, "room_not_found"},
		{opsAlias, "OPS", 201, ""}, {opsAlias, "!dev:example.org", 403, "room_not_granted"},
		{byCode, "!dev:example.org", 201, ""}, {byCode, "%23dev:example.org", 201, ""}, {byCode, "OPS", 403, "room_not_granted"},
		// Whether a grant covers a room cannot be told while its alias cannot be looked up, unless another grant does.
		{every, "%23down:example.org", 503, "unavailable"}, {unreachable, "OPS", 503, "unavailable"}, {unreachable, "!dev:example.org", 201, ""},
	} {
		a := h.do("POST", "/api/agent/rooms/"+c.room+"/questions", c.secret, `{"prompt":"Go?"}`)
		if c.status == 201 {
			h.question(a, 201)
			continue
		}
		h.problem(a, c.status, c.code)
		if strings.Contains(string(a.body), "10.0.0.1") || (a.header.Get("Retry-After") == "1") != (c.status == 503) {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	if log := h.log.String(); strings.Count(log, "dial tcp 10.0.0.1") != 2 {
		t.Errorf("the log does not tell why: %s", log)
	}
}

func TestScopes(t *testing.T) {
	h := newHouse(t)
	scopes := map[string]string{opsQuestions: httpapi.ScopeAsk, "/api/agent/questions/q_1/cancel": httpapi.ScopeCancel}
	for _, g := range guarded {
		need := scopes[g.path]
		if need == "" {
			need = httpapi.ScopeRead
		}
		for _, scope := range httpapi.Scopes() {
			secret := h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}, Scopes: []string{scope}})
			a := h.do(g.method, g.path, secret, `{"prompt":"Go?"}`)
			if scope == need || scope == httpapi.ScopeReadRoom && need == httpapi.ScopeRead && g.path != "/api/agent/questions" {
				if a.status == http.StatusForbidden {
					t.Errorf("%s %s with %s: %s", g.method, g.path, scope, a.body)
				}
				continue
			}
			h.problem(a, http.StatusForbidden, "insufficient_scope")
			if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="`+need+`"`) {
				t.Errorf("challenge %q", got)
			}
		}
	}
}

func TestNewToken(t *testing.T) {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	secret, token, err := httpapi.NewToken(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}, Scopes: []string{"ask"}, Now: now, ExpiresAt: &later})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^qb_[A-Za-z0-9_-]{43}$`).MatchString(secret) || !regexp.MustCompile(`^tok_[a-z0-9]{12}$`).MatchString(token.ID) {
		t.Errorf("%q %q", secret, token.ID)
	}
	if token.Hash != sha256.Sum256([]byte(secret)) || token.Agent != "ci" || !token.CreatedAt.Equal(now) || *token.ExpiresAt != later {
		t.Errorf("%+v", token)
	}
	if again, other, _ := httpapi.NewToken(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}, Now: now}); again == secret || other.ID == token.ID {
		t.Error("two tokens are the same")
	}
	secret, token, err = httpapi.NewToken(httpapi.TokenTerms{User: "@dana:example.org", Now: now})
	if err != nil || !regexp.MustCompile(`^qu_[A-Za-z0-9_-]{43}$`).MatchString(secret) || token.User != "@dana:example.org" || token.Agent != "" {
		t.Errorf("%q %+v %v", secret, token, err)
	}
	for name, terms := range map[string]httpapi.TokenTerms{
		"both kinds":       {Agent: "ci", User: "@dana:example.org", Rooms: []string{"*"}},
		"a person's rooms": {User: "@dana:example.org", Rooms: []string{"*"}},
		"a person's scope": {User: "@dana:example.org", Scopes: []string{"ask"}},
		"no agent":         {Agent: " ", Rooms: []string{"*"}},
		"no rooms":         {Agent: "ci"},
		"an empty room":    {Agent: "ci", Rooms: []string{"OPS", ""}},
		"an unknown scope": {Agent: "ci", Rooms: []string{"*"}, Scopes: []string{"admin"}},
		"expired already":  {Agent: "ci", Rooms: []string{"*"}, Now: now, ExpiresAt: &now},
	} {
		if _, _, err := httpapi.NewToken(terms); err == nil {
			t.Errorf("%s makes a token", name)
		}
	}
}

// A store that finds a token by another hash than that of the secret, or by the beginning of it, opens nothing.
func TestTheHashIsComparedAgain(t *testing.T) {
	h := newHouse(t)
	h.change(h.secret, func(t *bridge.Token) { t.Hash[31] ^= 1 })
	h.problem(h.get("/api/agent/questions"), http.StatusUnauthorized, "invalid_token")
}

func TestTokenStoreFailure(t *testing.T) {
	h := newHouse(t)
	secret := h.token(httpapi.TokenTerms{Agent: "broken", Rooms: []string{"*"}})
	a := h.do("GET", "/api/agent/questions", secret, "")
	h.problem(a, http.StatusInternalServerError, "internal")
	if strings.Contains(string(a.body), "fire") || strings.Contains(h.log.String(), secret) {
		t.Errorf("shown: %s", a.body)
	}
}

func TestUseOfATokenIsRecordedOnceAMinute(t *testing.T) {
	h := newHouse(t)
	for range 3 {
		h.get("/api/agent/questions")
	}
	if h.tokens.uses != 1 {
		t.Errorf("recorded %d times", h.tokens.uses)
	}
	ago := time.Now().Add(-2 * time.Minute)
	h.change(h.secret, func(t *bridge.Token) { t.UsedAt = &ago })
	h.get("/api/agent/questions")
	if h.tokens.uses != 2 {
		t.Errorf("recorded %d times", h.tokens.uses)
	}
}
