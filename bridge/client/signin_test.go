package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

func TestSignIn(t *testing.T) {
	session := schema.Session{
		AccessToken: "qs_1", TokenType: "Bearer", ExpiresIn: 900, ExpiresAt: stamp(epoch.Add(15 * time.Minute)), UserID: "@alice:example.org", MayApprove: true,
	}
	s := &script{replies: []reply{ok(t, session), ok(t, schema.Questions{Questions: []schema.Question{}})}}
	cfg := Config{Server: "https://api.example.org/q", Token: token, HTTPClient: &http.Client{Transport: s}}
	alice, err := SignIn(t.Context(), cfg, schema.OpenIDToken{AccessToken: "a+b", TokenType: "Bearer", MatrixServerName: "example.org"})
	if err != nil || alice.UserID != session.UserID || !alice.ExpiresAt.Equal(epoch.Add(15*time.Minute)) || !alice.MayApprove {
		t.Fatalf("%+v, %v", alice, err)
	}
	if got := s.asked[0]; got.Method != "POST" || got.URL.RequestURI() != "/q/api/auth/matrix" || got.Header.Values("Authorization") != nil ||
		s.bodies[0] != `{"access_token":"a+b","token_type":"Bearer","matrix_server_name":"example.org"}` {
		t.Errorf("sent %s %s %q %v", got.Method, got.URL, s.bodies[0], got.Header)
	}
	if _, err := alice.Pending(t.Context(), PendingOptions{}); err != nil || s.asked[1].Header.Get("Authorization") != "Bearer qs_1" {
		t.Errorf("%v, sent %v", err, s.asked[1].Header)
	}
}

func TestSignInFails(t *testing.T) {
	good := schema.OpenIDToken{AccessToken: "a", MatrixServerName: "example.org"}
	sign := func(r reply, token schema.OpenIDToken) (*script, error) {
		s := &script{replies: []reply{r}}
		_, err := SignIn(t.Context(), Config{Server: "https://api.example.org", HTTPClient: &http.Client{Transport: s}}, token)
		return s, err
	}
	_, err := sign(problemReply(401, `{"code":"openid_token_used","detail":"Ask for another one."}`), good)
	if e := new(Error); !errors.As(err, &e) || e.Status != 401 || e.Code != "openid_token_used" {
		t.Errorf("a token that was used: %v", err)
	}
	for name, body := range map[string]string{
		"another document": `{}`, "no end": `{"access_token":"a","token_type":"Bearer","expires_in":1,"expires_at":"2026-02-30T00:00:00Z","user_id":"@a:b","may_approve":false}`,
		"a token with a space": `{"access_token":"a b","token_type":"Bearer","expires_in":1,"expires_at":"2026-02-03T00:00:00Z","user_id":"@a:b","may_approve":false}`,
	} {
		_, err := sign(reply{status: 200, body: body}, good)
		if e := new(Error); !errors.As(err, &e) || e.Code != CodeUnreadable {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := sign(reply{status: 200}, schema.OpenIDToken{AccessToken: "secret ", MatrixServerName: "example.org"})
	if refused := new(schema.Refusal); !errors.As(err, &refused) || len(s.asked) > 0 || strings.Contains(err.Error(), "secret") {
		t.Errorf("what is no token: %v", err)
	}
}
