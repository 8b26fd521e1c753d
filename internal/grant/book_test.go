package grant_test

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/grant"
)

// Of all answers, one that approves for a run or always is a grant, with everything that it is about.
func TestWhatIsGranted(t *testing.T) {
	r := newRig(t)
	for _, option := range []bridge.OptionID{"once", "plain", "later", "no"} {
		if all := r.answer(r.ask(), alice, option); len(all) != 0 {
			t.Errorf("%s granted %v", option, all)
		}
	}
	q := r.ask()
	for option, who := range map[bridge.OptionID]bridge.UserID{"run": alice, "always": carol} {
		g := r.given(who, option)
		until, option := start.Add(7*24*time.Hour), g.Option
		want := bridge.Granted{Grant: bridge.Grant(option.ID), Option: option, Subject: &q.Subject.SubjectRef, Run: "run_12", By: who, At: start, Until: &until}
		if !reflect.DeepEqual(g.Granted, want) || g.Option.Label == "" {
			t.Errorf("got  %+v\nwant %+v", g.Granted, want)
		}
		if g.State(start) != grant.Active || g.State(until.Add(-1)) != grant.Active || g.State(until) != grant.Lapsed {
			t.Errorf("%+v lapses elsewhen", g)
		}
	}
	if g := r.given(alice, "run", forEver); g.Subject != nil || g.Until != nil || g.Run != "" || g.State(start.AddDate(100, 0, 0)) != grant.Active {
		t.Errorf("of nothing exact: %+v", g)
	}
}

// A question that ends in another way grants nothing, and one that is answered stays answered by whom it was.
func TestOnlyAnAnswerGrants(t *testing.T) {
	r := newRig(t)
	cancelled, overdue := r.ask(), r.ask()
	_, err := r.engine.Cancel(t.Context(), "deployer", cancelled.ID)
	r.ok(err)
	r.clock.Move(2 * time.Hour)
	_, err = r.engine.Expire(t.Context(), 10)
	r.ok(err)
	if got, err := r.store.Question(t.Context(), overdue.ID); err != nil || got.State != bridge.Expired {
		t.Fatalf("%v %v", got.State, err)
	}
	if all, _, err := r.book.List(t.Context(), grant.Listing{Asker: "deployer", Limit: 9}); err != nil || len(all) != 0 {
		t.Errorf("granted %v %v", all, err)
	}
}

// Of many who answer at once, the one whose answer stands has granted, and once.
func TestOneOfManyGrants(t *testing.T) {
	r := newRig(t)
	q := r.ask()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"run"}}}, Via: bridge.ViaAPI, Subject: &q.Subject.SubjectRef}
			if _, err := r.engine.Answer(t.Context(), []bridge.UserID{alice, bob}[i%2], q.ID, c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	granted, _, err := r.book.List(t.Context(), grant.Listing{Asker: "deployer", Limit: 9})
	r.ok(err)
	stands, err := r.store.Question(t.Context(), q.ID)
	r.ok(err)
	if len(granted) != 1 || granted[0].By != stands.Answer.By.ID {
		t.Errorf("granted %+v, by %s", granted, stands.Answer.By.ID)
	}
}

// The bridge answers nothing from a grant: the same thing asked again waits for a person.
func TestAGrantAnswersNothing(t *testing.T) {
	r := newRig(t)
	r.given(carol, "always", forEver)
	again := r.ask(forEver)
	if got, err := r.store.Question(t.Context(), again.ID); err != nil || got.State != bridge.Pending || got.Answer != nil {
		t.Errorf("%v %v", got, err)
	}
}

// Whoever could have given a grant may take it back, nobody else, and it is told who did and when.
func TestWhoMayRevoke(t *testing.T) {
	r := newRig(t)
	toAlice := func(q *bridge.Question) { q.Scope, q.Target = bridge.Direct, alice }
	forgotten := r.given(alice, "run", toAlice)
	q := forgotten.Question
	if q.Target = bridge.Forgotten; (grant.Grant{Question: q}).Revocable(bob, bridge.Rights{Member: true}) != nil {
		t.Error("nobody takes back what was for somebody who is forgotten")
	}
	for _, tt := range []struct {
		name string
		who  bridge.UserID
		g    grant.Grant
		code bridge.Code
	}{
		{"whoever gave it", alice, r.given(alice, "run"), ""},
		{"another member", bob, r.given(alice, "run"), ""},
		{"an admin, where one is required", carol, r.given(carol, "always"), ""},
		{"no admin, where one is required", alice, r.given(carol, "always"), bridge.CodeAdminsOnly},
		{"the asker", deplo, r.given(alice, "run"), bridge.CodeNotEligible},
		{"a machine", relay, r.given(alice, "run"), bridge.CodeNotEligible},
		{"somebody who is not there", "@dave:example.org", r.given(alice, "run"), grant.CodeUnknown},
		{"somebody else than whom it was for", bob, r.given(alice, "run", toAlice), bridge.CodeNotEligible},
		{"whom it was for", alice, r.given(alice, "run", toAlice), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.clock.Move(time.Minute)
			told, owed, records := len(r.wires.told), r.owed, len(r.audit.records)
			g, err := r.revoke(tt.g, tt.who)
			if tt.code != "" {
				r.refused(tt.g, err, tt.code)
				if len(r.wires.told) != told || r.owed != owed || len(r.audit.records) != records {
					t.Error("it was told")
				}
				return
			}
			r.ok(err)
			if g.RevokedBy != tt.who || g.RevokedAt == nil || !g.RevokedAt.Equal(r.clock.Now()) || !reflect.DeepEqual(g, r.stored(g)) {
				t.Errorf("got %+v", g)
			}
			if len(r.wires.told) != told+1 || !reflect.DeepEqual(r.wires.told[told], g) || r.owed != owed+1 {
				t.Errorf("told %+v", r.wires.told[told:])
			}
			want := bridge.AuditRecord{At: r.clock.Now(), Action: bridge.AuditGrantRevoked, Question: g.Question.ID, Conversation: room, Agent: "deployer", User: tt.who, Via: bridge.ViaAPI}
			if got := r.audit.records[records:]; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

// Somebody who signed in with a token that others may hold takes back what needs no admin, unless the operator trusts it.
func TestAWeakSignInRevokes(t *testing.T) {
	r := newRig(t)
	weakly := func(g grant.Grant) error {
		_, err := r.book.Revoke(t.Context(), grant.Revocation{Grant: g.ID, By: carol, Via: bridge.ViaOpenID})
		return err
	}
	r.ok(weakly(r.given(alice, "run")))
	g := r.given(carol, "always")
	r.refused(g, weakly(g), bridge.CodeWeakSignIn)
	r.book.OpenIDMayApprove = true
	r.ok(weakly(g))
}

// What does not stand any more comes back as it is, and nothing is told again.
func TestRevokingAgain(t *testing.T) {
	r := newRig(t)
	g, lapsed := r.given(alice, "run"), r.given(alice, "run")
	first, err := r.revoke(g, bob)
	r.ok(err)
	r.clock.Move(time.Hour)
	again, err := r.revoke(g, alice)
	r.ok(err)
	if !reflect.DeepEqual(again, first) {
		t.Errorf("again: %+v", again)
	}
	r.clock.Move(7 * 24 * time.Hour)
	got, err := r.revoke(lapsed, alice)
	r.ok(err)
	if got.State(r.clock.Now()) != grant.Lapsed || got.RevokedAt != nil || len(r.wires.told) != 1 || len(r.audit.records) != 1 {
		t.Errorf("lapsed: %+v, told %d", got, len(r.wires.told))
	}
	if _, err := r.revoke(grant.Grant{ID: "gzzzzz"}, alice); bridge.CodeOf(err) != grant.CodeUnknown {
		t.Errorf("another: %v", err)
	}
}

// Of many who take a grant back at once one does, and all learn who.
func TestOneOfManyRevokes(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	var by [20]bridge.UserID
	var failed atomic.Int32
	var all sync.WaitGroup
	for i := range by {
		all.Go(func() {
			got, err := r.revoke(g, []bridge.UserID{alice, bob, carol}[i%3])
			if by[i] = got.RevokedBy; err != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	for _, who := range by {
		if who != r.stored(g).RevokedBy {
			t.Errorf("one was told that %q did", who)
		}
	}
	if failed.Load() > 0 || r.owed != 1 || len(r.audit.records) != 1 {
		t.Errorf("%d failed, owed %d times", failed.Load(), r.owed)
	}
}

// A grant that cannot be told of stands: both are stored, or neither.
func TestRevokedAndToldTogether(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	r.wires.fails = errors.New("the disk is full")
	if _, err := r.revoke(g, alice); !errors.Is(err, r.wires.fails) {
		t.Errorf("got %v", err)
	}
	if got := r.stored(g); got.RevokedAt != nil || r.owed != 0 || len(r.audit.records) != 0 {
		t.Errorf("it is %+v", got)
	}
}

// Rights that cannot be read refuse nobody, and a copy that is behind keeps nobody out.
func TestRightsAreReadAnew(t *testing.T) {
	r := newRig(t)
	g := r.given(alice, "run")
	r.people.unread = errors.New("the homeserver is down")
	var again *bridge.ErrRetry
	if _, err := r.revoke(g, alice); !errors.As(err, &again) || r.stored(g).RevokedAt != nil {
		t.Errorf("got %v", err)
	}
	if _, _, err := r.book.Standing(t.Context(), alice, grant.Listing{Limit: 9}); !errors.As(err, &again) {
		t.Errorf("the list: %v", err)
	}
	r.people.unread, r.people.late = nil, bob
	_, err := r.revoke(g, bob)
	r.ok(err)
}

// A person sees what stands in their rooms, whoever gave it; one who is in none sees nothing.
func TestStanding(t *testing.T) {
	r := newRig(t)
	in := func(conv bridge.ConversationID) func(*bridge.Question) {
		return func(q *bridge.Question) { q.Conversation = conv }
	}
	stands, revoked := r.given(alice, "run"), r.given(alice, "run")
	_, err := r.revoke(revoked, alice)
	r.ok(err)
	other := r.ask(in("!secret:example.org"))
	r.ok(r.book.Settling(t.Context(), answered(other)))
	for who, want := range map[bridge.UserID]string{bob: string(stands.ID), "@dave:example.org": ""} {
		page, next, err := r.book.Standing(t.Context(), who, grant.Listing{Limit: 9})
		r.ok(err)
		got := ""
		for _, g := range page {
			got += string(g.ID)
		}
		if got != want || next != "" {
			t.Errorf("%s sees %q, want %q", who, got, want)
		}
	}
}

func answered(q bridge.Question) bridge.Question {
	q.State, q.Answer = bridge.Answered, &bridge.Answer{
		Choice:  bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"run"}}}},
		Meaning: bridge.Approve, Grant: bridge.GrantRun, By: bridge.Responder{ID: alice}, At: start,
	}
	return q
}

// A grant is kept as long as it stands, and 90 days after; one of a run goes with its question.
func TestHowLongGrantsAreKept(t *testing.T) {
	r := newRig(t)
	day := 24 * time.Hour
	withEnd, always, run, revoked := r.given(carol, "always"), r.given(carol, "always", forEver), r.given(alice, "run", forEver), r.given(carol, "always", forEver)
	r.clock.Move(100 * day)
	_, err := r.revoke(revoked, carol)
	r.ok(err)
	for _, tt := range []struct {
		g     grant.Grant
		until time.Time
	}{
		{withEnd, start.Add(97 * day)}, {run, start.Add(90 * day)}, {revoked, start.Add(190 * day)},
		{always, grant.Never},
	} {
		if got := r.stored(tt.g).Question.ForgetAfter; !got.Equal(tt.until) {
			t.Errorf("%s %s is kept until %s, want %s", tt.g.Granted.Grant, tt.g.ID, got, tt.until)
		}
	}
}

func TestParseID(t *testing.T) {
	for typed, want := range map[string]bool{
		"g7k3pd": true, "G7K3PD": true, "g7k3p": false, "g7k3pdd": false, "d7k3pd": false, "7k3pdg": false, "g7k3p0": false, "g7k3pl": false,
		"g7k3p!": false, "": false, "g": false, "ｇ7k3pd": false, "g7k3é": false,
	} {
		if id, ok := grant.ParseID(typed); ok != want || ok && id != "g7k3pd" {
			t.Errorf("%q: %s %v", typed, id, ok)
		}
	}
}

// Ids are drawn again where one is taken, and each could be typed.
func TestIDs(t *testing.T) {
	r := newRig(t)
	seen := map[grant.ID]bool{}
	for range 50 {
		g := r.given(alice, "run")
		if id, ok := grant.ParseID(string(g.ID)); !ok || id != g.ID || seen[g.ID] {
			t.Errorf("an id is %q", g.ID)
		}
		seen[g.ID] = true
	}
	taken := &takenTwice{Store: r.store}
	book := grant.New(grant.Parts{Store: taken, Gatekeeper: r.people, Clock: r.clock})
	r.ok(book.Settling(t.Context(), answered(r.ask())))
	if taken.tries != 3 {
		t.Errorf("%d tries", taken.tries)
	}
}
