package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// lines keeps what is recorded, as text.
type lines struct {
	mu   sync.Mutex
	all  []string
	last bridge.AuditRecord
}

func (l *lines) Record(_ context.Context, r bridge.AuditRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = r
	var b strings.Builder
	fmt.Fprintf(&b, "%s agent=%s", r.Action, r.Agent)
	for _, part := range []struct{ name, value string }{
		{"user", string(r.User)}, {"via", string(r.Via)}, {"code", string(r.Code)}, {"meaning", string(r.Meaning)}, {"event", string(r.Event)},
		{"request", r.Request}, {"token", r.Token},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, part.value)
		}
	}
	for _, c := range r.Chosen {
		fmt.Fprintf(&b, " %+v", c)
	}
	l.all = append(l.all, b.String())
}

// take gives what was recorded since it was last called.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.all
	l.all = nil
	return taken
}

func newAudited(t *testing.T) (*bench, *lines) {
	t.Helper()
	b, l := newBench(t), &lines{}
	b.Auditor = l
	return b, l
}

func (l *lines) want(t *testing.T, want ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, want) {
		t.Errorf("recorded\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Whatever becomes of a question, on whichever surface, is recorded once, with who and where.
func TestAuditOfAQuestion(t *testing.T) {
	b, l := newAudited(t)
	b.ctx = bridge.Origin{Request: "R1", Token: "tok_1"}.In(b.ctx)
	q := b.ask(b.question())
	l.want(t, "asked agent=ci via=api request=R1 token=tok_1")
	if l.last.Question != q.ID || l.last.Conversation != q.Conversation || !l.last.At.Equal(start) {
		t.Errorf("%+v", l.last)
	}
	b.ctx = t.Context()
	b.reply("@dana:ex.org", q.ID, "9")
	b.reply("@stranger:ex.org", q.ID, "1")
	b.reply("@dana:ex.org", q.ID, "just talk")
	b.reply("@bot:ex.org", q.ID, "1")
	b.reply("@dana:ex.org", q.ID, "2")
	b.reply("@sam:ex.org", q.ID, "1")
	l.want(t,
		"answer_refused agent=ci user=@dana:ex.org via=reply code=out_of_range event=$event1",
		"answer_refused agent=ci user=@stranger:ex.org via=reply code=not_eligible event=$event2",
		"answered agent=ci user=@dana:ex.org via=reply meaning=choose event=$event5 {Item:1 Option:2 Value:skip Typed:false}",
		"answer_late agent=ci user=@sam:ex.org via=reply code=answered event=$event6")

	over := b.ask(b.question())
	withdrawn := b.ask(b.question())
	if _, err := b.Cancel(b.ctx, "ci", withdrawn.ID); err != nil {
		t.Fatal(err)
	}
	b.clock.Move(time.Hour)
	late := bridge.Origin{Request: "R2", Token: "tok_2"}.In(b.ctx)
	if _, err := b.Fetch(late, "ci", over.ID); err != nil { // it expires by this, and not by whoever asked
		t.Fatal(err)
	}
	l.want(t, "asked agent=ci via=api", "asked agent=ci via=api", "cancelled agent=ci code=asker", "expired agent=ci")
	if l.last.Question != over.ID || l.last.Conversation != over.Conversation {
		t.Errorf("%+v", l.last)
	}
}

// Answers outside the room are recorded too, and what supersedes, dismisses and carries.
func TestAuditOfOtherWays(t *testing.T) {
	b, l := newAudited(t)
	old, err := b.about("s1", 1, "D1", nil)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := b.about("s1", 2, "D2", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.want(t, "asked agent=ci via=api", "asked agent=ci via=api", "superseded agent=ci")
	if l.last.Question != old.ID {
		t.Errorf("%+v", l.last)
	}
	c := pick("yes")
	c.Subject, c.Via = &newer.Subject.SubjectRef, bridge.ViaAPI
	for range 2 {
		if _, err := b.Answer(bridge.Origin{Request: "R", Token: "t"}.In(b.ctx), "@dana:ex.org", newer.ID, c); err != nil {
			t.Fatal(err)
		}
	}
	l.want(t, "answered agent=ci user=@dana:ex.org via=api meaning=approve request=R token=t {Item:1 Option:3 Value:yes Typed:false}",
		"answer_late agent=ci user=@dana:ex.org via=api code=answered request=R token=t")

	q := b.question()
	q.Asker, q.Carried = "hub", &bridge.Carried{By: "@hub:ex.org", Message: "$c1"}
	for range 2 { // the same event again is no other question
		if err := b.Adopt(b.ctx, q, "$c1"); err != nil && bridge.CodeOf(err) != bridge.CodeElicitationConflict {
			t.Fatal(err)
		}
	}
	if err := b.CarrierEdited(b.ctx, q.Conversation, "$c1", "@hub:ex.org"); err != nil {
		t.Fatal(err)
	}
	l.want(t, "adopted agent=hub user=@hub:ex.org via=carrier event=$c1", "cancelled agent=hub user=@hub:ex.org via=carrier code=edited")

	dismissed := b.ask(b.question())
	b.room.parse = func(bridge.Interaction, bridge.Question, bridge.Posting) bridge.Reading { return bridge.Dismissed{} }
	b.reply("@dana:ex.org", dismissed.ID, "never mind")
	l.want(t, "asked agent=ci via=api", "cancelled agent=ci user=@dana:ex.org code=responder")
}

// An option is recorded by its place; by its value too where that is a word that only machines read.
func TestAuditOfValues(t *testing.T) {
	b, l := newAudited(t)
	q := b.question()
	q.Items = []bridge.Item{
		{Header: "One", Prompt: "Which?", Multiple: true, Options: []bridge.Option{
			{ID: "prod-1", Label: "Production"}, {ID: "Staging", Label: "Staging"}, {ID: "for ever and a day", Label: "Always"},
		}},
		{Header: "Two", Prompt: "Why?", Text: &bridge.TextInput{MaxLength: 60}},
	}
	typed := "because of my dog"
	b.room.parse = func(bridge.Interaction, bridge.Question, bridge.Posting) bridge.Reading {
		return bridge.Chosen{Choice: bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"for ever and a day", "Staging", "prod-1"}}, {Text: &typed}}}}
	}
	asked := b.ask(q)
	b.reply("@dana:ex.org", asked.ID, typed)
	l.want(t, "asked agent=ci via=api", "answered agent=ci user=@dana:ex.org via=reply event=$event1 {Item:1 Option:1 Value:prod-1 Typed:false}"+
		" {Item:1 Option:2 Value: Typed:false} {Item:1 Option:3 Value: Typed:false} {Item:2 Option:0 Value: Typed:true}")
}

// What is not committed is not recorded.
func TestAuditAfterCommit(t *testing.T) {
	b, l := newAudited(t)
	q := b.ask(b.question())
	l.take()
	parts := b.Parts
	parts.Store = failing{b.store}
	if err := bridge.NewEngine(parts).Receive(b.ctx, b.event("@dana:ex.org", bridge.Said{Text: "1", Thread: b.root(q.ID)})); err == nil {
		t.Fatal("a full disk is no error")
	}
	l.want(t)
}
