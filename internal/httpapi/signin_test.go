package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// clerk knows whose each OpenID token is, as homeservers would say.
type clerk struct {
	mu    sync.Mutex
	fail  error
	asked []string
}

func (c *clerk) OpenIDUser(_ context.Context, server, token string) (bridge.UserID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, server)
	if c.fail != nil {
		return "", c.fail
	}
	name, _, _ := strings.Cut(token, "-")
	return bridge.UserID("@" + name + ":" + server), nil
}

// lobby is a manor that people can sign in to: with the token "dana-1" as dana.
type lobby struct {
	*manor
	clerk *clerk
	clock *clocktest.Clock
}

func newLobby(t *testing.T, change func(*httpapi.Config, *bridge.Parts)) *lobby {
	t.Helper()
	l := &lobby{clerk: &clerk{}, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	l.manor = newManorOn(t, sqlite(t), func(p plan) {
		for _, token := range p.api.Tokens.(*tokens).byHash {
			if err := p.store.AddToken(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		p.api.Tokens, p.api.Clock, p.engine.Clock = p.store, l.clock, l.clock
		p.api.SignIn = httpapi.SignIn{Identity: l.clerk, Sessions: p.store}
		if change != nil {
			change(p.api, p.engine)
		}
	})
	return l
}

func openIDBody(token string) string {
	return fmt.Sprintf(`{"access_token":%q,"token_type":"Bearer","matrix_server_name":"example.org","expires_in":3600}`, token)
}

const signInPath = "/api/auth/matrix"

// signedIn reads a response that must be a session.
func (l *lobby) signedIn(a answer) schema.Session {
	l.Helper()
	s, err := schema.Decode[schema.Session](a.body)
	if err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" {
		l.Fatalf("%d %v %s: %v", a.status, a.header, a.body, err)
	}
	return *s
}

// TestSignIn: one exchange gives one session of 15 minutes, which answers as that person and does nothing else.
func TestSignIn(t *testing.T) {
	l := newLobby(t, nil)
	q := l.asked(`{"prompt":"Go?"}`)
	session := l.signedIn(l.do("POST", signInPath, "", openIDBody("dana-1")))
	until := l.clock.Now().Add(15 * time.Minute)
	if at, err := session.ExpiresAt.Time(); err != nil || !at.Equal(until.Truncate(time.Second)) || session.ExpiresIn != 900 || session.TokenType != "Bearer" ||
		session.UserID != "@dana:example.org" || session.MayApprove || !strings.HasPrefix(session.AccessToken, "qs_") || len(session.AccessToken) != 46 {
		t.Errorf("%+v", session)
	}
	a := l.do("POST", signInPath, "", openIDBody("dana-1"))
	l.problem(a, http.StatusUnauthorized, "openid_token_used")
	if got := a.header.Get("WWW-Authenticate"); got != `Bearer realm="question-bridge", error="invalid_token"` {
		t.Errorf("challenge %q", got)
	}
	for _, g := range guarded {
		l.problem(l.do(g.method, g.path, session.AccessToken, `{"prompt":"Go?"}`), http.StatusForbidden, "wrong_token_kind")
	}
	page := l.do("GET", "/api/questions/pending", session.AccessToken, "")
	if !strings.Contains(string(page.body), q.ID) || !strings.Contains(string(page.body), `"viewer":"@dana:example.org"`) {
		t.Errorf("pending: %s", page.body)
	}
	l.question(l.do("GET", "/api/questions/"+q.ID, session.AccessToken, ""), http.StatusOK)
	l.clock.Move(15*time.Minute - time.Millisecond)
	settled := l.question(l.do("POST", answerPath(q.ID), session.AccessToken, `{"value":"approve"}`), http.StatusOK)
	if who := settled.Answer.Responder; who.ID != "@dana:example.org" || *who.DisplayName != "Dana" || settled.Answer.Via != "openid" {
		t.Errorf("%+v", settled.Answer)
	}
	l.clock.Move(time.Millisecond)
	for _, p := range personal {
		l.problem(l.do(p.method, p.path, session.AccessToken, `{"value":"approve"}`), http.StatusUnauthorized, "invalid_token")
	}
	if said := l.log.String(); strings.Contains(said, "dana-1") || strings.Contains(said, session.AccessToken) || !strings.Contains(said, "Signed in") {
		t.Errorf("logged: %s", said)
	}
}

// TestASessionIsWhomTheHomeserverNames: nothing else of a request says who somebody is, or for how long.
func TestASessionIsWhomTheHomeserverNames(t *testing.T) {
	l := newLobby(t, nil)
	for i, claim := range []string{
		`"user_id":"@root:example.org"`, `"sub":"@root:example.org"`, `"user":"@root:example.org","display_name":"Root"`,
		`"expires_in":0`, `"expires_in":-1`, `"expires_in":1793534400`, `"expires_in":1e20`, `"expires_in":"soon"`, `"expires_in":null`,
		`"may_approve":true`, `"Access_Token":"root-1"`,
	} {
		body := fmt.Sprintf(`{"access_token":"dana-%d","matrix_server_name":"example.org",%s}`, i, claim)
		s := l.signedIn(l.do("POST", signInPath+"?user_id=@root:example.org", l.secret, body))
		if s.UserID != "@dana:example.org" || s.ExpiresIn != 900 || s.MayApprove {
			t.Errorf("%s: %+v", claim, s)
		}
	}
}

func TestWhatIsNoOpenIDToken(t *testing.T) {
	l := newLobby(t, nil)
	for body, at := range map[string]string{
		``: "", `[]`: "", `{"access_token":"a","access_token":"b","matrix_server_name":"example.org"}`: "/access_token",
		`{"matrix_server_name":"example.org"}`: "", `{"access_token":"a"}`: "",
		`{"access_token":"","matrix_server_name":"example.org"}`:                          "/access_token",
		`{"access_token":"dana-1 ","matrix_server_name":"example.org"}`:                   "/access_token",
		`{"access_token":"dana-1\u0000","matrix_server_name":"example.org"}`:              "/access_token",
		`{"access_token":7,"matrix_server_name":"example.org"}`:                           "/access_token",
		`{"access_token":"` + strings.Repeat("x", 1025) + `","matrix_server_name":"e.o"}`: "/access_token",
		`{"access_token":"a","token_type":"MAC","matrix_server_name":"example.org"}`:      "/token_type",
		`{"access_token":"a","matrix_server_name":""}`:                                    "/matrix_server_name",
		`{"access_token":"a","matrix_server_name":"` + strings.Repeat("x", 256) + `"}`:    "/matrix_server_name",
	} {
		p := l.problem(l.do("POST", signInPath, "", body), http.StatusBadRequest, "malformed")
		if len(p.Errors) == 0 || p.Errors[0].Location != at || p.Errors[0].Reason == "" {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	large := `{"access_token":"a","matrix_server_name":"example.org","x":"` + strings.Repeat("x", schema.MaxBytes) + `"}`
	l.problem(l.do("POST", signInPath, "", large), http.StatusRequestEntityTooLarge, "too_large")
	l.problem(l.do("GET", signInPath, "", ""), http.StatusMethodNotAllowed, "method_not_allowed")
	if len(l.clerk.asked) > 0 {
		t.Errorf("asked %q", l.clerk.asked)
	}
}

// TestWhoIsNotVouchedFor gets no session, is told why, and can try the same token again.
func TestWhoIsNotVouchedFor(t *testing.T) {
	l := newLobby(t, nil)
	for name, c := range map[string]struct {
		fail   error
		status int
		code   string
		header string // and its value
	}{
		"refused":       {&bridge.Error{Code: bridge.CodeOpenIDRefused, Reason: "the homeserver does not know this token"}, 401, "openid_token_refused", `WWW-Authenticate: Bearer realm="question-bridge", error="invalid_token"`},
		"not listed":    {&bridge.Error{Code: bridge.CodeServerNotListed, Field: "/matrix_server_name", Reason: "not here"}, 403, "server_not_listed", ""},
		"away":          {&bridge.ErrRetry{After: 6500 * time.Millisecond, Err: errors.New("dial tcp 10.0.0.1: refused")}, 503, "unavailable", "Retry-After: 7"},
		"away for good": {errors.New("dial tcp 10.0.0.1: refused"), 503, "unavailable", "Retry-After: 1"},
	} {
		l.clerk.fail = c.fail
		a := l.do("POST", signInPath, "", openIDBody("dana-1"))
		p := l.problem(a, c.status, c.code)
		if key, value, ok := strings.Cut(c.header, ": "); ok && a.header.Get(key) != value {
			t.Errorf("%s: %v", name, a.header)
		}
		if strings.Contains(string(a.body), "10.0.0.1") || c.code == "server_not_listed" && !hasFault(p, c.code, "/matrix_server_name", c.code) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	l.clerk.fail = nil
	l.signedIn(l.do("POST", signInPath, "", openIDBody("dana-1")))
}

// fullDisk keeps no sessions.
type fullDisk struct{}

func (fullDisk) OpenSession(context.Context, [32]byte, bridge.Token) (bool, error) {
	return false, errLost
}

func TestASessionThatCannotBeKept(t *testing.T) {
	l := newLobby(t, func(c *httpapi.Config, _ *bridge.Parts) { c.SignIn.Sessions = fullDisk{} })
	a := l.do("POST", signInPath, "", openIDBody("dana-1"))
	l.problem(a, http.StatusInternalServerError, "internal")
	if strings.Contains(string(a.body), "qs_") || strings.Contains(string(a.body), "disk") || strings.Contains(l.log.String(), "dana-1") {
		t.Errorf("%s, logged: %s", a.body, l.log)
	}
}

// TestOneTokenSignsInOnce, however many send it at once.
func TestOneTokenSignsInOnce(t *testing.T) {
	l := newLobby(t, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for range 20 {
		all.Go(func() {
			a := l.do("POST", signInPath, "", openIDBody("dana-1"))
			var body struct{ Code string }
			_ = json.Unmarshal(a.body, &body)
			mu.Lock()
			defer mu.Unlock()
			codes[fmt.Sprint(a.status, body.Code)]++
		})
	}
	all.Wait()
	if len(codes) != 2 || codes["200"] != 1 || codes["401openid_token_used"] != 19 {
		t.Errorf("%v", codes)
	}
}

// TestSignInOff: where nobody signs in, no session that is left opens anything either.
func TestSignInOff(t *testing.T) {
	l := newLobby(t, func(c *httpapi.Config, _ *bridge.Parts) { c.SignIn = httpapi.SignIn{} })
	l.problem(l.do("POST", signInPath, "", openIDBody("dana-1")), http.StatusForbidden, "sign_in_off")
	until := l.clock.Now().Add(time.Minute)
	secret, session, err := httpapi.NewToken(httpapi.TokenTerms{User: "@dana:example.org", Session: true, Now: l.clock.Now(), ExpiresAt: &until})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.AddToken(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	l.problem(l.do("GET", "/api/questions/pending", secret, ""), http.StatusUnauthorized, "invalid_token")
	if a := l.do("GET", "/api/questions/pending", l.dana, ""); a.status != http.StatusOK {
		t.Errorf("a token of her own: %s", a.body)
	}
}

// TestWeakSignIn: by an OpenID token nobody approves a subject or chooses what needs requires, unless the operator lets
// them. What is refused stays pending, and can be declined.
func TestWeakSignIn(t *testing.T) {
	for _, mayApprove := range []bool{false, true} {
		l := newLobby(t, func(c *httpapi.Config, p *bridge.Parts) {
			c.SignIn.MayApprove, p.OpenIDMayApprove = mayApprove, mayApprove
		})
		dana := l.signedIn(l.do("POST", signInPath, "", openIDBody("dana-1")))
		root := l.signedIn(l.do("POST", signInPath, "", openIDBody("root-1")))
		if dana.MayApprove != mayApprove {
			t.Errorf("the session says %t", dana.MayApprove)
		}
		for i, c := range []struct{ secret, body string }{
			{dana.AccessToken, `{"value":"approve",%s}`}, {root.AccessToken, `{"value":"approve",%s}`}, {root.AccessToken, `{"value":"always",%s}`},
		} {
			id := fmt.Sprintf("elc_%d", i)
			q := l.asked(approval(t, id, nil))
			a := l.do("POST", answerPath(q.ID), c.secret, fmt.Sprintf(c.body, subjectOf(id)))
			if mayApprove {
				if q := l.question(a, http.StatusOK); q.Answer.Via != "openid" {
					t.Errorf("%s", a.body)
				}
				continue
			}
			if p := l.problem(a, http.StatusForbidden, "weak_sign_in"); !strings.Contains(p.Detail, "question answer "+q.ID) {
				t.Errorf("no way out: %s", p.Detail)
			}
			if q := l.question(l.get("/api/agent/questions/"+q.ID), http.StatusOK); q.State != schema.Pending {
				t.Errorf("it settled: %+v", q)
			}
			l.question(l.do("POST", answerPath(q.ID), l.dana, fmt.Sprintf(`{"value":"approve",%s}`, subjectOf(id))), http.StatusOK)
		}
		q := l.asked(approval(t, "elc_deny", nil))
		if q := l.question(l.do("POST", answerPath(q.ID), dana.AccessToken, `{"value":"deny"}`), http.StatusOK); *q.Answer.Value != "deny" {
			t.Errorf("declined: %+v", q.Answer)
		}
	}
}

func TestSessionTerms(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Minute)
	for name, terms := range map[string]httpapi.TokenTerms{
		"of an agent": {Agent: "ci", Rooms: []string{"*"}, Session: true, Now: now, ExpiresAt: &later},
		"for ever":    {User: "@dana:example.org", Session: true, Now: now},
	} {
		if _, _, err := httpapi.NewToken(terms); err == nil {
			t.Errorf("a session %s was made", name)
		}
	}
	secret, session, err := httpapi.NewToken(httpapi.TokenTerms{User: "@dana:example.org", Session: true, Now: now, ExpiresAt: &later})
	if err != nil || !strings.HasPrefix(secret, "qs_") || !strings.HasPrefix(session.ID, "ses_") || !session.Session {
		t.Errorf("%q %+v %v", secret, session, err)
	}
}
