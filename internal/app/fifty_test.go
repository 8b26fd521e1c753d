package app

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// TestB9OnARealHomeserver (field case B9): fifty people answer one question at once, half of them in the room, by replies
// and reactions, and half by HTTP; half say approve, and half deny. One wins. Everybody is told of that one answer: who
// was late by HTTP or in the room, who waits, the room and the webhook, these two once.
func TestB9OnARealHomeserver(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		f := &fifty{stage: newStageOn(t, d)}
		f.came = f.withWebhook()
		f.start("")
		f.gather()
		for name, roomFirst := range map[string]bool{"all at once": false, "the room first": true} {
			q := f.race(roomFirst)
			if t.Failed() {
				return
			}
			t.Logf("%s: %s by %s", name, *q.Answer.Value, q.Answer.Via)
		}
		for _, d := range f.delivered(2) {
			if d.Attempts != 1 {
				t.Errorf("%s was sent %d times", d.ID, d.Attempts)
			}
		}
		if n := len(f.came); n != 0 {
			t.Errorf("the webhook was told %d times more", n)
		}
	})
}

type fifty struct {
	*stage
	came   <-chan hooked
	inRoom []*testserver.User
	tokens []string // of those who answer by HTTP
}

const half = 25

// gather makes fifty people, and lets them join the room.
func (f *fifty) gather() {
	f.t.Helper()
	_, err := f.alice.SetState(f.ctx, f.room, testserver.State{Type: "m.room.join_rules", Content: map[string]any{"join_rule": "public"}})
	f.ok(err)
	people := make([]*testserver.User, 2*half)
	var coming sync.WaitGroup
	for first := range 5 { // some at a time
		coming.Go(func() {
			for i := first; i < len(people); i += 5 {
				u, err := f.server.Register(f.ctx, testserver.Account{Name: fmt.Sprint("p", i), DisplayName: fmt.Sprint("Person ", i)})
				if err == nil {
					_, err = u.Join(f.ctx, f.room)
				}
				if err != nil {
					f.t.Error(err)
				}
				people[i] = u
			}
		})
	}
	coming.Wait()
	if f.t.Failed() {
		f.t.FailNow()
	}
	f.inRoom = people[:half]
	for _, u := range people[half:] {
		f.tokens = append(f.tokens, f.personal(u))
	}
}

// race asks one question and lets everybody answer it, those who do so by HTTP not before somebody in the room has, if the
// room is first. It gives the question as it was settled.
func (f *fifty) race(roomFirst bool) schema.Question {
	f.t.Helper()
	id, event := f.ask(`{"prompt":"Go?"}`)
	watch, err := f.alice.Watch(f.ctx, f.room)
	f.ok(err)
	told := f.waiters(id)
	begin, first := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	for i, u := range f.inRoom {
		all.Go(func() {
			<-begin
			var err error
			if i%5 == 4 {
				_, err = u.React(f.ctx, f.room, event.ID, []string{"1️⃣", "2️⃣"}[i%2])
			} else {
				_, err = u.ThreadReply(f.ctx, f.room, event.ID, []string{"1", "2"}[i%2])
			}
			if err != nil {
				f.t.Error(err)
			}
			once.Do(func() { close(first) })
		})
	}
	given := make([]string, half)
	for i, token := range f.tokens {
		all.Go(func() {
			<-begin
			if roomFirst {
				<-first
			}
			r := caller{f.t, f.api, http.DefaultClient}.call(f.ctx, call{method: http.MethodPost, path: "/api/questions/" + id + "/answer", token: token, body: fmt.Sprintf(`{"value":%q}`, []string{"approve", "deny"}[i%2])})
			if r.status != http.StatusOK {
				f.t.Errorf("an answer is answered with %d: %s", r.status, r.body)
			}
			given[i] = answerIn(r.body)
		})
	}
	close(begin)
	all.Wait()
	return f.settledOnce(outcomeOf{id, event.ID, append(given, told()...)}, watch)
}

// waiters has ten clients wait for a question, and gives what all of them were told.
func (f *fifty) waiters(id string) (told func() []string) {
	f.t.Helper()
	said := make([]string, 10)
	var waiting, sent sync.WaitGroup
	sent.Add(len(said))
	for i := range said {
		waiting.Go(func() {
			r := f.waitFor(id, sent.Done)
			said[i] = answerIn(r.body)
		})
	}
	sent.Wait()
	return func() []string { waiting.Wait(); return said }
}

// outcomeOf is a race that is over: the question, its event, and the answers that callers and waiters were given.
type outcomeOf struct {
	id, event string
	given     []string
}

// settledOnce wants one answer, told to everybody.
func (f *fifty) settledOnce(o outcomeOf, watch *testserver.Watch) schema.Question {
	f.t.Helper()
	r := caller{f.t, f.api, http.DefaultClient}.call(f.ctx, call{method: http.MethodGet, path: "/api/agent/questions/" + o.id, token: f.token})
	q, err := schema.Decode[schema.Question]([]byte(r.body))
	f.ok(err)
	won := answerIn(r.body)
	if won == "" {
		f.t.Fatalf("the question is not answered: %s", r.body)
	}
	for i, given := range o.given {
		if given != won {
			f.t.Errorf("%d was given %q, stored is %q", i, given, won)
		}
	}
	late := fmt.Sprintf("Already answered: %s, by %s.", *q.Answer.Label, *q.Answer.Responder.DisplayName)
	isLate := func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.notice" && e.Relation().EventID == o.event && e.Body() == late
	}
	losers := map[string]bool{}
	for _, u := range f.inRoom {
		if u.ID != q.Answer.Responder.ID {
			losers[u.ID] = true
		}
	}
	want := len(losers)
	for len(losers) > 0 { // every one of them is told, or this ends by its context
		e, err := watch.Next(f.ctx, isLate)
		f.ok(err)
		mentioned, _ := e.Field("m.mentions", "user_ids").([]any)
		if len(mentioned) != 1 || !losers[fmt.Sprint(mentioned[0])] {
			f.t.Errorf("told to %v", mentioned)
			break
		}
		delete(losers, fmt.Sprint(mentioned[0]))
	}
	f.toldOnce(o.id)
	if outcome := f.outcome(f.alice, o.id); outcome["decided_by"] != q.Answer.Responder.ID || outcome["option_id"] != *q.Answer.Value {
		f.t.Errorf("the room reads %v", outcome)
	}
	if n := f.count(isLate); n != want {
		f.t.Errorf("%d were told that they are late, want %d", n, want)
	}
	h := f.hooked(f.came)
	if h.Event.QuestionID != o.id || h.Event.Answer.Responder.ID != q.Answer.Responder.ID || *h.Event.Answer.Value != *q.Answer.Value {
		f.t.Errorf("the webhook is told %s", h.Body)
	}
	return *q
}
