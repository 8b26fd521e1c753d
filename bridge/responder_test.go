package bridge_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

func pick(id bridge.OptionID) bridge.Choice {
	return bridge.Choice{Via: bridge.ViaAPI, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{id}}}}
}

func (b *bench) code(err error, want bridge.Code) {
	b.t.Helper()
	if bridge.CodeOf(err) != want {
		b.t.Errorf("%v, want %q", err, want)
	}
}

func TestAnsweredOutsideTheRoom(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	_, err := b.Show(b.ctx, "@stranger:ex.org", q.ID)
	b.code(err, bridge.CodeNotEligible)
	_, err = b.Show(b.ctx, "@dana:ex.org", "q_none")
	b.code(err, bridge.CodeNotFound)
	_, err = b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("no_such"))
	b.code(err, bridge.CodeInvalidOption)
	if b.get(q.ID).State != bridge.Pending {
		t.Fatal("a refused answer settled the question")
	}
	first, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("skip"))
	if err != nil || first.State != bridge.Answered || first.Answer.By != (bridge.Responder{ID: "@dana:ex.org", DisplayName: "Dana"}) || first.Answer.Via != bridge.ViaAPI {
		t.Fatalf("answered: %+v, %v", first.Answer, err)
	}
	late, err := b.Answer(b.ctx, "@sam:ex.org", q.ID, pick("run_them"))
	if err != nil || late.Answer == nil || late.Answer.By.ID != "@dana:ex.org" {
		t.Errorf("late: %+v, %v", late.Answer, err)
	}
	_, err = b.Answer(b.ctx, "@stranger:ex.org", q.ID, pick("run_them"))
	b.code(err, bridge.CodeNotEligible) // who asks is looked at before whether they are late
	b.work()
	if said := b.room.said(); said[len(said)-1] != fmt.Sprintf("settled answered %s/settled/0", q.ID) {
		t.Errorf("the room was told %q", said)
	}
}

// TestOfManyAnswersOneWins has 50 people answer at once: one answer is stored, and everybody gets that one.
func TestOfManyAnswersOneWins(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.room.rights[bridge.UserID(fmt.Sprintf("@u%d:ex.org", i))] = bridge.Rights{Member: true}
	}
	q := b.ask(b.question())
	got := make([]bridge.Question, 50)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			var err error
			if got[i], err = b.Answer(b.ctx, bridge.UserID(fmt.Sprintf("@u%d:ex.org", i)), q.ID, pick([]bridge.OptionID{"yes", "skip"}[i%2])); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stored := b.get(q.ID).Answer
	for i, g := range got {
		if g.Answer == nil || g.Answer.By != stored.By || g.Answer.Items[0].Selected[0] != stored.Items[0].Selected[0] {
			t.Errorf("caller %d got %+v, stored is %+v", i, g.Answer, stored)
		}
	}
	effects, err := b.store.ClaimEffects(b.ctx, b.clock.Now(), time.Minute, 100)
	if err != nil || len(effects) != 1 || effects[0].Kind != bridge.EffectSettled {
		t.Errorf("owed: %+v, %v", effects, err)
	}
}

func TestLateIsExpired(t *testing.T) {
	b := newBench(t)
	q := b.ask(b.question())
	b.clock.Move(time.Hour) // exactly the deadline, and no sweep ran
	got, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("yes"))
	if err != nil || got.State != bridge.Expired || got.Answer != nil {
		t.Errorf("at its deadline: %s, %+v, %v", got.State, got.Answer, err)
	}
}

// TestApprovalsReadRightsAnew shows that a copy of the room's state is good enough for a choice, and not for an approval.
func TestApprovalsReadRightsAnew(t *testing.T) {
	b := newBench(t)
	b.room.joined = map[bridge.UserID]bridge.Rights{"@sam:ex.org": {}} // the copy has not heard of it that they left
	q := b.ask(b.question())
	_, err := b.Answer(b.ctx, "@sam:ex.org", q.ID, pick("yes"))
	b.code(err, bridge.CodeNotEligible)
	if got, err := b.Answer(b.ctx, "@sam:ex.org", q.ID, pick("skip")); err != nil || got.State != bridge.Answered {
		t.Errorf("by the copy: %s, %v", got.State, err)
	}
	q = b.ask(b.question())
	b.room.joined["@dana:ex.org"], b.room.unread = bridge.Rights{}, errors.New("the homeserver is away")
	for _, unreadable := range []bool{false, true} { // as a gatekeeper may say besides its error
		b.room.joined["@dana:ex.org"] = bridge.Rights{Unreadable: unreadable}
		_, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("yes"))
		if again := new(bridge.ErrRetry); !errors.As(err, &again) || bridge.CodeOf(err) != "" || b.get(q.ID).State != bridge.Pending {
			t.Errorf("while the rights cannot be read: %v", err)
		}
	}
}

func TestPendingForAPerson(t *testing.T) {
	b := newBench(t)
	open := b.ask(b.question())
	b.clock.Move(time.Second)
	forSam := b.question()
	forSam.Scope, forSam.Target = bridge.Direct, "@sam:ex.org"
	b.ask(forSam)
	b.clock.Move(time.Second)
	done := b.ask(b.question())
	b.reply("@dana:ex.org", done.ID, "2")
	overdue := b.question()
	overdue.ExpiresAt = b.clock.Now().Add(time.Second)
	b.ask(overdue)
	b.clock.Move(time.Minute)
	ids := func(who bridge.UserID, limit int) (ids []bridge.QuestionID, more bool) {
		all, next, err := b.PendingFor(b.ctx, bridge.PendingListing{Who: who, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			ids = append(ids, q.ID)
		}
		return ids, next != ""
	}
	for _, c := range []struct {
		who   bridge.UserID
		limit int
		want  []bridge.QuestionID
		more  bool
	}{
		{"@dana:ex.org", 10, []bridge.QuestionID{open.ID}, false},
		{"@sam:ex.org", 10, []bridge.QuestionID{forSam.ID, open.ID}, false},
		{"@sam:ex.org", 1, []bridge.QuestionID{forSam.ID}, true},
		{"@stranger:ex.org", 10, nil, false},
		{"@bot:ex.org", 10, nil, false},
	} {
		if got, more := ids(c.who, c.limit); fmt.Sprint(got) != fmt.Sprint(c.want) || more != c.more {
			t.Errorf("%s, at most %d: %v, more: %v", c.who, c.limit, got, more)
		}
	}
}

// TestWhatIsNotSaidOfASignInIsWeak: a surface that does not say how somebody signed in gets no approval past.
func TestWhatIsNotSaidOfASignInIsWeak(t *testing.T) {
	b := newBench(t)
	for _, via := range []bridge.Via{"", bridge.ViaOpenID, bridge.ViaStructured, "new"} {
		q, err := b.about("s"+string(via), 1, "D1", nil)
		if err != nil {
			t.Fatal(err)
		}
		c := pick("yes")
		c.Via, c.Subject = via, &q.Subject.SubjectRef
		_, err = b.Answer(b.ctx, "@dana:ex.org", q.ID, c)
		b.code(err, bridge.CodeWeakSignIn)
		if b.get(q.ID).State != bridge.Pending {
			t.Errorf("%q: it settled", via)
		}
		c.Items[0].Selected[0] = "skip"
		if got, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, c); err != nil || got.Answer.Via != bridge.ViaOpenID {
			t.Errorf("%q: %+v, %v", via, got.Answer, err)
		}
	}
}

// TestPendingPages goes through a person's questions page by page, while more are asked and some are for somebody else.
func TestPendingPages(t *testing.T) {
	b := newBench(t)
	want := map[bridge.QuestionID]bool{}
	for i := range 450 { // more than are looked at together
		b.clock.Move(time.Duration(i%2) * time.Millisecond)
		q := b.question()
		if i%9 > 0 {
			q.Scope, q.Target = bridge.Direct, "@sam:ex.org"
		}
		if b.ask(q); q.Scope == bridge.Room {
			want[q.ID] = true
		}
	}
	cursor, last := "", time.Time{}
	for page := 1; ; page++ {
		found, next, err := b.PendingFor(b.ctx, bridge.PendingListing{Who: "@dana:ex.org", Limit: 30, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range found {
			if !want[q.ID] || page > 1 && q.CreatedAt.After(last) {
				t.Fatalf("page %d has %s of %s", page, q.ID, q.CreatedAt)
			}
			delete(want, q.ID)
			last = q.CreatedAt
		}
		if cursor = next; next == "" {
			if page != 2 {
				t.Errorf("%d pages", page)
			}
			break
		}
		b.clock.Move(time.Second)
		b.ask(b.question())
	}
	if len(want) > 0 {
		t.Errorf("no page has %v", want)
	}
	_, _, err := b.PendingFor(b.ctx, bridge.PendingListing{Who: "@dana:ex.org", Limit: 30, Cursor: "x"})
	if bridge.CodeOf(err) != bridge.CodeInvalidCursor {
		t.Errorf("a cursor that was not given out: %v", err)
	}
}

// notary certifies with the words that an approval has.
type notary struct{ fails error }

func (n notary) Certify(q bridge.Question, a bridge.Answer) ([]byte, error) {
	return fmt.Appendf(nil, "%s approved %s at %s", a.By.ID, q.Subject.Digest, a.At.Format(time.RFC3339)), n.fails
}

func TestOnlyApprovalsOfASubjectAreCertified(t *testing.T) {
	b := newBench(t)
	b.Certifier = notary{}
	bound := func() (bridge.Question, bridge.Choice) {
		q := b.question()
		q.Items[0].Options[1].Meaning = bridge.Reject
		ref := bridge.SubjectRef{ID: "s" + string(q.ID), Digest: "D1", Schema: "x/v1", Revision: 1}
		q.Subject = &bridge.Subject{SubjectRef: ref, Complete: true}
		c := pick("yes")
		c.Subject = &ref
		return b.ask(q), c
	}
	q, approve := bound()
	got, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, approve)
	if err != nil || string(got.Answer.Certificate) != "@dana:ex.org approved D1 at 2026-11-01T12:00:00Z" {
		t.Errorf("approved: %q, %v", got.Answer.Certificate, err)
	}
	if stored := b.get(q.ID).Answer; string(stored.Certificate) != string(got.Answer.Certificate) {
		t.Errorf("stored is %q", stored.Certificate)
	}
	q, _ = bound()
	if got, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, pick("skip")); err != nil || got.Answer.Certificate != nil {
		t.Errorf("declined: %+v, %v", got.Answer, err)
	}
	plain := b.ask(b.question())
	if got, err := b.Answer(b.ctx, "@dana:ex.org", plain.ID, pick("yes")); err != nil || got.Answer.Certificate != nil {
		t.Errorf("approved without a subject: %+v, %v", got.Answer, err)
	}
	b.Certifier = notary{errors.New("no key")}
	q, approve = bound()
	if _, err := b.Answer(b.ctx, "@dana:ex.org", q.ID, approve); err == nil || b.get(q.ID).State != bridge.Pending {
		t.Errorf("an approval that cannot be certified: %v", err)
	}
}
