package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
)

// sdk is a receiver made of the Go SDK alone; its events come out of the channel.
func sdk(t *testing.T, secrets ...string) (url string, events <-chan *client.Event) {
	t.Helper()
	hook, err := client.NewWebhook(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan *client.Event, 100)
	var failed atomic.Bool
	server := httptest.NewServer(hook.Handler(func(_ context.Context, e *client.Event) error {
		came <- e
		if !failed.Swap(true) { // so that the first event comes again
			return errors.New("not this time")
		}
		return nil
	}))
	t.Cleanup(server.Close)
	return server.URL, came
}

// The SDK reconciles what this server really sends (The Question Protocol 1.1, section 8): with either secret while they
// are being changed, an event that comes again under its old id, and the test event, which it takes and forgets.
func TestTheSDKReconciles(t *testing.T) {
	withNew, newEvents := sdk(t, secret)
	withOld, oldEvents := sdk(t, NewSecret(), older)
	withOther, otherEvents := sdk(t, NewSecret())
	both := []string{secret, older}
	r := newRig(t, Endpoint{Name: "new", URL: withNew, Secrets: both}, Endpoint{Name: "old", URL: withOld, Secrets: both}, Endpoint{Name: "other", URL: withOther, Secrets: both})
	r.start()
	next := func(events <-chan *client.Event) *client.Event {
		t.Helper()
		select {
		case e := <-events:
			return e
		case <-time.After(20 * time.Second):
			t.Fatal("nothing came")
			return nil
		}
	}

	q := r.ask()
	r.answer(q, hard)
	for name, events := range map[string]<-chan *client.Event{"new": newEvents, "old": oldEvents} {
		first, again := next(events), next(events)
		if first.ID != deliveryID(string(q.ID), name) || again.ID != first.ID || string(again.Raw) != string(first.Raw) {
			t.Errorf("%s: first %s %s, then %s %s", name, first.ID, first.Raw, again.ID, again.Raw)
		}
		text, typed := first.Text()
		correlation, _ := first.Correlation()
		by, _ := first.Responder()
		if first.Name != client.EventAnswered || first.QuestionID != string(q.ID) || !typed || text != hard || correlation != *q.CorrelationID ||
			by.ID != "@alice:example.org" || *first.Room.Name != "Ops" || *first.Room.Code != "OPS" || first.Delivery.State != "posted" {
			t.Errorf("%s: got %s", name, first.Raw)
		}
		if first.NoAnswer() || first.Withdrawn() || first.At.IsZero() {
			t.Errorf("%s: got %+v", name, first)
		}
		if n := fmt.Sprint(first.Data["build"]); n != "12345678901234567890" {
			t.Errorf("%s: data lost digits: %s", name, n)
		}
		r.eventually("it is delivered", func() bool { return r.endpoint(name).SucceededAt != nil })
	}
	withdrawn := r.ask()
	r.cancel(withdrawn)
	for _, events := range []<-chan *client.Event{newEvents, oldEvents} {
		if e := next(events); e.Name != client.EventCancelled || !e.Withdrawn() || e.CancelledBy != "asker" || e.QuestionID != string(withdrawn.ID) {
			t.Errorf("got %s", e.Raw)
		}
	}

	r.eventually("the other is refused", func() bool { return r.endpoint("other").FailedAt != nil })
	for i, want := range []int{204, 204, 401} {
		if status, err := r.sender(r.feature.Endpoints[i], r.feature.Clock).Test(t.Context()); err != nil || status != want {
			t.Errorf("the test event is answered %d, %v, want %d", status, err, want)
		}
	}
	if len(otherEvents) > 0 {
		t.Errorf("taken with another secret: %s", next(otherEvents).Raw)
	}
}
