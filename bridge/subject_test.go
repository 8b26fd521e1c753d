package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// about asks about a revision of a subject; the error is Ask's.
func (b *bench) about(id string, revision int64, digest string, change func(*bridge.Question)) (bridge.Question, error) {
	b.t.Helper()
	b.clock.Move(time.Second)
	q := b.question()
	q.Subject = &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: id, Digest: digest, Schema: "x/v1", Revision: revision}, Complete: true}
	if change != nil {
		change(&q)
	}
	asked, _, err := b.Ask(b.ctx, q)
	if err == nil {
		b.work()
	}
	return asked, err
}

func TestANewerRevisionSupersedes(t *testing.T) {
	b := newBench(t)
	ask := func(id string, revision int64, digest string, change func(*bridge.Question)) bridge.Question {
		q, err := b.about(id, revision, digest, change)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	old := ask("s1", 1, "D1", nil)
	same := ask("s1", 1, "D1", nil)
	other := ask("s2", 1, "D1", nil)
	elsewhere := ask("s1", 1, "D1", func(q *bridge.Question) { q.Conversation = "!other:ex.org" })
	another := ask("s1", 1, "D1", func(q *bridge.Question) { q.Asker = "somebody" })
	newer := ask("s1", 2, "D2", nil)
	for name, c := range map[string]struct {
		q    bridge.Question
		want bridge.CancelledBy
	}{
		"the older one": {old, bridge.Superseded}, "its twin": {same, bridge.Superseded}, "another subject": {other, ""},
		"another room": {elsewhere, ""}, "another asker": {another, ""}, "the newer one": {newer, ""},
	} {
		got := b.get(c.q.ID)
		if got.CancelledBy != c.want || (got.State == bridge.Cancelled) != (c.want != "") || got.Answer != nil {
			t.Errorf("%s: %s by %q", name, got.State, got.CancelledBy)
		}
	}
	if said := b.room.said(); !slices.Contains(said, fmt.Sprintf("settled cancelled %s/settled/0", old.ID)) {
		t.Errorf("the older one is not closed: %q", said)
	}
	if !slices.Contains(b.notes.ids, old.ID) {
		t.Error("who waits for the older one was not woken")
	}
	for name, refuse := range map[string]func() (bridge.Question, error){
		"a lower revision": func() (bridge.Question, error) { return b.about("s1", 1, "D1", nil) },
		"another digest":   func() (bridge.Question, error) { return b.about("s1", 2, "d2", nil) },
		"another schema": func() (bridge.Question, error) {
			return b.about("s1", 2, "D2", func(q *bridge.Question) { q.Subject.Schema = "x/v2" })
		},
	} {
		q, err := refuse()
		b.code(err, bridge.CodeSubjectConflict)
		if q.ID != "" || b.get(newer.ID).State != bridge.Pending {
			t.Errorf("%s: something was stored", name)
		}
	}
	c := pick("yes")
	c.Subject = &newer.Subject.SubjectRef
	if _, err := b.Answer(b.ctx, "@dana:ex.org", newer.ID, c); err != nil {
		t.Fatal(err)
	}
	_, err := b.about("s1", 1, "D1", nil)
	b.code(err, bridge.CodeSubjectConflict) // also when the newer one is settled
	ask("s1", 2, "D2", nil)
	ask("s1", 3, "D3", nil)
}

func TestACarriersNewerRevisionSupersedes(t *testing.T) {
	b := newBench(t)
	adopt := func(n int, revision int64) error {
		q := b.question()
		q.Carried = &bridge.Carried{By: "@board:ex.org", Message: bridge.MessageID(fmt.Sprintf("$carried%d", n))}
		q.ElicitationID = fmt.Sprintf("e%d", n)
		q.Subject = &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "s", Digest: fmt.Sprint(revision), Schema: "x/v1", Revision: revision}}
		return b.Adopt(b.ctx, q, b.event("@board:ex.org", bridge.Said{}).ID)
	}
	if err := adopt(1, 1); err != nil {
		t.Fatal(err)
	}
	if err := adopt(2, 2); err != nil {
		t.Fatal(err)
	}
	b.code(adopt(3, 1), bridge.CodeSubjectConflict)
	first, err := b.store.QuestionByElicitation(b.ctx, "ci", "e1")
	if err != nil || first.CancelledBy != bridge.Superseded {
		t.Errorf("the first one: %s, %v", first.State, err)
	}
	if _, err := b.store.QuestionByElicitation(b.ctx, "ci", "e3"); bridge.CodeOf(err) != bridge.CodeNotFound {
		t.Errorf("the refused one was stored: %v", err)
	}
}

// TestApprovedByReplyStillStands shows that an approval by prose counts only while what was approved can be read.
func TestApprovedByReplyStillStands(t *testing.T) {
	b := newBench(t)
	b.ByReply = bridge.ByReplyComplete
	q, err := b.about("s1", 1, "D1", func(q *bridge.Question) { q.Subject.Printable = true })
	if err != nil || !q.ByReply {
		t.Fatal(q.ByReply, err)
	}
	b.room.gone = true
	b.reply("@dana:ex.org", q.ID, "3")
	if got := b.get(q.ID); got.State != bridge.Pending {
		t.Errorf("approved although it is gone: %s", got.State)
	}
	if said := b.room.said(); said[len(said)-1] != "tell rejected question_removed @dana:ex.org" {
		t.Errorf("told %q", said)
	}
	b.room.gone = false
	b.reply("@dana:ex.org", q.ID, "3")
	if got := b.get(q.ID); got.State != bridge.Answered {
		t.Errorf("not approved: %s", got.State)
	}
	link, err := b.about("s2", 1, "D1", nil) // not printable: a link's target is not shown
	if err != nil || link.ByReply {
		t.Errorf("by reply although it is not all printed: %v", err)
	}
}

func TestARemovedQuestionIsNotApproved(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	if ok, err := b.QuestionRedacted(b.ctx, q.Conversation, b.root(q.ID)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("yes"))
	b.code(err, bridge.CodeQuestionRemoved)
	if got, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("skip")); err != nil || got.State != bridge.Answered {
		t.Errorf("what approves nothing: %s, %v", got.State, err)
	}
}

func TestReminders(t *testing.T) {
	b := newBench(t)
	at := func(d time.Duration) *time.Time { at := b.clock.Now().Add(d); return &at }
	q := b.question()
	q.RemindAt, q.EscalateAt = at(10*time.Minute), at(20*time.Minute)
	q = b.ask(q)
	reminded := func() (got []string) {
		for _, said := range b.room.said() {
			kind, key, _ := strings.Cut(said, " ")
			if reminder, ok := strings.CutPrefix(key, string(q.ID)+"/"); ok && (kind == "remind" || kind == "escalate") {
				got = append(got, reminder)
			}
		}
		return got
	}
	expect := func(want ...string) {
		t.Helper()
		b.work()
		if got := reminded(); !slices.Equal(got, want) {
			t.Errorf("reminded %q, want %q", got, want)
		}
	}
	expect()
	b.clock.Move(10*time.Minute - time.Millisecond)
	expect()
	b.clock.Move(time.Millisecond)
	expect("remind")
	b.clock.Move(5 * time.Minute)
	expect("remind")
	b.clock.Move(5 * time.Minute)
	expect("remind", "escalate")

	settled := b.question()
	settled.RemindAt = at(time.Minute)
	settled = b.ask(settled)
	b.reply("@dana:ex.org", settled.ID, "1")
	b.clock.Move(time.Minute)
	q = settled
	expect()

	held := b.question() // what is not posted yet is reminded of when it is
	held.RemindAt = at(time.Minute)
	b.room.fails = &bridge.ErrHeld{Reason: "nobody is there", Again: 2 * time.Minute}
	q = b.ask(held)
	b.clock.Move(time.Minute)
	expect()
	b.room.fails = nil
	b.clock.Move(2 * time.Minute)
	b.work()
	b.clock.Move(time.Minute)
	expect("remind")
}

func TestRemindersThatCannotCome(t *testing.T) {
	b := newBench(t)
	at := func(d time.Duration) *time.Time { at := b.clock.Now().Add(d); return &at }
	q := b.question()
	q.RemindAt, q.EscalateAt = at(0), at(time.Hour)
	q = b.ask(q)
	if q.RemindAt != nil || q.EscalateAt != nil || len(q.Warnings) != 2 || !strings.Contains(q.Warnings[0], "remind_at is in the past") || !strings.Contains(q.Warnings[1], "escalate_at is not before") {
		t.Errorf("%v, %v, %q", q.RemindAt, q.EscalateAt, q.Warnings)
	}
	if stored := b.get(q.ID); !slices.Equal(stored.Warnings, q.Warnings) {
		t.Errorf("stored %q", stored.Warnings)
	}
	b.clock.Move(59 * time.Minute)
	b.work()
	for _, said := range b.room.said() {
		if strings.HasPrefix(said, "remind") || strings.HasPrefix(said, "escalate") {
			t.Errorf("said %q", said)
		}
	}
}
