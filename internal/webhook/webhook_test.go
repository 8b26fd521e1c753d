package webhook

import (
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/egress"
)

// An event goes where its room is named, by whatever name, and where the filter has its exact name or is empty.
func TestWhoWantsWhat(t *testing.T) {
	ops := Place{Names: []string{"!ops:example.org", "OPS", "#ops:example.org"}}
	for _, tt := range []struct {
		rooms, events []string
		event         string
		want          bool
	}{
		{[]string{"*"}, nil, "question.expired", true},
		{[]string{"OPS"}, nil, "question.expired", true},
		{[]string{"DEV", "#ops:example.org"}, nil, "question.answered", true},
		{[]string{"!ops:example.org"}, []string{}, "question.cancelled", true},
		{[]string{"DEV"}, nil, "question.answered", false},
		{[]string{"ops"}, nil, "question.answered", false},
		{nil, nil, "question.answered", false},
		{[]string{"*"}, []string{"question.answered"}, "question.answered", true},
		{[]string{"*"}, []string{"question.answered"}, "question.expired", false},
		{[]string{"*"}, []string{"question"}, "question.answered", false},
		{[]string{"*"}, []string{"question.*"}, "question.answered", false},
		{[]string{"*"}, []string{"Question.Answered"}, "question.answered", false},
		{[]string{"*"}, []string{"question.expired", "question.answered"}, "question.answered", true},
		{[]string{"*"}, nil, "candidate.answered", false},
		{[]string{"*"}, []string{"candidate.answered"}, "candidate.answered", true},
	} {
		if got := (Endpoint{Rooms: tt.rooms, Events: tt.events}).wants(tt.event, ops); got != tt.want {
			t.Errorf("%s to rooms %q, events %q: %v", tt.event, tt.rooms, tt.events, got)
		}
	}
}

// Every way to end is told, each by its event, to those who want it.
func TestEveryEndIsTold(t *testing.T) {
	all, some := receive(t, nil), receive(t, nil)
	r := newRig(t, Endpoint{Name: "all", URL: all.URL}, Endpoint{Name: "some", URL: some.URL, Events: []string{"question.expired"}})
	r.start()
	r.answer(r.ask(), "yes")
	r.cancel(r.ask())
	overdue := r.ask()
	_, err := r.store.Database().Exec(t.Context(), `UPDATE questions SET expires_at = 1 WHERE id = $1`, string(overdue.ID))
	r.ok(err)
	_, err = r.engine.Expire(t.Context(), 10)
	r.ok(err)
	seen := ""
	for range 3 {
		seen += all.next(t).body
	}
	if !containsAll(seen, `"event":"question.answered"`, `"event":"question.cancelled"`, `"event":"question.expired"`, `"cancelled_by":"asker"`) {
		t.Errorf("told %s", seen)
	}
	if got := some.next(t).body; !containsAll(got, `"event":"question.expired"`, string(overdue.ID), `"answer":null`) {
		t.Errorf("told %s", got)
	}
	r.eventually("all is delivered", func() bool { return r.endpoint("all").Pending == 0 && r.endpoint("some").Pending == 0 })
	if len(all.rest()) != 0 || len(some.rest()) != 0 {
		t.Error("something was told twice")
	}
}

// A room without a name or a code has null there.
func TestARoomWithoutNames(t *testing.T) {
	rec := receive(t, nil)
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL})
	r.feature.Rooms = places{}
	r.start()
	r.cancel(r.ask())
	if got := rec.next(t).body; !containsAll(got, `"room":{"name":null,"code":null}`) {
		t.Errorf("told %s", got)
	}
}

// Field case D9: an endpoint inside is refused at every attempt, until the operator allows it.
func TestD9AnEndpointInside(t *testing.T) {
	rec := receive(t, nil)
	r := newRig(t, Endpoint{Name: "a", URL: rec.URL + "/secret-path"})
	r.egress = egress.Config{}
	stop := r.start()
	r.cancel(r.ask())
	r.eventually("it was refused", func() bool { return r.endpoint("a").FailedAt != nil })
	stop()
	if e := r.endpoint("a"); !containsAll(e.Failure, "127.0.0.1", "egress.allow") || containsAll(e.Failure, "secret-path") || len(rec.rest()) != 0 {
		t.Errorf("got %+v", e)
	}
	r.egress.Allow = []string{"127.0.0.0/8"}
	r.start()
	rec.next(t)
}

var _ bridge.Feature = (*Feature)(nil)

// An announcement goes to those who name its event, in the frame of every event. One that happened in no room goes to
// endpoints of every room.
func TestAnnouncements(t *testing.T) {
	named, unnamed, elsewhere := receive(t, nil), receive(t, nil), receive(t, nil)
	events := []string{"candidate.answered"}
	r := newRig(t, Endpoint{Name: "named", URL: named.URL, Events: events}, Endpoint{Name: "unnamed", URL: unnamed.URL},
		Endpoint{Name: "elsewhere", URL: elsewhere.URL, Events: events})
	r.feature.Endpoints[2].Rooms = []string{"ELSEWHERE"}
	r.start()
	q := r.ask()
	for key, conv := range map[string]bridge.ConversationID{"c_1": q.Conversation, "c_2": ""} {
		r.ok(r.feature.Announce(t.Context(), bridge.Announcement{
			Event: "candidate.answered", Key: key, Conversation: conv, At: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
			Body: map[string]any{
				"candidate_id": key, "agent_id": "a1", "kind": "confirmation", "answer_option": 0, "question_id": nil, "evidence": []any{},
			},
		}))
	}
	r.engine.Owed()
	seen := named.next(t).body + named.next(t).body
	if !containsAll(seen, `"event":"candidate.answered"`, `"candidate_id":"c_1"`, `"candidate_id":"c_2"`,
		`"timestamp":"2026-11-01T12:00:00Z"`, `"room":{"name":null,"code":null}`, `"code":"OPS"`) {
		t.Errorf("told %s", seen)
	}
	r.eventually("all is delivered", func() bool { return r.endpoint("named").Pending == 0 })
	if rest := append(unnamed.rest(), elsewhere.rest()...); len(rest) > 0 {
		t.Errorf("told others %v", rest)
	}
}
