package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Field case D8: 500 questions are settled while one receiver is down. None waits for it, the attempts do not come in
// lockstep, and when it is up it gets every event once.
func TestD8ManyWhileOneReceiverIsDown(t *testing.T) {
	const n = 500
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := down.Addr().String()
	_ = down.Close()
	up := receive(t, nil)
	r := newRig(t, Endpoint{Name: "down", URL: "http://" + address}, Endpoint{Name: "up", URL: up.URL})
	r.retry = Retry{First: 20 * time.Minute, Longest: time.Hour, GiveUp: 72 * time.Hour}
	r.start()
	for range n {
		r.cancel(r.ask())
	}
	seen := map[string]bool{}
	for range n {
		seen[id(up.next(t))] = true
	}
	if len(seen) != n {
		t.Errorf("the receiver that is up has %d events", len(seen))
	}
	r.eventually("each was tried at the one that is down", func() bool {
		for _, d := range r.deliveries("down") {
			if d.Attempts != 1 || d.Why == "" {
				return false
			}
		}
		return true
	})
	due, first, last := map[time.Time]bool{}, time.Time{}, time.Time{}
	for _, d := range r.deliveries("down") {
		if due[d.Due] = true; first.IsZero() || d.Due.Before(first) {
			first = d.Due
		}
		if d.Due.After(last) {
			last = d.Due
		}
	}
	if len(due) < n*9/10 || last.Sub(first) < 8*time.Minute {
		t.Errorf("%d second attempts come at %d times within %s", n, len(due), last.Sub(first))
	}

	// It is up again, and the operator does not want to wait.
	again := receiveAt(t, address)
	_, err = r.store.EnableEndpoint(t.Context(), "down", time.Now())
	r.ok(err)
	r.engine.Owed()
	seen = map[string]bool{}
	for range n {
		seen[id(again.next(t))] = true
	}
	r.eventually("all is delivered", func() bool { return r.endpoint("down").Pending == 0 })
	if len(seen) != n || len(again.rest()) != 0 || r.endpoint("down").Failed != 0 {
		t.Errorf("the receiver that was down has %d events", len(seen))
	}
}

func receiveAt(t *testing.T, address string) *receiver {
	t.Helper()
	rec := &receiver{came: make(chan got, 10_000)}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		rec.came <- got{header: r.Header.Clone()}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return rec
}

// Field case D8: a receiver that hangs has its own events wait, and nobody else's.
func TestD8AHangDelaysNobodyElse(t *testing.T) {
	release := make(chan struct{})
	hanging := receive(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	up := receive(t, nil)
	r := newRig(t, Endpoint{Name: "hangs", URL: hanging.URL}, Endpoint{Name: "up", URL: up.URL})
	r.egress.Timeouts.Whole = time.Minute // as long as the field case has it
	r.start()
	for range 20 {
		r.cancel(r.ask())
	}
	for range 20 {
		up.next(t)
	}
	r.eventually("the others are delivered", func() bool { return r.endpoint("up").Pending == 0 })
	if e := r.endpoint("hangs"); e.Pending != 20 || len(hanging.rest()) > 4 {
		t.Errorf("got %+v", e)
	}
}

func TestD8AHangEndsInAnotherAttempt(t *testing.T) {
	rec := receive(t, func(n int, _ http.ResponseWriter, r *http.Request) {
		if n == 1 {
			<-r.Context().Done()
		}
	})
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
	r.egress.Timeouts.Whole = 100 * time.Millisecond
	r.start()
	r.cancel(r.ask())
	if first, second := rec.next(t), rec.next(t); id(first) != id(second) || first.body != second.body {
		t.Errorf("got %v, then %v", first, second)
	}
	r.eventually("it is delivered", func() bool { return r.endpoint("a").Pending == 0 })
}

// Field case D8: what is no success is tried again, also a 400 or a redirect, and in the end given up where the operator
// sees it; it can be replayed under its old id.
func TestD8AFiniteNumberOfAttempts(t *testing.T) {
	for _, status := range []int{302, 308, 400, 401, 404, 500, 502, 199 + 400} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			rec := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("what the receiver says is shown to nobody"))
			})
			r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
			r.retry.GiveUp = 300 * time.Millisecond
			r.start()
			r.cancel(r.ask())
			first := rec.next(t)
			r.eventually("it is given up", func() bool { return r.endpoint("a").Failed == 1 })
			rest := rec.rest()
			d := r.deliveries("a")[0]
			if len(rest) < 2 || len(rest) > 20 || d.Attempts != len(rest)+1 || !containsAll(d.Why, "given up after", fmt.Sprint("answered ", status)) ||
				strings.Contains(d.Why, "nobody") {
				t.Errorf("%d attempts, kept is %+v", len(rest)+1, d)
			}
			if n, err := r.store.Replay(t.Context(), time.Now(), d.ID); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			r.engine.Owed()
			if again := rec.next(t); id(again) != id(first) || again.body != first.body {
				t.Errorf("replayed as %s", id(again))
			}
		})
	}
}

// Field case D8: 410 disables the endpoint, for what comes after too and after a restart, until an operator enables it;
// nothing that was owed is lost.
func TestD8GoneDisables(t *testing.T) {
	rec, other := receive(t, statuses(410, 204)), receive(t, nil)
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL}, Endpoint{Name: "other", URL: other.URL})
	stop := r.start()
	r.cancel(r.ask())
	first := rec.next(t)
	r.eventually("it is disabled", func() bool { e := r.endpoint("a"); return e.DisabledAt != nil && e.FailedAt != nil })
	stop()
	r.ok(r.store.Close())
	r.open()
	r.start()
	r.cancel(r.ask())
	other.next(t)
	other.next(t)
	r.eventually("the other one has both", func() bool { return r.endpoint("other").Pending == 0 })
	if e := r.endpoint("a"); e.Pending != 2 || len(rec.rest()) != 0 || !strings.Contains(e.Failure, "410 Gone") {
		t.Errorf("got %+v", e)
	}
	was, err := r.store.EnableEndpoint(t.Context(), "a", time.Now())
	r.ok(err)
	r.engine.Owed()
	ids := map[string]bool{id(rec.next(t)): true, id(rec.next(t)): true}
	r.eventually("both are delivered", func() bool { return r.endpoint("a").Pending == 0 })
	if !was || len(ids) != 2 || !ids[id(first)] {
		t.Errorf("%v, got %v", was, ids)
	}
}

// stands is a clock that stands still.
type stands struct{ at time.Time }

func (s stands) Now() time.Time { return s.at }

// Field case D8: an endpoint that says when to come back is left alone until then, all of it where it is a 429 or 503.
func TestD8RetryAfter(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for _, tt := range []struct {
		status      int
		header      string
		least, most time.Duration
		paused      time.Duration
	}{
		{429, "120", 120 * time.Second, 132 * time.Second, 120 * time.Second},
		{503, "120", 120 * time.Second, 132 * time.Second, 120 * time.Second},
		{503, now.Add(2 * time.Minute).Format(http.TimeFormat), 120 * time.Second, 132 * time.Second, 120 * time.Second},
		{500, "120", 120 * time.Second, 132 * time.Second, 0},
		{503, "", 3 * time.Second, 7 * time.Second, 0},
		{503, "0", 3 * time.Second, 7 * time.Second, 0},
		{503, "-5", 3 * time.Second, 7 * time.Second, 0},
		{503, "soon", 3 * time.Second, 7 * time.Second, 0},
		{503, "1", 3 * time.Second, 7 * time.Second, time.Second}, // our own wait is longer
		{503, now.Add(-time.Hour).Format(http.TimeFormat), 3 * time.Second, 7 * time.Second, 0},
		{429, "99999999999999999999999", 24 * time.Hour, 27 * time.Hour, 24 * time.Hour},
		{429, "8640000", 24 * time.Hour, 27 * time.Hour, 24 * time.Hour},
	} {
		rec := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", tt.header)
			w.WriteHeader(tt.status)
		})
		r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
		r.retry = DefaultRetry()
		r.cancel(r.ask())
		lane := r.store.Lane("a", stands{now})
		claimed, err := lane.ClaimEffects(t.Context(), time.Now(), time.Minute, 1)
		r.ok(err)
		err = r.sender(r.feature.Endpoints[0], stands{now}).Run(t.Context(), claimed[0])
		var retry *bridge.ErrRetry
		if !errors.As(err, &retry) || retry.After < tt.least || retry.After > tt.most {
			t.Errorf("%d with Retry-After %q: %v", tt.status, tt.header, err)
		}
		until := r.endpoint("a").PausedUntil
		if (until != nil) != (tt.paused > 0) || until != nil && !until.Equal(now.Add(tt.paused)) {
			t.Errorf("%d with Retry-After %q: paused until %v", tt.status, tt.header, until)
		}
	}
}

// A pause holds for events that are owed later, too.
func TestAPausedEndpointIsLeftAlone(t *testing.T) {
	rec := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(429)
		}
	})
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
	r.start()
	r.cancel(r.ask())
	rec.next(t)
	begun := time.Now()
	r.eventually("it is paused", func() bool { return r.endpoint("a").PausedUntil != nil })
	for range 10 {
		r.cancel(r.ask())
	}
	rec.next(t)
	if waited := time.Since(begun); waited < 1500*time.Millisecond {
		t.Errorf("it was left alone for %s", waited)
	}
}

// Field case D8: nothing is told of an answer that was rolled back.
func TestD8ARolledBackAnswerIsNotTold(t *testing.T) {
	rec := receive(t, nil)
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
	r.start()
	failing := &failingFeature{fails: true}
	r.engine.Features = append(r.engine.Features, failing)
	q := r.ask()
	if _, err := r.engine.Cancel(t.Context(), q.Asker, q.ID); err == nil {
		t.Fatal("it was settled")
	}
	r.engine.Owed()
	if len(r.deliveries("a")) != 0 {
		t.Error("something is owed")
	}
	failing.fails = false
	r.cancel(q)
	rec.next(t)
	r.eventually("it is delivered", func() bool { return r.endpoint("a").Pending == 0 })
	if len(rec.rest()) != 0 || len(r.deliveries("a")) != 1 {
		t.Error("it was told twice")
	}
}

type failingFeature struct{ fails bool }

func (f *failingFeature) Settling(context.Context, bridge.Question) error {
	if f.fails {
		return errors.New("not now")
	}
	return nil
}

// About 30 attempts within three days, each after a longer wait, none in lockstep.
func TestBackoff(t *testing.T) {
	s := &Sender{retry: DefaultRetry()}
	var total time.Duration
	attempts := 1
	for ; ; attempts++ {
		wait := s.backoff(attempts)
		if total+wait > s.retry.GiveUp {
			break
		}
		total += wait
	}
	if attempts < 25 || attempts > 40 || total < 60*time.Hour {
		t.Errorf("%d attempts within %s", attempts, total)
	}
	for attempts, base := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 3: 20 * time.Second, 100: 4 * time.Hour} {
		seen := map[time.Duration]bool{}
		for range 100 {
			wait := s.backoff(attempts)
			if seen[wait] = true; wait < base*3/4 || wait > base*5/4 {
				t.Errorf("attempt %d waits %s", attempts, wait)
			}
		}
		if len(seen) < 90 {
			t.Errorf("attempt %d: lockstep", attempts)
		}
	}
}
