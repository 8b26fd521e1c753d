package bridge_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Field case A5: an edit is a correction of an unmatched reply by its own sender, and of nothing else.
func TestA5Corrections(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	hmm := b.reply("@dana:ex.org", q.ID, "hmm")
	edit := func(who bridge.UserID, original bridge.InteractionID, text string) bridge.Interaction {
		in := b.event(who, bridge.Edited{Original: original, Text: text})
		b.receive(in)
		return in
	}
	edit("@sam:ex.org", hmm.ID, "1") // somebody else's message
	edit("@dana:ex.org", "$unknown", "1")
	if got := b.get(q.ID); got.State != bridge.Pending {
		t.Fatalf("a stranger's edit answered: %+v", got.Answer)
	}
	edit("@dana:ex.org", hmm.ID, "3")
	if said := b.room.said(); b.get(q.ID).State != bridge.Pending || said[len(said)-1] != "tell rejected edit_cannot_approve @dana:ex.org" {
		t.Fatalf("an edit approved; the room heard %q", said)
	}
	in := edit("@dana:ex.org", hmm.ID, "2")
	if got := b.get(q.ID); got.State != bridge.Answered || got.Answer.Items[0].Selected[0] != "skip" || got.Answer.Event != in.ID {
		t.Fatalf("the correction: %+v", got.Answer)
	}
}

func TestAnAnswerIsNeverCorrected(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	one := b.reply("@dana:ex.org", q.ID, "1")
	before := len(b.room.said())
	b.receive(b.event("@dana:ex.org", bridge.Edited{Original: one.ID, Text: "2"}))
	if got := b.get(q.ID); got.Answer.Items[0].Selected[0] != "run_them" || len(b.room.said()) != before {
		t.Errorf("the answer became %+v; the room heard %q", got.Answer, b.room.said()[before:])
	}
}

func TestARedactedReplyIsNotCorrected(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	hmm := b.reply("@dana:ex.org", q.ID, "hmm")
	elsewhere := b.event("@sam:ex.org", bridge.Withdrew{Original: bridge.MessageID(hmm.ID)})
	elsewhere.Conversation = "!other:ex.org" // a relation never crosses rooms
	b.receive(elsewhere)
	if _, kept, err := b.store.Reply(b.ctx, hmm.ID); !kept || err != nil {
		t.Errorf("a redaction in another room took the reply away: %v", err)
	}
	b.receive(b.event("@dana:ex.org", bridge.Withdrew{Original: bridge.MessageID(hmm.ID)}))
	b.receive(b.event("@dana:ex.org", bridge.Edited{Original: hmm.ID, Text: "1"}))
	if got := b.get(q.ID); got.State != bridge.Pending {
		t.Errorf("answered by %+v", got.Answer)
	}
}

// Field cases A3 and B1: which question a message is about, by its relations alone.
func TestB1AndA3WhichQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(one, two bridge.MessageID) bridge.Act
		want string // which of the two is answered
	}{
		"a thread":                       {func(one, _ bridge.MessageID) bridge.Act { return bridge.Said{Text: "2", Thread: one} }, "first"},
		"a reply":                        {func(_, two bridge.MessageID) bridge.Act { return bridge.Said{Text: "2", ReplyTo: two} }, "second"},
		"a real reply in another thread": {func(one, two bridge.MessageID) bridge.Act { return bridge.Said{Text: "2", Thread: one, ReplyTo: two} }, "second"},
		"a reply to a person in a thread": {func(one, _ bridge.MessageID) bridge.Act {
			return bridge.Said{Text: "2", Thread: one, ReplyTo: "$person"}
		}, ""},
		"a thread of somebody else":   {func(bridge.MessageID, bridge.MessageID) bridge.Act { return bridge.Said{Text: "2", Thread: "$person"} }, ""},
		"no relation and two pending": {func(bridge.MessageID, bridge.MessageID) bridge.Act { return bridge.Said{Text: "2"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.room.alone = true
			first, second := b.ask(b.question()), b.ask(b.question())
			b.receive(b.event("@dana:ex.org", c.act(b.root(first.ID), b.root(second.ID))))
			got := ""
			if b.get(first.ID).State == bridge.Answered {
				got = "first"
			}
			if b.get(second.ID).State == bridge.Answered {
				got += "second"
			}
			if got != c.want {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
}

func TestARelationNeverCrossesRooms(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	in := b.event("@dana:ex.org", bridge.Said{Text: "1", Thread: b.root(q.ID)})
	in.Conversation = "!other:ex.org"
	b.receive(in)
	if b.get(q.ID).State != bridge.Pending {
		t.Error("answered from another room")
	}
}

// An unthreaded message answers only under every one of its conditions: each case breaks one.
func TestUnthreaded(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(b *bench, q bridge.Question)
		in   func(in *bridge.Interaction)
		text string
		want bool
	}{
		"all conditions hold":     {nil, nil, "2", true},
		"the label":               {nil, nil, "skip them", true},
		"more people in the room": {func(b *bench, _ bridge.Question) { b.room.alone = false }, nil, "2", false},
		"turned off":              {func(b *bench, _ bridge.Question) { b.Engine.Unthreaded = bridge.UnthreadedNever }, nil, "2", false},
		"an approving option":     {nil, nil, "3", false},
		"not exactly an option":   {nil, nil, "2 please", false},
		"a number out of range":   {nil, nil, "9", false},
		"before the question":     {nil, func(in *bridge.Interaction) { in.Seq = 5 }, "2", false},
		"sent before it":          {nil, func(in *bridge.Interaction) { in.SentAt = start.Add(-time.Second) }, "2", false},
		"another one pending":     {func(b *bench, _ bridge.Question) { b.ask(b.question()) }, nil, "2", false},
		"another one was pending when it was written": {func(b *bench, _ bridge.Question) {
			other := b.ask(b.question())
			b.clock.Move(2 * time.Minute)
			if _, err := b.Cancel(b.ctx, "ci", other.ID); err != nil {
				b.t.Fatal(err)
			}
		}, func(in *bridge.Interaction) { in.SentAt = start.Add(time.Minute) }, "2", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.room.alone = true
			q := b.ask(b.question())
			b.echo(q.ID, 10, start)
			if c.set != nil {
				c.set(b, q)
			}
			in := b.event("@dana:ex.org", bridge.Said{Text: c.text})
			if c.in != nil {
				c.in(&in)
			}
			b.receive(in)
			if got := b.get(q.ID).State == bridge.Answered; got != c.want {
				t.Errorf("answered: %v, want %v; the room heard %q", got, c.want, b.room.said())
			}
			if b.unhandled() != 0 {
				t.Error("the event waits")
			}
		})
	}
}

func TestUnthreadedNeedsTheEcho(t *testing.T) {
	b := newBench(t)
	b.room.alone = true
	q := b.ask(b.question())
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "2"}))
	if b.get(q.ID).State != bridge.Pending {
		t.Error("answered before it is known where the question stands in the stream")
	}
}

// steps reads replies for a set of two items: the first chosen is Partial, the second settles.
func steps(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
	var picks []bridge.OptionID
	_ = json.Unmarshal(p.Progress, &picks)
	text := ""
	switch act := in.Act.(type) {
	case bridge.Said:
		text = act.Text
	case bridge.Reacted:
		text = act.Key
	}
	m, ok := bridge.Match(q.Items[0].Options, text).(bridge.OneMatch)
	if !ok {
		return bridge.Ignored{}
	}
	picks = append(picks, q.Items[0].Options[m.Index].ID)
	if len(picks) < len(q.Items) {
		progress, _ := json.Marshal(picks)
		return bridge.Partial{Progress: progress}
	}
	c := bridge.Choice{}
	for _, id := range picks {
		c.Items = append(c.Items, bridge.ItemChoice{Selected: []bridge.OptionID{id}})
	}
	return bridge.Chosen{Choice: c}
}

func TestASetIsAnsweredStepByStep(t *testing.T) {
	b := newBench(t)
	b.room.parse = steps
	set := b.question()
	set.Items = append(set.Items, set.Items[0])
	q := b.ask(set)
	first := b.root(q.ID)

	b.room.fails = &bridge.ErrRetry{After: time.Hour}
	b.reply("@dana:ex.org", q.ID, "1")
	if got := b.get(q.ID); got.Revision != 1 || got.State != bridge.Pending {
		t.Fatalf("after one step: revision %d, %s", got.Revision, got.State)
	}
	b.room.fails = nil
	b.reply("@sam:ex.org", q.ID, "2") // while the next step is not shown; this also tries again to show it
	said := b.room.said()
	if want := []string{"tell rejected moving @sam:ex.org", "update " + string(q.ID) + "/update/1"}; !contains(said, want) {
		t.Fatalf("the room heard %q, want %q in it", said, want)
	}
	if b.root(q.ID) == first {
		t.Fatal("the second step is not the current message")
	}
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "2", Thread: first}))
	if got := b.get(q.ID); got.State != bridge.Pending {
		t.Fatal("a text from before the echo of the second step answered it")
	}
	b.echo(q.ID, 1010, start.Add(30*time.Second))
	b.seq += 20

	b.receive(b.event("@dana:ex.org", bridge.Reacted{To: first, Key: "2"})) // the step before
	early := b.event("@sam:ex.org", bridge.Said{Text: "2", Thread: first})
	early.SentAt = start.Add(29 * time.Second)
	b.receive(early)
	if got := b.get(q.ID); got.State != bridge.Pending || got.Revision != 1 {
		t.Fatalf("an earlier step counted: revision %d, %s", got.Revision, got.State)
	}
	b.reply("@dana:ex.org", q.ID, "2")
	if got := b.get(q.ID); got.State != bridge.Answered || got.Answer.Items[0].Selected[0] != "run_them" || got.Answer.Items[1].Selected[0] != "skip" {
		t.Errorf("stands at %s with %+v", got.State, got.Answer)
	}
	if want := []string{"tell stale outdated @dana:ex.org", "tell stale outdated @sam:ex.org"}; !contains(b.room.said(), want) {
		t.Errorf("the room heard %q", b.room.said())
	}
}

func contains(all, want []string) bool {
	for _, w := range want {
		if !slices.Contains(all, w) {
			return false
		}
	}
	return true
}

func TestDismissed(t *testing.T) {
	b := newBench(t)
	b.room.parse = func(bridge.Interaction, bridge.Question, bridge.Posting) bridge.Reading { return bridge.Dismissed{} }
	q := b.ask(b.question())
	in := b.reply("@dana:ex.org", q.ID, "no thanks")
	b.receive(in) // the same event again is nobody's being late
	if got := b.get(q.ID); got.State != bridge.Cancelled || got.CancelledBy != bridge.ByResponder || got.DismissedBy != "@dana:ex.org" {
		t.Errorf("stands at %s by %s, %s", got.State, got.CancelledBy, got.DismissedBy)
	}
	b.reply("@sam:ex.org", q.ID, "no thanks")
	if said := b.room.said(); !contains(said, []string{"tell stale cancelled @sam:ex.org"}) || slices.Contains(said, "tell stale cancelled @dana:ex.org") {
		t.Errorf("the room heard %q", said)
	}
}

// Field case A10: a redacted question cannot be answered in its room; its deadline still holds.
func TestA10ARedactedQuestion(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	if ok, err := b.QuestionRedacted(b.ctx, q.Conversation, "$something else"); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if ok, err := b.QuestionRedacted(b.ctx, q.Conversation, b.root(q.ID)); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if d := b.get(q.ID).Delivery; d.State != bridge.Failed || d.Reason != bridge.ReasonRedacted {
		t.Errorf("delivery %+v", d)
	}
	b.reply("@dana:ex.org", q.ID, "1")
	if !contains(b.room.said(), []string{"tell rejected redacted @dana:ex.org"}) || b.get(q.ID).State != bridge.Pending {
		t.Errorf("the room heard %q", b.room.said())
	}
	b.clock.Move(time.Hour)
	if n, err := b.Expire(b.ctx, 10); n != 1 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
}

// Field case A11: after a room upgrade each pending question is posted once more, and the old posting stays linked.
func TestA11ARoomUpgrade(t *testing.T) {
	b := newBench(t)
	q, done := b.ask(b.question()), b.ask(b.question())
	b.reply("@dana:ex.org", done.ID, "1")
	old := b.root(q.ID)
	if err := b.Unanswerable(b.ctx, q.Conversation, bridge.ReasonRoomUpgraded); err != nil {
		t.Fatal(err)
	}
	if d := b.get(q.ID).Delivery; d.State != bridge.Unanswerable || d.Reason != bridge.ReasonRoomUpgraded {
		t.Errorf("delivery %+v", d)
	}
	for range 2 { // told twice, after a crash
		if err := b.Moved(b.ctx, q.Conversation, "!new:ex.org"); err != nil {
			t.Fatal(err)
		}
		b.work()
	}
	posts := 0
	for _, s := range b.room.said() {
		if s == "render "+string(q.ID)+"/upgrade/!new:ex.org" {
			posts++
		}
	}
	got := b.get(q.ID)
	if posts != 1 || got.Conversation != "!new:ex.org" || got.Delivery.State != bridge.Posted || !got.ExpiresAt.Equal(q.ExpiresAt) {
		t.Errorf("%d posts, %+v", posts, got.Delivery)
	}
	if id, ok, err := b.store.QuestionOf(b.ctx, "!ops:ex.org", old); err != nil || !ok || id != q.ID {
		t.Errorf("the old posting belongs to %q, %v, %v", id, ok, err)
	}
	in := b.event("@dana:ex.org", bridge.Said{Text: "2", Thread: b.root(q.ID)})
	in.Conversation = "!new:ex.org"
	b.receive(in)
	if b.get(q.ID).State != bridge.Answered {
		t.Error("the copy cannot be answered")
	}
}

func TestACarriedQuestion(t *testing.T) {
	b := newBench(t)
	carried := b.question()
	carried.ElicitationID, carried.Carried = "elc_7", &bridge.Carried{By: "@hub:ex.org", Message: "$theirs"}
	in := b.event("@hub:ex.org", nil)
	if err := b.Adopt(b.ctx, carried, in.ID); err != nil {
		t.Fatal(err)
	}
	b.work()
	if b.unhandled() != 0 || b.get(carried.ID).Delivery.State != bridge.Posted || b.root(carried.ID) != "$theirs" {
		t.Fatalf("stands at %+v, %s", b.get(carried.ID).Delivery, b.root(carried.ID))
	}
	if want := []string{"$theirs " + string(carried.ID) + "/render/0"}; len(b.room.said()) != 0 || !slices.Equal(b.room.controls, want) {
		t.Errorf("the channel posted %q and put up %q", b.room.said(), b.room.controls)
	}
	again := carried
	again.ID = bridge.NewQuestionID()
	again.Carried = &bridge.Carried{By: "@hub:ex.org", Message: "$copy"}
	if err := b.Adopt(b.ctx, again, b.event("@hub:ex.org", nil).ID); err != nil || b.unhandled() != 0 {
		t.Errorf("the same again: %v, %d wait", err, b.unhandled())
	}
	if id, ok, err := b.store.QuestionOf(b.ctx, carried.Conversation, "$copy"); err != nil || !ok || id != carried.ID {
		t.Errorf("the copy belongs to %q, %v", id, err)
	}
	again.Digest = "another"
	other := b.event("@hub:ex.org", nil)
	if err := b.Adopt(b.ctx, again, other.ID); bridge.CodeOf(err) != bridge.CodeElicitationConflict || b.unhandled() != 1 {
		t.Errorf("another one: %v, %d wait", err, b.unhandled())
	}
	for _, no := range []struct {
		m  bridge.MessageID
		by bridge.UserID
	}{{"$other", "@hub:ex.org"}, {"$theirs", "@dana:ex.org"}} {
		if err := b.CarrierEdited(b.ctx, carried.Conversation, no.m, no.by); err != nil || b.get(carried.ID).State != bridge.Pending {
			t.Errorf("edited by %s: %v", no.by, err)
		}
	}
	if err := b.CarrierEdited(b.ctx, carried.Conversation, "$theirs", "@hub:ex.org"); err != nil {
		t.Fatal(err)
	}
	if got := b.get(carried.ID); got.State != bridge.Cancelled || got.Reason != "edited" || got.CancelledBy != bridge.ByAsker {
		t.Errorf("stands at %s, %s, by %s", got.State, got.Reason, got.CancelledBy)
	}
}

// Talk ends a question of the Question Queue for those who may answer it alone: anybody else is told nothing.
func TestTalkEndsARationedQuestion(t *testing.T) {
	b := newBench(t)
	b.room.parse = func(bridge.Interaction, bridge.Question, bridge.Posting) bridge.Reading {
		return bridge.Dismissed{Reason: bridge.ReasonCooled, Talk: true}
	}
	ask := b.question()
	ask.Scope, ask.Target, ask.Rationed = bridge.Direct, "@dana:ex.org", true
	q := b.ask(ask)
	before := len(b.room.said())
	b.reply("@sam:ex.org", q.ID, "I do not know either")
	if got := b.get(q.ID); got.State != bridge.Pending || len(b.room.said()) != before {
		t.Fatalf("the talk of others: %s, and the room heard %q", got.State, b.room.said()[before:])
	}
	b.reply("@dana:ex.org", q.ID, "let me see")
	if got := b.get(q.ID); got.State != bridge.Cancelled || got.CancelledBy != bridge.ByResponder || got.Reason != bridge.ReasonCooled || got.DismissedBy != "@dana:ex.org" {
		t.Errorf("her talk: %+v", got)
	}
}
