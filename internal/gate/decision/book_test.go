package decision_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	ada bridge.UserID = "@ada:ex.org"
	bob bridge.UserID = "@bob:ex.org"
)

// desk is a book over a SQLite file, and a collector that uses it.
type desk struct {
	*decision.Book
	t         *testing.T
	path      string
	store     *sqlstore.Store
	clock     *clocktest.Clock
	audited   []bridge.AuditRecord
	collector *collector.Collector
}

// Record implements [bridge.Auditor].
func (d *desk) Record(_ context.Context, r bridge.AuditRecord) { d.audited = append(d.audited, r) }

// quiet has nobody to tell anything.
type quiet struct{}

func (quiet) Announce(context.Context, bridge.Announcement) error { return nil }

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "q.db"), clock: clocktest.At(start)}
	var err error
	d.store, err = sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: d.path, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.store.Close() })
	d.Book = decision.New(decision.Parts{
		Store: d.store, Secret: decision.Secret{7}, Clock: d.clock, Auditor: d,
		Admin: func(who bridge.UserID) bool { return who == "@root:ex.org" },
	})
	d.collector = collector.New(collector.Parts{
		Store: d.store, Decisions: d.Book, Announcer: quiet{}, Clock: d.clock, Endpoint: func(id gate.QueryID) string { return "https://ex.org/" + string(id) },
	})
	return d
}

func (d *desk) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func scope(changes ...func(*collector.Scope)) collector.Scope {
	s := collector.Scope{
		Agent: "agent", Requester: "Research", Purpose: "a study", Principal: collector.Principal{Kind: "user", ID: "usr_pairwise_Q7c", Scope: "pairwise"},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func (d *desk) recall(s collector.Scope) collector.Decision {
	d.t.Helper()
	got, err := d.Recall(d.t.Context(), s)
	d.ok(err)
	return got
}

// decides remembers what somebody decided who was asked at a revision.
func (d *desk) decides(s collector.Scope, who bridge.UserID, approved bool, revision int64) {
	d.t.Helper()
	d.clock.Move(time.Minute)
	d.ok(d.Remember(d.t.Context(), collector.Made{
		Scope: s, Gate: "g_1", Approved: approved, By: who, Revision: revision, At: d.clock.Now(),
	}))
}

// expect wants a word for what is remembered, and its revision.
func (d *desk) expect(s collector.Scope, stands string, revision int64) collector.Decision {
	d.t.Helper()
	got := d.recall(s)
	word := "nothing"
	switch {
	case got.ID != "" && got.Approved:
		word = "approved"
	case got.ID != "":
		word = "declined"
	}
	if word != stands || got.Revision != revision {
		d.t.Errorf("%s at %d, want %s at %d", word, got.Revision, stands, revision)
	}
	return got
}

// A decision is remembered under its agent's requester and purpose and its principal, with all that these are made of.
func TestRemembered(t *testing.T) {
	d := newDesk(t)
	d.expect(scope(), "nothing", 0)
	d.decides(scope(), ada, true, 0)
	d.expect(scope(), "approved", 1)
	for name, other := range map[string]func(*collector.Scope){
		"agent": func(s *collector.Scope) { s.Agent = "other" }, "requester": func(s *collector.Scope) { s.Requester = "other" },
		"purpose": func(s *collector.Scope) { s.Purpose = "other" }, "kind": func(s *collector.Scope) { s.Principal.Kind = "group" },
		"id": func(s *collector.Scope) { s.Principal.ID += "x" }, "id scope": func(s *collector.Scope) { s.Principal.Scope = "local" },
		"ends": func(s *collector.Scope) { s.Principal.Kind, s.Principal.ID = "userusr", "_pairwise_Q7c" },
	} {
		if got := d.recall(scope(other)); got != (collector.Decision{}) {
			t.Errorf("another %s: %+v", name, got)
		}
	}
	d.decides(scope(), ada, false, 1)
	d.expect(scope(), "declined", 2)
}

// Whom a decision is about is in no file, and not to be told of two decisions without the database's secret.
func TestPrincipalsAreOpaque(t *testing.T) {
	d := newDesk(t)
	d.decides(scope(), ada, true, 0)
	for _, other := range []func(*collector.Scope){
		func(s *collector.Scope) { s.Purpose = "another study" }, func(s *collector.Scope) { s.Requester = "Others" },
		func(s *collector.Scope) { s.Agent = "other" },
	} {
		d.decides(scope(other), ada, true, 0)
	}
	all, _, err := d.OfPerson(t.Context(), ada, decision.Listing{Limit: 10})
	d.ok(err)
	opaque := map[decision.Opaque]bool{}
	for _, one := range all {
		opaque[one.Principal] = true
	}
	if len(all) != 4 || len(opaque) != 4 {
		t.Errorf("%d decisions are about %d principals", len(all), len(opaque))
	}
	d.ok(d.store.Checkpoint(t.Context()))
	for _, suffix := range []string{"", "-wal"} {
		file, err := os.ReadFile(d.path + suffix)
		d.ok(err)
		if bytes.Contains(file, []byte("Q7c")) {
			t.Errorf("the principal is in the file%s", suffix)
		}
	}
	d.Secret = decision.Secret{8}
	d.expect(scope(), "nothing", 0)
}

// What was asked for before something else changed says nothing about what the person wants now: approve, decline,
// approve in any order leaves nothing to answer for them.
func TestRevisions(t *testing.T) {
	for name, c := range map[string]struct {
		answers  []bool // to exchanges that were all opened before the first
		stands   string
		revision int64
	}{
		"one":                       {[]bool{true}, "approved", 1},
		"the same twice":            {[]bool{true, true}, "approved", 1},
		"approve, decline":          {[]bool{true, false}, "nothing", 2},
		"decline, approve":          {[]bool{false, true}, "nothing", 2},
		"approve, decline, approve": {[]bool{true, false, true}, "nothing", 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, approved := range c.answers {
				d.decides(scope(), ada, approved, 0)
			}
			d.expect(scope(), c.stands, c.revision)
			d.decides(scope(), ada, false, c.revision)
			d.expect(scope(), "declined", c.revision+1)
		})
	}
}

// What was asked for while something stood is not stored once even its revision is forgotten.
func TestForgottenRevision(t *testing.T) {
	d := newDesk(t)
	d.decides(scope(), ada, true, 3)
	d.expect(scope(), "nothing", 0)
}

// Of exchanges that are answered at once one is stored.
func TestRevisionRaces(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			m := collector.Made{Scope: scope(), Gate: collector.GateID(fmt.Sprint("g_", n)), Approved: true, By: ada, At: start}
			if err := d.Remember(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d.expect(scope(), "approved", 1)
}

// Revoking moves the revision on and keeps it: who was asked before answers for nothing after it.
func TestRevoke(t *testing.T) {
	d := newDesk(t)
	d.decides(scope(), ada, true, 0)
	id := decision.ID(d.expect(scope(), "approved", 1).ID)
	revoke := func(v decision.Visitor) error {
		_, err := d.Revoke(t.Context(), id, v)
		return err
	}
	for _, v := range []decision.Visitor{{User: bob, Via: bridge.ViaAPI}, {Agent: "other"}, {}, {User: "@root:ex.org", Via: bridge.ViaOpenID}} {
		if err := revoke(v); bridge.CodeOf(err) != decision.CodeUnknown {
			t.Errorf("%+v: %v", v, err)
		}
	}
	if _, err := d.Revoke(t.Context(), "d22222", decision.Visitor{User: ada}); bridge.CodeOf(err) != decision.CodeUnknown {
		t.Errorf("an unknown id: %v", err)
	}
	d.expect(scope(), "approved", 1)
	d.ok(revoke(decision.Visitor{User: ada, Via: bridge.ViaOpenID}))
	d.expect(scope(), "nothing", 2)
	if err := revoke(decision.Visitor{User: ada}); bridge.CodeOf(err) != decision.CodeUnknown {
		t.Errorf("revoked twice: %v", err)
	}
	d.decides(scope(), ada, true, 1) // asked before it was revoked
	d.expect(scope(), "nothing", 2)
	for _, v := range []decision.Visitor{{Agent: "agent"}, {User: "@root:ex.org", Via: bridge.ViaAPI}} {
		d.decides(scope(), "", true, d.recall(scope()).Revision) // whoever made it, no agent and no person is nobody
		for _, nobody := range []decision.Visitor{{Agent: "other"}, {}} {
			if _, err := d.Revoke(t.Context(), id, nobody); bridge.CodeOf(err) != decision.CodeUnknown {
				t.Errorf("%+v: %v", nobody, err)
			}
		}
		d.ok(revoke(v))
	}
	d.expect(scope(), "nothing", 6)
	if len(d.audited) != 3 || d.audited[0].Action != bridge.AuditDecisionRevoked || d.audited[0].User != ada || d.audited[0].Agent != "agent" ||
		!d.audited[0].At.Equal(d.clock.Now().Add(-3*time.Minute)) {
		t.Errorf("audited %+v", d.audited)
	}
}

// Everybody's decisions are for admins who have shown well enough who they are.
func TestOfAll(t *testing.T) {
	d := newDesk(t)
	d.decides(scope(), ada, true, 0)
	for v, want := range map[decision.Visitor]bridge.Code{
		{User: "@root:ex.org", Via: bridge.ViaAPI}: "", {User: "@root:ex.org", Via: bridge.ViaOpenID}: bridge.CodeWeakSignIn,
		{User: ada, Via: bridge.ViaAPI}: bridge.CodeAdminsOnly, {}: bridge.CodeAdminsOnly,
	} {
		all, _, err := d.OfAll(t.Context(), v, decision.Listing{Limit: 10})
		if bridge.CodeOf(err) != want || want == "" && (err != nil || len(all) != 1) {
			t.Errorf("%+v: %d decisions, %v", v, len(all), err)
		}
	}
	d.OpenIDMayApprove = true
	if _, _, err := d.OfAll(t.Context(), decision.Visitor{User: "@root:ex.org", Via: bridge.ViaOpenID}, decision.Listing{Limit: 10}); err != nil {
		t.Errorf("where OpenID may approve: %v", err)
	}
}

// What fails in the transaction of whoever remembers is not remembered.
func TestRememberJoins(t *testing.T) {
	d := newDesk(t)
	failure := errors.New("no")
	err := d.store.Atomically(t.Context(), func(ctx context.Context) error {
		if err := d.Remember(ctx, collector.Made{Scope: scope(), Gate: "g_1", Approved: true, By: ada, At: start}); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	d.expect(scope(), "nothing", 0)
}
