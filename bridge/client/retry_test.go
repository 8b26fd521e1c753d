package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

func keyOf(r *http.Request) string { return r.Header.Get("Idempotency-Key") }

// Every try of one asking has the same key and the same body, so a server asks once, and the asker gets what it asked
// once, whatever was lost on the way.
func TestAskIsTriedAgainUnderOneKey(t *testing.T) {
	failures := map[string]reply{
		"a lost connection":        {err: errors.New("connection reset by peer")},
		"500":                      {status: 500},
		"503":                      {status: 503},
		"429":                      problemReply(429, `{"code": "rate_limited"}`),
		"408":                      {status: 408},
		"a response cut short":     {status: 201, body: `{"id": "q_`},
		"a page in between":        {status: 200, body: "<html>log in</html>"},
		"a server that never says": {after: time.Hour},
	}
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: []reply{failure, failure, {status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
				var told []time.Duration
				c := scripted(t, s, func(cfg *Config) {
					cfg.RequestTimeout = 5 * time.Second
					cfg.OnRetry = func(err error, in time.Duration) {
						if err == nil {
							t.Error("told of no failure")
						}
						told = append(told, in)
					}
				})
				q, err := c.Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"})
				if err != nil || q.ID != "q_1" || len(s.asked) != 3 {
					t.Fatalf("got %v, %v after %d requests", q, err, len(s.asked))
				}
				for i, r := range s.asked {
					if keyOf(r) == "" || keyOf(r) != keyOf(s.asked[0]) || s.bodies[i] != s.bodies[0] {
						t.Errorf("try %d has key %q and body %s", i+1, keyOf(r), s.bodies[i])
					}
				}
				if len(told) != 2 || told[0] < 250*time.Millisecond || told[0] > 500*time.Millisecond || told[1] < 500*time.Millisecond || told[1] > time.Second {
					t.Errorf("told of %v", told)
				}
			})
		})
	}
}

func TestKeysOfAsks(t *testing.T) {
	s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
	c := scripted(t, s)
	ask := &schema.CoreAsk{Prompt: "?"}
	for _, call := range []func() error{
		func() error { _, err := c.Ask(t.Context(), "OPS", ask); return err },
		func() error { _, err := c.Ask(t.Context(), "OPS", ask); return err },
		func() error { _, err := c.Ask(t.Context(), "OPS", ask, IdempotencyKey("deploy-42")); return err },
		func() error { _, err := c.AskYesNo(t.Context(), "OPS", ask, IdempotencyKey("deploy-43")); return err },
		func() error {
			_, err := c.AskApproval(t.Context(), "OPS", ask, IdempotencyKey("deploy-44"))
			return err
		},
		func() error { _, err := c.Fetch(t.Context(), "q_1"); return err },
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if first, second := keyOf(s.asked[0]), keyOf(s.asked[1]); len(first) < 20 || first == second {
		t.Errorf("own keys are %q and %q", first, second)
	}
	for i, want := range []string{"deploy-42", "deploy-43", "deploy-44", ""} {
		if got := keyOf(s.asked[i+2]); got != want {
			t.Errorf("call %d has key %q, want %q", i+2, got, want)
		}
	}
	for _, bad := range []IdempotencyKey{"", "a b", "a\n", "ü", IdempotencyKey(strings.Repeat("x", 256))} {
		if _, err := c.Ask(t.Context(), "OPS", ask, bad); err == nil || len(s.asked) != 6 {
			t.Errorf("%q is taken for a key: %v", bad, err)
		}
	}
}

// What is refused for good, or cannot come right by itself, is not tried again.
func TestAskIsNotTriedAgain(t *testing.T) {
	for name, failure := range map[string]reply{
		"a conflict":           problemReply(409, `{"code": "idempotency_conflict"}`),
		"no permission":        problemReply(403, `{"code": "room_not_granted"}`),
		"a redirect":           {status: 307},
		"no such host":         {err: &net.DNSError{Name: "api.example.org", IsNotFound: true}},
		"another certificate":  {err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}},
		"later than we try":    {status: 503, header: map[string]string{"Retry-After": "61"}},
		"much later than that": {status: 429, header: map[string]string{"Retry-After": "86400"}},
	} {
		s := &script{replies: []reply{failure}}
		if _, err := scripted(t, s).Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"}); err == nil || len(s.asked) != 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.asked))
		}
	}
	s := &script{replies: []reply{{status: 503}}}
	never := func(cfg *Config) { cfg.RetryFor = -1 }
	if _, err := scripted(t, s, never).Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"}); err == nil || len(s.asked) != 1 {
		t.Errorf("switched off: %v after %d requests", err, len(s.asked))
	}
}

func TestAskGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s1 = time.Second
		start := time.Now()
		s := &script{replies: []reply{{status: 503, header: map[string]string{"Retry-After": "25"}}}}
		_, err := scripted(t, s).Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"})
		var e *Error
		if !errors.As(err, &e) || e.Status != 503 || time.Since(start) > time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		s.within(t, [2]time.Duration{25 * s1, 26 * s1}, [2]time.Duration{25 * s1, 26 * s1}) // as Retry-After asks

		// Retry-After is kept however long it is, where the caller is as patient.
		s = &script{replies: []reply{{status: 503, header: map[string]string{"Retry-After": "1800"}}, {status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
		if _, err := scripted(t, s, func(cfg *Config) { cfg.RetryFor = time.Hour }).Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?"}); err != nil {
			t.Error(err)
		}
		s.within(t, [2]time.Duration{1800 * s1, 1801 * s1})

		// A deadline that is nearer than the next try is not waited for: the reason is worth more than its passing.
		start = time.Now()
		near, cancel := context.WithTimeout(t.Context(), 20*s1)
		defer cancel()
		s = &script{replies: []reply{{status: 503, header: map[string]string{"Retry-After": "25"}}}}
		if _, err := scripted(t, s).Ask(near, "OPS", &schema.CoreAsk{Prompt: "?"}); !errors.As(err, &e) || time.Since(start) != 0 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}

		cancelled, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*s1, stop)
		start = time.Now()
		_, err = scripted(t, s).Ask(cancelled, "OPS", &schema.CoreAsk{Prompt: "?"})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "503") || time.Since(start) != 10*s1 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

// Cancelling is idempotent by itself.
func TestCancelIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{replies: []reply{{err: errors.New("connection refused")}, ok(t, endedQuestion("q_1", schema.Cancelled))}}
		if q, err := scripted(t, s).Cancel(t.Context(), "q_1"); err != nil || q.State != schema.Cancelled || len(s.asked) != 2 {
			t.Errorf("got %v, %v after %d requests", q, err, len(s.asked))
		}
	})
}
