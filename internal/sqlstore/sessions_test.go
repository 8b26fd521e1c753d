package sqlstore_test

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

func session(name string, at time.Time) bridge.Token {
	until := at.Add(15 * time.Minute)
	return bridge.Token{
		ID: "ses_" + name, User: "@dana:example.org", Hash: sha256.Sum256([]byte("qs_" + name)), Session: true, CreatedAt: at, ExpiresAt: &until,
	}
}

func openID(name string) [32]byte { return sha256.Sum256([]byte(name)) }

// A session is a token like others, also after a restart, and is opened once with each OpenID token.
func TestSessions(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		first := session("1", start)
		open := func(what, token string, opens bridge.Token, want bool) {
			t.Helper()
			equal(t, what, must(s.OpenSession(t.Context(), openID(token), opens))(t), want)
		}
		open("with a token", "a", first, true)
		open("with the same token", "a", session("2", start), false)
		noError(t, s.Close())
		s = d.open(t)
		open("with the same token, after a restart", "a", session("2", start), false)
		if _, err := s.OpenSession(t.Context(), openID("b"), first); err == nil {
			t.Error("one session was opened twice")
		}
		open("with a token whose session could not be kept", "b", session("2", start), true)
		got, ok, err := s.TokenByHash(t.Context(), first.Hash, first.ExpiresAt.Add(-time.Millisecond))
		if noError(t, err); !ok || !reflect.DeepEqual(got, first) {
			t.Errorf("the session is %v %v", got, ok)
		}
		if _, ok, err = s.TokenByHash(t.Context(), first.Hash, *first.ExpiresAt); ok || err != nil {
			t.Errorf("it opens the API when it is over: %v", err)
		}
		equal(t, "revoked", must(s.RevokeToken(t.Context(), first.ID, start))(t), true)
		if _, ok, err = s.TokenByHash(t.Context(), first.Hash, start); ok || err != nil {
			t.Errorf("it opens the API although it was revoked: %v", err)
		}
	})
}

// Of many who use one token at once, one gets a session, and nobody else leaves anything behind.
func TestSessionsRace(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		for round := range 5 {
			var all sync.WaitGroup
			var opened atomic.Int32
			for n := range 20 {
				all.Go(func() {
					ok, err := s.OpenSession(t.Context(), openID(fmt.Sprint(round)), session(fmt.Sprintf("%d_%d", round, n), start))
					if err != nil {
						t.Error(err)
					}
					if ok {
						opened.Add(1)
					}
				})
			}
			all.Wait()
			equal(t, "opened", opened.Load(), 1)
			equal(t, "kept", len(must(s.ListTokens(t.Context()))(t)), round+1)
		}
	})
}

// What is over is forgotten, at most so much at once, and nothing else is.
func TestSessionsAreForgotten(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		until := start.Add(time.Minute)
		kept := bridge.Token{ID: "tok_1", User: "@dana:example.org", Hash: openID("tok_1"), CreatedAt: start, ExpiresAt: &until}
		noError(t, s.AddToken(t.Context(), kept))
		for n := range 4 {
			at := start.Add(time.Duration(n) * time.Minute)
			must(s.OpenSession(t.Context(), openID(fmt.Sprint(n)), session(fmt.Sprint(n), at)))(t)
		}
		left := func(what string, tokens int) {
			t.Helper()
			equal(t, what, len(must(s.ListTokens(t.Context()))(t)), tokens)
		}
		end := start.Add(15 * time.Minute)
		equal(t, "before any is over", must(s.PurgeSessions(t.Context(), end, 10))(t), 0)
		equal(t, "one at most", must(s.PurgeSessions(t.Context(), end.Add(2*time.Minute), 1))(t), 1)
		left("after one", 4)
		equal(t, "what is over", must(s.PurgeSessions(t.Context(), end.Add(2*time.Minute), 10))(t), 1)
		left("after those that are over", 3)
		equal(t, "everything", must(s.PurgeSessions(t.Context(), end.Add(time.Hour), 10))(t), 2)
		left("a token that is none", 1)

		equal(t, "OpenID tokens before any is old", must(s.PurgeOpenIDTokens(t.Context(), start, 10))(t), 0)
		equal(t, "one OpenID token at most", must(s.PurgeOpenIDTokens(t.Context(), start.Add(2*time.Minute), 1))(t), 1)
		equal(t, "the old OpenID tokens", must(s.PurgeOpenIDTokens(t.Context(), start.Add(2*time.Minute), 10))(t), 1)
		reopen(t, s, 1, true)
		reopen(t, s, 2, false)
	})
}

func reopen(t *testing.T, s *sqlstore.Store, token int, want bool) {
	t.Helper()
	got := must(s.OpenSession(t.Context(), openID(fmt.Sprint(token)), session(fmt.Sprintf("again%d", token), start)))(t)
	equal(t, fmt.Sprintf("token %d opens a session again", token), got, want)
}
