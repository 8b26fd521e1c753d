package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// listener is an engine that only listens.
type listener struct {
	Engine
	r  *rig
	mu sync.Mutex
	// do is called for every interaction; without an error the event is finished.
	do    func(in bridge.Interaction) error
	heard []string
}

func (l *listener) Receive(ctx context.Context, in bridge.Interaction) error {
	if err := l.do(in); err != nil {
		return err
	}
	l.mu.Lock()
	l.heard = append(l.heard, string(in.ID))
	l.mu.Unlock()
	return l.r.db.FinishInteraction(ctx, in.ID)
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

// run runs a worker until done says so.
func (r *rig) run(l *listener, done func() bool) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		(&worker{s: r.Service, engine: l}).run(ctx)
	}()
	deadline := time.Now().Add(20 * time.Second)
	for !done() && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	<-finished
	if !done() {
		r.t.Fatal("the worker never got there")
	}
}

func in(id, room string) bridge.Incoming {
	raw := fmt.Sprintf(`{"event_id":%q,"room_id":%q,"sender":"@dana:ex.org","type":"m.room.message","content":{"msgtype":"m.text","body":"2"}}`, id, room)
	return bridge.Incoming{Always: true, InboxEvent: bridge.InboxEvent{
		ID: bridge.InteractionID(id), Conversation: bridge.ConversationID(room), ReceivedAt: testStart, Raw: []byte(raw),
	}}
}

func (r *rig) stores(events ...bridge.Incoming) {
	r.t.Helper()
	_, err := r.db.StoreEvents(r.t.Context(), events)
	noError(r.t, err)
	r.arrived()
}

func TestWorkerOrder(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RoomsAtOnce = 2 })
	slow := make(chan struct{})
	l := &listener{r: r}
	l.do = func(in bridge.Interaction) error {
		if in.ID == "$a1" {
			<-slow // the first room is slow: the second is not kept waiting, the first stays in order
		}
		if in.ID == "$b3" {
			close(slow)
		}
		return nil
	}
	r.stores(in("$a1", "!a"), in("$b1", "!b"), in("$a2", "!a"), in("$b2", "!b"), in("$b3", "!b"), in("$a3", "!a"))
	r.run(l, func() bool { return len(l.all()) == 6 })
	if got, want := l.all(), []string{"$b1", "$b2", "$b3", "$a1", "$a2", "$a3"}; !slices.Equal(withPrefix(got, "$a"), want[3:]) || !slices.Equal(withPrefix(got, "$b"), want[:3]) {
		t.Errorf("heard %v", got)
	}
}

func withPrefix(ids []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, prefix) })
}

// No event is handled twice, however often the worker looks.
func TestWorkerHandlesOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RoomsAtOnce = 4 })
	l := &listener{r: r, do: func(bridge.Interaction) error {
		for range 5 {
			r.arrived()
		}
		return nil
	}}
	var all []bridge.Incoming
	for i := range 60 {
		all = append(all, in(fmt.Sprintf("$%d", i), fmt.Sprintf("!%d", i%7)))
	}
	r.stores(all...)
	r.run(l, func() bool { return len(l.all()) >= 60 })
	heard := l.all()
	slices.Sort(heard)
	if n := len(slices.Compact(heard)); n != 60 || len(heard) != 60 {
		t.Errorf("heard %d, %d of them different", len(heard), n)
	}
}

// A failing event holds its own room up, for as long as it is worth; it is set aside in the end.
func TestWorkerPatience(t *testing.T) {
	r := newRig(t, nil)
	l := &listener{r: r}
	tries := 0
	l.do = func(in bridge.Interaction) error {
		switch in.ID {
		case "$late":
			if tries++; tries == 1 {
				return &bridge.ErrRetry{After: time.Hour, Err: errors.New("later")}
			}
		case "$broken": // for more than a day, and more than a hundred times
			return errors.New("the database is away")
		case "$crash":
			panic("secret text")
		}
		return nil
	}
	r.stores(in("$late", "!a"), in("$a2", "!a"), in("$broken", "!b"), in("$b2", "!b"), in("$crash", "!c"), in("$c2", "!c"))
	w := &worker{s: r.Service, engine: l, busy: map[bridge.ConversationID]bool{}, due: map[bridge.ConversationID]time.Time{}}
	work := func() {
		for range 3 {
			events, err := r.db.NextEvents(t.Context(), r.clock.Now(), 10)
			noError(t, err)
			for _, ev := range events {
				w.one(t.Context(), ev)
			}
		}
	}
	work()
	if got := l.all(); len(got) != 0 {
		t.Fatalf("heard %v at once", got)
	}
	r.clock.Move(59 * time.Minute)
	work()
	if got := l.all(); len(got) != 0 {
		t.Fatalf("heard %v before its time", got)
	}
	r.clock.Move(2 * time.Minute)
	work()
	if got := l.all(); !slices.Equal(got, []string{"$late", "$a2"}) {
		t.Fatalf("heard %v", got)
	}
	for range 5 {
		r.clock.Move(5 * time.Minute)
		work()
	}
	if got := l.all(); !slices.Contains(got, "$c2") || slices.Contains(got, "$b2") {
		t.Fatalf("after crashes, heard %v", got)
	}
	r.clock.Move(24 * time.Hour)
	work()
	if got := l.all(); slices.Contains(got, "$b2") {
		t.Errorf("an event was given up after a few tries, because we were away: %v", got)
	}
	for range triesAllowed {
		r.clock.Move(2 * time.Minute)
		work()
	}
	if got := l.all(); !slices.Contains(got, "$b2") {
		t.Errorf("an event holds its room up for ever: %v", got)
	}
	aside, err := r.db.AsideEvents(t.Context(), 10)
	noError(t, err)
	if len(aside) != 2 {
		t.Errorf("%d events are kept aside", len(aside))
	}
	for _, a := range aside {
		if strings.Contains(a.Why, "secret") {
			t.Errorf("kept with %q", a.Why)
		}
	}
}

func TestBackOff(t *testing.T) {
	var total time.Duration
	for attempt := range 100 {
		wait := backOff(attempt, errors.New("x"))
		if wait < firstBackOff || wait > longestBackOff {
			t.Fatalf("attempt %d waits %s", attempt, wait)
		}
		total += wait
	}
	if total < time.Hour {
		t.Errorf("100 attempts within %s", total)
	}
}
