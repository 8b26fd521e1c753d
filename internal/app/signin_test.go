package app

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// ahead is a clock that is so much ahead.
type ahead time.Duration

func (a ahead) Now() time.Time { return bridge.SystemClock{}.Now().Add(time.Duration(a)) }

// openID is a token as a homeserver gives it out.
func (s *stage) openID(u *testserver.User) testserver.OpenIDToken {
	s.t.Helper()
	token, err := u.OpenID(s.ctx)
	s.ok(err)
	return token
}

// signIn sends what a homeserver gave out, whole.
func (s *stage) signIn(token testserver.OpenIDToken) (status int, document map[string]any) {
	s.t.Helper()
	return s.call(http.MethodPost, "/api/auth/matrix", asJSON(token))
}

func (s *stage) signInRefused(token testserver.OpenIDToken, status int, code string) {
	s.t.Helper()
	if got, problem := s.signIn(token); got != status || problem["code"] != code {
		s.t.Errorf("signing in: %d %v, want %d %s", got, problem, status, code)
	}
}

// session signs somebody in and gives them what they answer with.
func (s *stage) session(u *testserver.User) *client.Responder {
	s.t.Helper()
	token := s.openID(u)
	session, err := client.SignIn(s.ctx, client.Config{Server: s.api}, schema.OpenIDToken{
		AccessToken: token.AccessToken, TokenType: token.TokenType, MatrixServerName: token.MatrixServerName,
	})
	s.ok(err)
	if session.UserID != u.ID || session.MayApprove {
		s.t.Errorf("signed in as %+v", session)
	}
	return session.Responder
}

func (s *stage) responder(secret string) *client.Responder {
	s.t.Helper()
	r, err := client.NewResponder(client.Config{Server: s.api, Token: secret})
	s.ok(err)
	return r
}

func (s *stage) refused(err error, status int, code string) {
	s.t.Helper()
	if e := new(client.Error); !errors.As(err, &e) || e.Status != status || e.Code != code {
		s.t.Errorf("%v, want %d %s", err, status, code)
	}
}

// TestSignedInByTheHomeserver: somebody's own OpenID token, once, makes a session that answers, and approves nothing.
func TestSignedInByTheHomeserver(t *testing.T) {
	s := newStage(t)
	var asked []string
	var mu sync.Mutex
	s.proxy.cutAfter(func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path)
		return false
	})
	s.start("")
	token := s.openID(s.alice)
	status, session := s.signIn(token)
	secret, _ := session["access_token"].(string)
	if status != http.StatusOK || session["user_id"] != s.alice.ID || session["expires_in"] != 900.0 || session["may_approve"] != false {
		t.Fatalf("%d %v", status, session)
	}
	mu.Lock()
	if !slices.Contains(asked, "/_matrix/federation/v1/openid/userinfo") {
		t.Errorf("the homeserver was asked %q", asked)
	}
	mu.Unlock()
	quiet := func() {
		t.Helper()
		s.kill()
		for _, secret := range []string{secret, token.AccessToken, "made-up"} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the log shows %q", secret)
			}
		}
	}
	s.signInRefused(token, http.StatusUnauthorized, "openid_token_used")
	unknown := token
	unknown.AccessToken = "made-up"
	s.signInRefused(unknown, http.StatusUnauthorized, "openid_token_refused")
	unknown.MatrixServerName = "elsewhere.test"
	s.signInRefused(unknown, http.StatusForbidden, "server_not_listed")

	alice := s.responder(secret)
	q, _ := s.ask(threeWays)
	page, err := alice.Pending(s.ctx, client.PendingOptions{})
	if s.ok(err); len(page.Questions) != 1 || page.Questions[0].ID != q {
		t.Errorf("what waits for alice: %+v", page.Questions)
	}
	_, err = alice.Answer(s.ctx, q, schema.AnswerBody{Value: new("skip")})
	s.ok(err)
	s.awaitAnswer(q, "skip", s.alice)
	if _, settled := s.get(q); !strings.Contains(asJSON(settled["answer"]), `"display_name":"Alice"`) || !strings.Contains(asJSON(settled["answer"]), `"via":"openid"`) {
		t.Errorf("the answer is %v", settled["answer"])
	}

	exact, _ := s.askAbout("elc_signed_in", true)
	approve := schema.AnswerBody{Value: new("approve"), Subject: client.SubjectOf(exact)}
	_, err = alice.Answer(s.ctx, exact.ID, approve)
	s.refused(err, http.StatusForbidden, "weak_sign_in")
	s.pending(exact.ID)

	quiet() // a session survives that
	s.reconfigure(func(c *config.Config) { c.Auth.OpenID.MayApprove = true })
	s.start("")
	got, err := alice.Answer(s.ctx, exact.ID, approve)
	s.ok(err)
	if payload, _ := got.Answer.Certificate["payload"].(map[string]any); payload["surface"] != "openid" || payload["responder"] != s.alice.ID {
		t.Errorf("the certificate says %v", got.Answer.Certificate)
	}

	quiet()
	s.start("a session later")
	_, err = alice.Show(s.ctx, q)
	s.refused(err, http.StatusUnauthorized, "invalid_token")

	s.ok(s.server.Stop())
	s.signInRefused(testserver.OpenIDToken{AccessToken: "made-up", TokenType: "Bearer", MatrixServerName: s.server.Name}, http.StatusServiceUnavailable, "unavailable")
	quiet()
}

// TestSignedInByAnotherHomeserver: one that is listed is asked at its own address, and its people answer nothing where
// they are not in the room.
func TestSignedInByAnotherHomeserver(t *testing.T) {
	s := newStage(t)
	var sub string
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_matrix/federation/v1/openid/userinfo" {
			_, _ = w.Write([]byte(asJSON(map[string]string{"sub": sub})))
		}
	}))
	t.Cleanup(other.Close)
	name := other.Listener.Addr().String()
	roots := filepath.Join(filepath.Dir(s.config), "roots.pem")
	s.ok(os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw}), 0o600))
	s.env = []string{"SSL_CERT_FILE=" + roots}
	token := testserver.OpenIDToken{AccessToken: "t1", TokenType: "Bearer", MatrixServerName: name}
	listed := func(c *config.Config) { c.Auth.OpenID.Servers = append(c.Auth.OpenID.Servers, name) }

	s.reconfigure(listed)
	s.start("")
	sub = "@eve:" + name
	s.signInRefused(token, http.StatusServiceUnavailable, "unavailable") // its address is on this machine
	s.kill()
	s.reconfigure(func(c *config.Config) { c.Egress.Allow = []string{"127.0.0.1"} })
	s.start("")
	sub = s.alice.ID
	s.signInRefused(token, http.StatusUnauthorized, "openid_token_refused")
	sub = "@eve:" + name
	status, session := s.signIn(token)
	if status != http.StatusOK || session["user_id"] != sub {
		t.Fatalf("%d %v", status, session)
	}
	q, _ := s.ask(threeWays)
	_, err := s.responder(session["access_token"].(string)).Answer(s.ctx, q, schema.AnswerBody{Value: new("skip")})
	s.refused(err, http.StatusForbidden, "not_eligible")
	s.pending(q)

	s.kill()
	s.reconfigure(func(c *config.Config) { c.Auth.OpenID.Servers = []string{} })
	s.start("")
	s.signInRefused(s.openID(s.alice), http.StatusForbidden, "sign_in_off")
}

// TestRespondersAreNamedAsInTheRoom: who answered has the name that the room shows for them, on every surface; nobody's
// own word counts, and whoever has none there has none.
func TestRespondersAreNamedAsInTheRoom(t *testing.T) {
	s := newStage(t)
	came := s.withWebhook()
	s.start("")
	rename := func(u *testserver.User, content map[string]any) {
		t.Helper()
		content["membership"] = "join"
		_, err := u.SetState(s.ctx, s.room, testserver.State{Type: "m.room.member", Key: u.ID, Content: content})
		s.ok(err)
	}
	rename(s.alice, map[string]any{"displayname": "Alice of Ops"})
	rename(s.bob, map[string]any{})
	_, before := s.ask(threeWays)
	_, err := s.bob.ThreadReply(s.ctx, s.room, before.ID, "9") // events are handled in order
	s.ok(err)
	s.notice(s.bob, before.ID)

	for name, c := range map[string]struct {
		by     *testserver.User
		named  string
		answer func(q string, event testserver.Event) error
	}{
		"her own token": {s.alice, `"Alice of Ops"`, s.over(s.responder(s.personal(s.alice)))},
		"a session":     {s.alice, `"Alice of Ops"`, s.over(s.session(s.alice))},
		"a reply": {s.alice, `"Alice of Ops"`, func(_ string, event testserver.Event) error {
			_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
			return err
		}},
		"no name there": {s.bob, "null", s.over(s.responder(s.personal(s.bob)))},
	} {
		q, event := s.ask(threeWays)
		s.ok(c.answer(q, event))
		s.awaitAnswer(q, "skip", c.by)
		want := `"responder":{"display_name":` + c.named + `,"id":"` + c.by.ID + `"}`
		_, fetched := s.get(q)
		_, listed := s.call(http.MethodGet, "/api/agent/questions?limit=1&state=answered", "")
		for surface, document := range map[string]any{"fetch": fetched, "list": listed} {
			if !strings.Contains(asJSON(document), want) {
				t.Errorf("%s, by %s: %v", surface, name, document)
			}
		}
		shown, err := s.responder(s.personal(c.by)).Show(s.ctx, q)
		s.ok(err)
		told := <-came
		for surface, answer := range map[string]*schema.Answer{"show": shown.Answer, "webhook": told.Event.Answer} {
			if got := asJSON(answer.Responder.DisplayName); got != c.named {
				t.Errorf("%s, by %s: %s", surface, name, got)
			}
		}
	}
}

// over answers over HTTP.
func (s *stage) over(r *client.Responder) func(string, testserver.Event) error {
	return func(q string, _ testserver.Event) error {
		answered, err := r.Answer(s.ctx, q, schema.AnswerBody{Value: new("skip")})
		if err == nil && answered.Answer == nil {
			s.t.Error("no answer is returned")
		}
		return err
	}
}

// TestCheckSignIn: whether people of the own homeserver can sign in is part of the check, unless they may not.
func TestCheckSignIn(t *testing.T) {
	answer, body := http.StatusUnauthorized, `{"errcode":"M_UNKNOWN_TOKEN","error":"no"}`
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answer)
		_, _ = w.Write([]byte(body))
	}))
	defer home.Close()
	finding := func(servers ...string) []Finding {
		cfg, reg := checked(t, home.URL)
		cfg.Auth.OpenID.Servers = servers
		c := &check{cfg: cfg, reg: reg}
		c.signIn(t.Context())
		return c.findings
	}
	const what = "the homeserver says whose an OpenID token is"
	expect(t, finding("question.test"), "ok "+what+"|")
	answer, body = http.StatusNotFound, `{"errcode":"M_UNRECOGNIZED","error":"no"}`
	expect(t, finding("question.test"), "FAIL "+what+"|asked whose an OpenID token is, the homeserver answers 404")
	expect(t, finding())
	expect(t, finding("elsewhere.test"))
}

// TestSignInIsForgotten: a session when it is over, and what it was opened with two hours after that was used.
func TestSignInIsForgotten(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	open := func(secret byte, at time.Time) bool {
		t.Helper()
		until := at.Add(httpapi.SessionLifetime)
		opened, err := store.OpenSession(t.Context(), [32]byte{1}, bridge.Token{
			ID: fmt.Sprint(secret), User: "@alice:question.test", Hash: [32]byte{secret}, Session: true, CreatedAt: at, ExpiresAt: &until,
		})
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	open(1, start)
	for _, c := range []struct {
		after    time.Duration
		sessions int
		again    bool
	}{
		{httpapi.SessionLifetime, 1, false}, {httpapi.SessionLifetime + time.Millisecond, 0, false}, {2 * time.Hour, 0, false}, {2*time.Hour + time.Millisecond, 1, true},
	} {
		for _, chore := range chores(store) {
			if err := chore.Do(t.Context(), start.Add(c.after)); err != nil {
				t.Fatal(err)
			}
		}
		again := open(2, start.Add(c.after))
		tokens, err := store.ListTokens(t.Context())
		if err != nil || len(tokens) != c.sessions || again != c.again {
			t.Errorf("after %s: %d sessions, the token is accepted again: %t, %v", c.after, len(tokens), again, err)
		}
	}
}
