package bridge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func TestAQuestionIsAskedAnsweredAndTold(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d.State != bridge.Posted || d.Message != b.root(q.ID) {
		t.Fatalf("delivery %+v", d)
	}
	in := b.reply("@dana:ex.org", q.ID, "skip THEM")
	got := b.get(q.ID)
	if got.State != bridge.Answered || got.Answer.Items[0].Selected[0] != "skip" || got.Answer.Labels[0][0] != "Skip them" ||
		got.Answer.By != (bridge.Responder{ID: "@dana:ex.org", DisplayName: "Dana"}) || got.Answer.Event != in.ID || !got.Answer.At.Equal(start) {
		t.Errorf("stored %+v", got.Answer)
	}
	if want := []bridge.QuestionID{q.ID}; !slices.Equal(b.notes.ids, want) {
		t.Errorf("notified %v", b.notes.ids)
	}
	want := []string{"render " + string(q.ID) + "/render/0", "settled answered " + string(q.ID) + "/settled/0"}
	if said := b.room.said(); !slices.Equal(said, want) {
		t.Errorf("the room heard %q", said)
	}
	if n := b.unhandled(); n != 0 {
		t.Errorf("%d events wait", n)
	}
}

func TestTheSameEventAgainChangesNothing(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	in := b.reply("@dana:ex.org", q.ID, "1")
	before := b.room.said()
	b.receive(in)
	if after := b.room.said(); !slices.Equal(before, after) {
		t.Errorf("the room heard %q", after[len(before):])
	}
}

// Field case B9, as far as the room goes: many answers at once, one winner, everybody else is told who.
func TestB9ManyAnswersAtOnce(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	var events []bridge.Interaction
	for i := range 20 {
		who := bridge.UserID("@p" + string(rune('a'+i)) + ":ex.org")
		b.room.rights[who] = bridge.Rights{Member: true}
		events = append(events, b.event(who, bridge.Said{Text: string(rune('1' + i%2)), Thread: b.root(q.ID)}))
	}
	var all sync.WaitGroup
	for _, in := range events {
		all.Go(func() {
			if err := b.Receive(b.ctx, in); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.work()
	winner := b.get(q.ID).Answer
	if winner == nil {
		t.Fatal("nobody won")
	}
	stale := 0
	for _, s := range b.room.said() {
		if strings.HasPrefix(s, "tell stale answered") {
			stale++
			if strings.HasSuffix(s, string(winner.By.ID)) {
				t.Error("the winner is told that they came late")
			}
		}
	}
	if stale != 19 || len(b.notes.ids) != 1 || b.unhandled() != 0 {
		t.Errorf("%d told, %d notified, %d events wait", stale, len(b.notes.ids), b.unhandled())
	}
}

func TestWhoMayNotAnswerIsToldOnce(t *testing.T) {
	b := newBench(t)
	direct := b.question()
	direct.Scope, direct.Target = bridge.Direct, "@dana:ex.org"
	q := b.ask(direct)
	b.reply("@sam:ex.org", q.ID, "1")
	b.reply("@sam:ex.org", q.ID, "2")
	b.reply("@sam:ex.org", q.ID, "9") // not even a hint
	b.reply("@bot:ex.org", q.ID, "1")
	b.reply("@stranger:ex.org", q.ID, "just talking")
	if said := b.room.said()[1:]; !slices.Equal(said, []string{"tell denied not_eligible @sam:ex.org"}) {
		t.Errorf("the room heard %q", said)
	}
	b.reply("@dana:ex.org", q.ID, "2")
	if got := b.get(q.ID); got.State != bridge.Answered || got.Answer.By.ID != "@dana:ex.org" {
		t.Errorf("stands at %s", got.State)
	}
}

// A hint goes once to a person, whatever they try next; what is no hint goes once for its code.
func TestAHintGoesOncePerPerson(t *testing.T) {
	b := newBench(t)
	b.room.parse = func(in bridge.Interaction, _ bridge.Question, _ bridge.Posting) bridge.Reading {
		return bridge.Refused{Code: bridge.Code(in.Act.(bridge.Said).Text)}
	}
	q := b.ask(b.question())
	for _, code := range []bridge.Code{
		bridge.CodeOutOfRange, bridge.CodeOutOfRange, bridge.CodeNotText, bridge.CodeAmbiguous, bridge.CodeTextTooLong, bridge.CodeInputMissing,
		bridge.CodeInputMissing,
	} {
		b.reply("@dana:ex.org", q.ID, string(code))
	}
	b.reply("@sam:ex.org", q.ID, string(bridge.CodeNotText))
	want := []string{"tell rejected out_of_range @dana:ex.org", "tell rejected input_missing @dana:ex.org", "tell rejected not_text @sam:ex.org"}
	if said := b.room.said()[1:]; !slices.Equal(said, want) || b.get(q.ID).State != bridge.Pending {
		t.Errorf("the room heard %q", said)
	}
}

// Field case B3: the deadline counts when the sweep did not come by, and at exactly the deadline it is late.
func TestB3ExpiredButNotSwept(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	b.clock.Move(time.Hour)
	b.reply("@dana:ex.org", q.ID, "1")
	got := b.get(q.ID)
	if got.State != bridge.Expired || got.Answer != nil {
		t.Fatalf("stands at %s with %+v", got.State, got.Answer)
	}
	if said := b.room.said()[1:]; !slices.Contains(said, "tell stale expired @dana:ex.org") || !slices.Contains(said, "settled expired "+string(q.ID)+"/settled/0") {
		t.Errorf("the room heard %q", said)
	}
	if fetched, err := b.Fetch(b.ctx, "ci", q.ID); err != nil || fetched.State != bridge.Expired {
		t.Errorf("fetched %v, %v", fetched.State, err)
	}
}

func TestFetchExpiresWhatIsOverdue(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	b.clock.Move(2 * time.Hour)
	if got, err := b.Fetch(b.ctx, "ci", q.ID); err != nil || got.State != bridge.Expired {
		t.Errorf("fetched %v, %v", got.State, err)
	}
	if got, err := b.Cancel(b.ctx, "ci", q.ID); err != nil || got.State != bridge.Expired {
		t.Errorf("cancelled into %v, %v", got.State, err)
	}
}

func TestAnAskerSeesOnlyItsOwn(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	if _, err := b.Fetch(b.ctx, "other", q.ID); bridge.CodeOf(err) != bridge.CodeNotFound {
		t.Errorf("fetch gave %v", err)
	}
	if _, err := b.Cancel(b.ctx, "other", q.ID); bridge.CodeOf(err) != bridge.CodeNotFound || b.get(q.ID).State != bridge.Pending {
		t.Errorf("cancel gave %v", err)
	}
}

func TestCancelledBeforePostedIsNeverPosted(t *testing.T) {
	b := newBench(t)
	q, _, err := b.Ask(b.ctx, b.question())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Cancel(b.ctx, "ci", q.ID); err != nil || got.State != bridge.Cancelled || got.CancelledBy != bridge.ByAsker {
		t.Fatalf("%+v, %v", got, err)
	}
	b.work()
	for _, s := range b.room.said() {
		if strings.HasPrefix(s, "render") {
			t.Errorf("it was posted: %s", s)
		}
	}
}

func TestAnEqualAskIsTheSameQuestion(t *testing.T) {
	b := newBench(t)
	first := b.question()
	first.ElicitationID = "elc_1"
	q := b.ask(first)
	again := b.question()
	again.ElicitationID = "elc_1"
	got, created, err := b.Ask(b.ctx, again)
	if err != nil || created || got.ID != q.ID {
		t.Errorf("asked again: %v %v %v", got.ID, created, err)
	}
	again.Digest = "another"
	if _, _, err := b.Ask(b.ctx, again); bridge.CodeOf(err) != bridge.CodeElicitationConflict {
		t.Errorf("another question: %v", err)
	}
	var all sync.WaitGroup
	ids := make([]bridge.QuestionID, 10)
	for i := range ids {
		all.Go(func() {
			q := b.question()
			q.ElicitationID = "elc_2"
			got, _, err := b.Ask(b.ctx, q)
			if err != nil {
				t.Error(err)
			}
			ids[i] = got.ID
		})
	}
	all.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("one ask at once ten times made %v", ids)
	}
}

func TestATargetMustBeAbleToAnswer(t *testing.T) {
	b := newBench(t)
	for who, want := range map[bridge.UserID]bridge.Code{"@dana:ex.org": "", "@stranger:ex.org": bridge.CodeTargetNotPermitted, "@bot:ex.org": bridge.CodeTargetNotPermitted} {
		q := b.question()
		q.Scope, q.Target = bridge.Direct, who
		if _, _, err := b.Ask(b.ctx, q); bridge.CodeOf(err) != want {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// Whoever has just joined is a member although our copy of the room is behind: as the target of a question, which is no
// reason to refuse it either while the room cannot be read, and as a responder.
func TestJustJoined(t *testing.T) {
	b := newBench(t)
	newcomer := bridge.UserID("@new:ex.org")
	b.room.joined = map[bridge.UserID]bridge.Rights{newcomer: {Member: true}}
	direct := func() bridge.Question {
		q := b.question()
		q.Scope, q.Target = bridge.Direct, newcomer
		return q
	}
	q := b.ask(direct())
	b.work()
	b.receive(b.reply(newcomer, q.ID, "2"))
	if got := b.get(q.ID); got.Answer == nil || got.Answer.By.ID != newcomer {
		t.Errorf("the question is %s", got.State)
	}
	b.room.joined[newcomer], b.room.unread = bridge.Rights{Unreadable: true}, errors.New("the homeserver is away")
	if _, _, err := b.Ask(b.ctx, direct()); err != nil {
		t.Errorf("refused while the room cannot be read: %v", err)
	}
}

func TestHeldUntilSomebodyComes(t *testing.T) {
	b := newBench(t)
	b.room.fails = &bridge.ErrHeld{Reason: "nobody else has joined", Again: time.Hour}
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d.State != bridge.Queued || d.Reason != "nobody else has joined" {
		t.Fatalf("delivery %+v", d)
	}
	b.room.fails = nil
	if err := b.Changed(b.ctx, "!ops:ex.org"); err != nil {
		t.Fatal(err)
	}
	b.work()
	if d := b.get(q.ID).Delivery; d.State != bridge.Posted {
		t.Errorf("delivery %+v", d)
	}
}

// TestKickedAndInvitedAgain shows that what could not be posted because the bot was away is posted when it is back, and
// that what was posted before can be answered again.
func TestKickedAndInvitedAgain(t *testing.T) {
	b := newBench(t)
	before := b.ask(b.question())
	b.room.fails = &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: bridge.ReasonNotInRoom}
	never := b.ask(b.question())
	if err := b.Unanswerable(b.ctx, before.Conversation, bridge.ReasonNotInRoom); err != nil {
		t.Fatal(err)
	}
	for _, q := range []bridge.Question{before, never} {
		if d := b.get(q.ID).Delivery; d.State != bridge.Unanswerable {
			t.Fatalf("delivery %+v", d)
		}
	}
	b.room.fails = nil
	if err := b.Changed(b.ctx, before.Conversation); err != nil {
		t.Fatal(err)
	}
	b.work()
	for _, q := range []bridge.Question{before, never} {
		if d := b.get(q.ID).Delivery; d.State != bridge.Posted || d.Message != b.root(q.ID) {
			t.Errorf("delivery %+v", d)
		}
	}
}

// TestRoomLostWhilePosting shows that a question whose room was closed, or replaced, while it was being posted does not
// count as posted there.
func TestRoomLostWhilePosting(t *testing.T) {
	b := newBench(t)
	b.room.during = func() {
		if err := b.Unanswerable(b.ctx, "!ops:ex.org", bridge.ReasonRoomUpgraded); err != nil {
			t.Error(err)
		}
	}
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d.State != bridge.Unanswerable || d.Message == "" {
		t.Errorf("closed: delivery %+v", d)
	}
	b.room.during = func() {
		b.room.during = nil
		if err := b.Moved(b.ctx, "!ops:ex.org", "!new:ex.org"); err != nil {
			t.Error(err)
		}
	}
	q = b.ask(b.question())
	if d := b.get(q.ID); d.Delivery.State != bridge.Posted || d.Conversation != "!new:ex.org" || len(b.room.said()) != 4 {
		t.Errorf("replaced: %+v, %q", d.Delivery, b.room.said())
	}
}

func TestWhatCannotBePostedIsSaidSo(t *testing.T) {
	b := newBench(t)
	b.room.fails = &bridge.ErrImpossible{State: bridge.Unanswerable, Reason: "the bot was removed"}
	q := b.ask(b.question())
	if d := b.get(q.ID).Delivery; d.State != bridge.Unanswerable || d.Reason != "the bot was removed" {
		t.Errorf("delivery %+v", d)
	}
}

// failing is a store whose AddEffects fails: the disk is full.
type failing struct{ bridge.Store }

func (failing) AddEffects(context.Context, ...bridge.Effect) error { return errors.New("disk full") }

// Field case B11: a failure while an answer is stored stores nothing of it, and the event waits for another try.
func TestB11AFailedAnswerIsReadAgain(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	in := b.event("@dana:ex.org", bridge.Said{Text: "1", Thread: b.root(q.ID)})
	parts := b.Parts
	parts.Store = failing{b.store}
	if err := bridge.NewEngine(parts).Receive(b.ctx, in); err == nil {
		t.Fatal("a full disk is no error")
	}
	if got := b.get(q.ID); got.State != bridge.Pending || len(b.notes.ids) != 0 || b.unhandled() != 1 {
		t.Fatalf("stands at %s, %d notified, %d events wait", got.State, len(b.notes.ids), b.unhandled())
	}
	b.receive(in)
	if got := b.get(q.ID); got.State != bridge.Answered || b.unhandled() != 0 {
		t.Errorf("stands at %s", got.State)
	}
}

// hook is a feature that fails when told to.
type hook struct {
	err  error
	seen []bridge.State
}

func (h *hook) Settling(_ context.Context, q bridge.Question) error {
	h.seen = append(h.seen, q.State)
	if len(q.Items) == 0 {
		return errors.New("it is not the whole question")
	}
	return h.err
}

func TestAFeatureIsPartOfTheSettling(t *testing.T) {
	b := newBench(t)
	h := &hook{err: errors.New("no")}
	b.Engine.Features = []bridge.Feature{h}
	q := b.ask(b.question())
	if _, err := b.Cancel(b.ctx, "ci", q.ID); err == nil || b.get(q.ID).State != bridge.Pending {
		t.Fatalf("settled without its feature: %v", err)
	}
	h.err = nil
	b.clock.Move(time.Hour)
	if n, err := b.Expire(b.ctx, 10); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if !slices.Equal(h.seen, []bridge.State{bridge.Cancelled, bridge.Expired}) {
		t.Errorf("the feature saw %v", h.seen)
	}
}
