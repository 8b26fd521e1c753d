package main

import (
	"net/http"
	"strings"
	"testing"
)

// The tokens between homeserver and bridge are changed as docs/operations.md says: a new registration, then the homeserver
// is restarted, then the bridge. What people answer in between counts, and what is asked is posted.
func TestTokensAreRotated(t *testing.T) {
	s := newSite(t, "")
	old := s.serve()
	before := read(t, s.file("registration.yaml"))
	q, event := s.ask("Deploy?")

	call(t, "registration", "--force", "-c", s.config).want(t, exitOK, "Wrote ", "")
	if read(t, s.file("registration.yaml")) == before {
		t.Fatal("the registration is the old one")
	}
	s.ok(s.homeserver.Stop())
	s.ok(s.homeserver.Restart(s.ctx))
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2") // which the bridge may not be told now
	s.ok(err)
	later, err := s.client().Ask(s.ctx, "OPS", question("And now?")) // which it may not post now
	s.ok(err)
	old.waitFor("M_UNKNOWN_TOKEN")
	old.stop()

	next := s.serve()
	outcome, err := s.client().Await(s.ctx, q.ID)
	s.ok(err)
	if !outcome.Chose("no") {
		t.Errorf("the outcome is %v", outcome.State)
	}
	event = s.posted(later.ID)
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	outcome, err = s.client().Await(s.ctx, later.ID)
	s.ok(err)
	if !outcome.Chose("yes") {
		t.Errorf("the outcome of the later one is %v", outcome.State)
	}

	// The old tokens open nothing any more.
	token := func(name string) string {
		_, rest, _ := strings.Cut(before, name+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return strings.Trim(value, `"`)
	}
	for method, address := range map[string]string{
		http.MethodGet + " as_token": s.homeserver.URL + "/_matrix/client/v3/account/whoami",
		http.MethodPut + " hs_token": s.appservice + "/_matrix/app/v1/transactions/1",
	} {
		method, name, _ := strings.Cut(method, " ")
		req, err := http.NewRequestWithContext(s.ctx, method, address, strings.NewReader(`{"events": []}`))
		s.ok(err)
		req.Header.Set("Authorization", "Bearer "+token(name))
		resp, err := http.DefaultClient.Do(req)
		s.ok(err)
		_ = resp.Body.Close()
		if token(name) == "" || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			t.Errorf("the old %s is answered with %s", name, resp.Status)
		}
	}
	next.stop()
}

// A bridge that has new tokens before its homeserver does not wait in vain: it says what is missing.
func TestTokensAreRotatedInTheWrongOrder(t *testing.T) {
	s := newSite(t, "")
	call(t, "registration", "--force", "-c", s.config).want(t, exitOK, "Wrote ", "")
	p := s.start("serve")
	if code := p.exit(); code != exitFailed {
		t.Errorf("it ended with %d", code)
	}
	p.waitFor("the homeserver does not know the bridge")
	p.waitFor("and a restart")
}
