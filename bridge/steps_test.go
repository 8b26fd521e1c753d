package bridge_test

import (
	"slices"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// atStepTwo asks a set of two items and answers the first; the second is shown and has come back.
func atStepTwo(b *bench) (q bridge.Question, first bridge.MessageID) {
	b.t.Helper()
	b.room.parse = steps
	set := b.question()
	set.Items = append(set.Items, set.Items[0])
	q = b.ask(set)
	first = b.root(q.ID)
	b.reply("@dana:ex.org", q.ID, "1")
	b.echo(q.ID, 1500, start.Add(time.Second))
	b.seq = 1000
	return q, first
}

// What points at a message of ours that is no step of the question answers no step of a set, and a structured answer
// refers to the question's own event.
func TestPointingAtWhatIsNoStep(t *testing.T) {
	b := newBench(t)
	set, first := atStepTwo(b)
	one := b.ask(b.question())
	for _, q := range []bridge.Question{set, one} {
		if err := b.store.LinkMessage(b.ctx, q.Conversation, bridge.MessageID("$hint for "+q.ID), q.ID); err != nil {
			t.Fatal(err)
		}
	}
	hint := func(q bridge.Question) bridge.MessageID { return bridge.MessageID("$hint for " + q.ID) }
	b.receive(b.event("@dana:ex.org", bridge.Reacted{To: hint(set), Key: "2"}))
	if got := b.get(set.ID); got.State != bridge.Pending || got.Revision != 1 {
		t.Errorf("a reaction to a hint answered a step: %s at %d", got.State, got.Revision)
	}
	b.room.parse = func(in bridge.Interaction, q bridge.Question, _ bridge.Posting) bridge.Reading { return chosen("skip") }
	b.receive(b.event("@dana:ex.org", bridge.Submitted{To: hint(one), Option: "skip"}))
	if got, said := b.get(one.ID), b.room.said(); got.State != bridge.Pending || said[len(said)-1] != "tell rejected structured_invalid @dana:ex.org" {
		t.Errorf("a structured answer to a hint: %s; the room heard %q", got.State, said)
	}
	b.receive(b.event("@sam:ex.org", bridge.Submitted{To: b.root(one.ID), Option: "skip"}))
	if got := b.get(one.ID); got.State != bridge.Answered {
		t.Errorf("a structured answer to the question: %s", got.State)
	}
	b.room.parse = steps
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "2", Thread: first, ReplyTo: hint(set)}))
	if got := b.get(set.ID); got.State != bridge.Answered {
		t.Errorf("a reply to a hint, after the step was shown: %s", got.State)
	}
}

// While the next step is being posted nobody is told about options that they cannot see yet, and what became of the step
// before is no matter.
func TestWhileTheNextStepIsPosted(t *testing.T) {
	b := newBench(t)
	b.room.parse = func(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
		if said, ok := in.Act.(bridge.Said); ok && said.Text == "9" {
			return bridge.Refused{Code: bridge.CodeOutOfRange}
		}
		return steps(in, q, p)
	}
	set := b.question()
	set.Items = append(set.Items, set.Items[0])
	q := b.ask(set)
	first := b.root(q.ID)
	b.room.fails = &bridge.ErrRetry{After: time.Hour}
	b.reply("@dana:ex.org", q.ID, "1")
	b.reply("@sam:ex.org", q.ID, "9")
	if said := b.room.said(); said[len(said)-1] != "tell rejected moving @sam:ex.org" {
		t.Errorf("the room heard %q", said)
	}
	if ok, err := b.QuestionRedacted(b.ctx, q.Conversation, first); ok || err != nil {
		t.Errorf("the step before was redacted: %v, %v", ok, err)
	}
}

// Field case A11, for a set: it goes on in the new room at the step where it stood, with what was chosen before.
func TestA11ASetKeepsItsPlace(t *testing.T) {
	b := newBench(t)
	q, _ := atStepTwo(b)
	if err := b.Moved(b.ctx, q.Conversation, "!new:ex.org"); err != nil {
		t.Fatal(err)
	}
	b.work()
	in := b.event("@dana:ex.org", bridge.Said{Text: "2", Thread: b.root(q.ID)})
	in.Conversation = "!new:ex.org"
	b.receive(in)
	got := b.get(q.ID)
	if got.State != bridge.Answered || got.Answer.Items[0].Selected[0] != "run_them" || got.Answer.Items[1].Selected[0] != "skip" {
		t.Errorf("stands at %s with %+v", got.State, got.Answer)
	}
}

// Field case A11: the room that was closed answers nothing any more, neither before the question is in the new one nor
// after.
func TestA11TheOldRoomIsOver(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	old := b.root(q.ID)
	if err := b.Unanswerable(b.ctx, q.Conversation, bridge.ReasonRoomUpgraded); err != nil {
		t.Fatal(err)
	}
	b.reply("@dana:ex.org", q.ID, "1")
	if said := b.room.said(); said[len(said)-1] != "tell rejected room_upgraded @dana:ex.org" {
		t.Errorf("the room heard %q", said)
	}
	if err := b.Moved(b.ctx, q.Conversation, "!new:ex.org"); err != nil {
		t.Fatal(err)
	}
	b.work()
	before := len(b.room.said())
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "1", Thread: old}))
	if got := b.get(q.ID); got.State != bridge.Pending || len(b.room.said()) != before || b.unhandled() != 0 {
		t.Errorf("stands at %s; the room heard %q", got.State, b.room.said()[before:])
	}
}

// Closing a question that was refused is tried again with the next interaction, before that is told that it is late.
func TestClosingIsTriedAgain(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	b.room.unclosed = &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: bridge.ReasonNotInRoom}
	b.reply("@dana:ex.org", q.ID, "1")
	b.room.unclosed = nil
	b.clock.Move(time.Hour)
	b.work()
	if said := b.room.said(); len(said) != 1 {
		t.Fatalf("the room heard %q", said)
	}
	b.reply("@sam:ex.org", q.ID, "2")
	want := []string{"settled answered " + string(q.ID) + "/settled/0", "tell stale answered @sam:ex.org"}
	if said := b.room.said()[1:]; !slices.Equal(said, want) {
		t.Errorf("the room heard %q", said)
	}
}

// A posting knows when it last changed.
func TestChangedAt(t *testing.T) {
	b := newBench(t)
	b.clock.Move(time.Minute)
	changed := func(id bridge.QuestionID) time.Time {
		p, err := b.store.Posting(b.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return p.ChangedAt
	}
	q := b.ask(b.question())
	if got := changed(q.ID); !got.Equal(b.clock.Now()) {
		t.Errorf("posted at %s", got)
	}
	carried := b.question()
	carried.ElicitationID, carried.Carried = "elc_7", &bridge.Carried{By: "@hub:ex.org", Message: "$theirs"}
	b.clock.Move(time.Minute)
	if err := b.Adopt(b.ctx, carried, b.event("@hub:ex.org", nil).ID); err != nil {
		t.Fatal(err)
	}
	if got := changed(carried.ID); !got.Equal(b.clock.Now()) {
		t.Errorf("adopted at %s", got)
	}
	b.clock.Move(time.Minute)
	set, _ := atStepTwo(b)
	if got := changed(set.ID); !got.Equal(b.clock.Now()) {
		t.Errorf("moved on at %s", got)
	}
}
