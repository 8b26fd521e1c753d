package app

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/outbox"
)

// TestD5TheBridgeEnds (field case D5) has 100 clients wait: they keep nobody from asking and cancelling, and when the
// bridge is asked to end, each is answered with the question as it stands, and the bridge ends without an error.
func TestD5TheBridgeEnds(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, _ := s.ask(threeWays)
	const waits = 100 // more than any pool of connections to the database
	type ended struct {
		reply
		took time.Duration
	}
	results := make(chan ended, waits)
	var sent sync.WaitGroup
	sent.Add(waits)
	for range waits {
		go func() {
			start := time.Now()
			results <- ended{s.waitFor(q, sent.Done), time.Since(start)}
		}()
	}
	sent.Wait()
	busy, cancel := context.WithTimeout(s.ctx, 15*time.Second)
	defer cancel()
	for range 10 {
		other, err := s.client().Ask(busy, "OPS", coreAsk())
		s.ok(err)
		got, err := s.client().Cancel(busy, other.ID)
		s.ok(err)
		if got.State != "cancelled" {
			t.Errorf("%s is %s", other.ID, got.State)
		}
	}
	if len(results) > 0 {
		t.Fatalf("a wait ended early: %+v", <-results)
	}
	s.ok(s.bridge.Process.Signal(syscall.SIGTERM))
	for range waits {
		if r := <-results; r.status != http.StatusOK || !strings.Contains(r.body, `"state":"pending"`) || r.took > 25*time.Second {
			t.Errorf("a wait ended with %+v", r)
		}
	}
	if err := s.bridge.Wait(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}

// waitFor makes one wait of half a minute. sent is called once the request is on its way.
func (s *stage) waitFor(question string, sent func()) reply {
	s.t.Helper()
	ctx := httptrace.WithClientTrace(s.ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }})
	return caller{s.t, s.api, http.DefaultClient}.call(ctx, call{method: http.MethodGet, path: "/api/agent/questions/" + question + "/wait?timeout=30", token: s.token})
}

// TestD5NoLostWakeUp (field case D5) answers questions within a millisecond of the start of a wait for them, before or
// after it. A wait looks again by itself only after an hour here, and ends after 30 seconds: whoever misses the answer
// has nothing after 20.
func TestD5NoLostWakeUp(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := serve(t, arrangement{database: d, hurried: true, prepare: func(b *parts) {
			b.api.Reread = time.Hour
			for name, kind := range b.outbox.Kinds { // the room is not what this is about
				kind.Handler = outbox.HandlerFunc(func(context.Context, bridge.Effect) error { return nil })
				b.outbox.Kinds[name] = kind
			}
		}})
		s.client.Timeout = 20 * time.Second
		secret := s.person(dana)
		const workers = 8
		rounds := map[string]int{config.SQLite: 2000, config.Postgres: 500}[d.Type] // the race is in this process
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for round := range rounds / workers {
					if !s.wakeUp(secret, round%2 == 0) {
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// wakeUp asks, waits and has the person of the secret answer at about that time: a random part of a millisecond before
// the wait is sent, or after. It is false when the test has failed.
func (s *served) wakeUp(secret string, before bool) bool {
	path := "/api/questions/" + s.ask(s.token, askBody).ID
	apart := time.Duration(rand.IntN(1000)) * time.Microsecond
	answered, sent := make(chan reply, 1), make(chan struct{})
	answer := func() {
		answered <- s.call(call{method: http.MethodPost, path: path + "/answer", token: secret, body: `{"value":"prod"}`})
	}
	if before {
		go answer()
		spin(apart)
	} else {
		go func() {
			<-sent
			spin(apart)
			answer()
		}()
	}
	ctx := httptrace.WithClientTrace(s.t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	waited := s.callIn(ctx, call{method: http.MethodGet, path: strings.Replace(path, "/api/", "/api/agent/", 1) + "/wait?timeout=30", token: s.token})
	given := answerIn((<-answered).body)
	if waited.status != http.StatusOK || given == "" || answerIn(waited.body) != given {
		s.t.Errorf("answered %q %v away, before the wait: %v; the wait was given %d %s", given, apart, before, waited.status, waited.body)
		return false
	}
	return true
}

// spin waits without sleeping: the timer of a busy machine is coarser than the race that is looked for.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// TestD5TheLongestWait (field case D5): whatever is asked for, a wait ends after 30 seconds at the latest, which is as long
// as the server gives everybody else for a whole response, with the question as it stands.
func TestD5TheLongestWait(t *testing.T) {
	t.Parallel()
	s := serve(t, arrangement{database: newSQLite(t)})
	id := s.ask(s.token, askBody).ID
	var all sync.WaitGroup
	for query, least := range map[string]time.Duration{"?timeout=999999": 30 * time.Second, "?timeout=30": 30 * time.Second, "": 20 * time.Second} {
		all.Go(func() {
			began := time.Now()
			r := s.call(call{method: http.MethodGet, path: "/api/agent/questions/" + id + "/wait" + query, token: s.token})
			if took := time.Since(began); r.status != http.StatusOK || !strings.Contains(r.body, `"state":"pending"`) || took < least {
				t.Errorf("%q: %d %s after %v", query, r.status, r.body, took)
			}
		})
	}
	all.Wait()
}
