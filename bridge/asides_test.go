package bridge_test

import (
	"fmt"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// typing reads "more" as an answer that needs something typed, anything else as steps does, and a withdrawal as the end of
// the typing.
func typing(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
	switch act := in.Act.(type) {
	case bridge.Withdrew:
		return bridge.Partial{Quiet: true, Progress: p.Progress}
	case bridge.Said:
		if act.Text == "more" {
			c := bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{q.Items[0].Options[0].ID}}}}
			return bridge.Partial{Quiet: true, Progress: p.Progress, Choice: c}
		}
	}
	return steps(in, q, p)
}

func TestWhatMayNotBeChosenIsNotAskedMoreAbout(t *testing.T) {
	b := newBench(t)
	b.room.parse = typing
	q := b.question()
	q.Items[0].Options[0].Requires = bridge.RequiresWorkspaceAdmin
	q = b.ask(q)
	b.reply("@dana:ex.org", q.ID, "more")
	if said := b.room.said(); said[len(said)-1] != "tell denied admins_only @dana:ex.org" {
		t.Errorf("the room heard %q", said)
	}
	if got := b.get(q.ID); got.Revision != 0 {
		t.Errorf("moved on to %d", got.Revision)
	}
}

// What one person has to type is no step: a correction of what somebody else said before it still counts.
func TestTypingIsNoStep(t *testing.T) {
	b := newBench(t)
	b.room.parse = typing
	q := b.ask(b.question())
	talk := b.reply("@sam:ex.org", q.ID, "hm")
	b.reply("@dana:ex.org", q.ID, "more")
	if got := b.get(q.ID); got.Revision != 1 || got.State != bridge.Pending {
		t.Fatalf("at %d, %s", got.Revision, got.State)
	}
	b.receive(b.event("@sam:ex.org", bridge.Edited{Original: talk.ID, Text: "2"}))
	if got := b.get(q.ID); got.State != bridge.Answered || got.Answer.By.ID != "@sam:ex.org" {
		t.Errorf("stands at %s", got.State)
	}
}

func TestWithdrawn(t *testing.T) {
	b := newBench(t)
	b.room.parse = typing
	q := b.ask(b.question())
	talk, more := b.reply("@sam:ex.org", q.ID, "hm"), b.reply("@dana:ex.org", q.ID, "more")
	withdraw := func(in bridge.Interaction) {
		t.Helper()
		b.receive(b.event("@dana:ex.org", bridge.Withdrew{Original: bridge.MessageID(in.ID)}))
		if _, ok, err := b.store.Reply(b.ctx, in.ID); ok || err != nil {
			t.Errorf("%s is still kept: %v", in.ID, err)
		}
	}
	withdraw(more)
	if got := b.get(q.ID); got.Revision != 2 || got.State != bridge.Pending {
		t.Errorf("at %d, %s", got.Revision, got.State)
	}
	b.room.parse = func(bridge.Interaction, bridge.Question, bridge.Posting) bridge.Reading { return bridge.Ignored{} }
	withdraw(talk)
	if got := b.get(q.ID); got.Revision != 2 || b.unhandled() != 0 {
		t.Errorf("at %d, with %d events to handle", got.Revision, b.unhandled())
	}
}

// A withdrawal while the next step is being posted does not keep that step from being shown.
func TestWithdrawnWhileTheNextStepIsPosted(t *testing.T) {
	b := newBench(t)
	b.room.parse = typing
	set := b.question()
	set.Items = append(set.Items, set.Items[0])
	q := b.ask(set)
	more := b.reply("@sam:ex.org", q.ID, "more")
	b.room.fails = &bridge.ErrRetry{After: time.Hour}
	b.reply("@dana:ex.org", q.ID, "1")
	b.receive(b.event("@sam:ex.org", bridge.Withdrew{Original: bridge.MessageID(more.ID)}))
	b.room.fails = nil
	b.clock.Move(time.Hour / 2)
	b.work()
	p, err := b.store.Posting(b.ctx, q.ID)
	if err != nil || p.Moving || p.Step() != 1 {
		t.Errorf("moving: %v, step %d, %v", p.Moving, p.Step(), err)
	}
}

// Whoever answers what they were asked besides, once that step is over, is told so.
func TestAnAsideOfAnEarlierStep(t *testing.T) {
	b := newBench(t)
	q, first := atStepTwo(b)
	p, err := b.store.Posting(b.ctx, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 2 {
		m := bridge.Message{ID: bridge.MessageID(fmt.Sprintf("$aside%d", step)), PostedAt: start, Item: step}
		p.Asides = append(p.Asides, bridge.Aside{Message: m, To: "@sam:ex.org", About: "$e"})
	}
	if err := b.store.SavePosting(b.ctx, p); err != nil {
		t.Fatal(err)
	}
	b.receive(b.event("@sam:ex.org", bridge.Said{Text: "2", Thread: first, ReplyTo: "$aside0"}))
	if said := b.room.said(); said[len(said)-1] != "tell stale outdated @sam:ex.org" {
		t.Errorf("the room heard %q", said)
	}
	b.receive(b.event("@sam:ex.org", bridge.Said{Text: "2", Thread: first, ReplyTo: "$aside1"}))
	if got := b.get(q.ID); got.State != bridge.Answered {
		t.Errorf("stands at %s", got.State)
	}
}
