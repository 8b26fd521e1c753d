package grant_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

const (
	room  bridge.ConversationID = "!ops:example.org"
	alice bridge.UserID         = "@alice:example.org"
	bob   bridge.UserID         = "@bob:example.org"
	carol bridge.UserID         = "@carol:example.org" // is a workspace admin
	deplo bridge.UserID         = "@deployer:example.org"
	relay bridge.UserID         = "@relay:example.org"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// people is who is in the room.
type people struct {
	mu     sync.Mutex
	rights map[bridge.UserID]bridge.Rights
	late   bridge.UserID // has joined, and only a fresh look says so
	// elsewhere is who is in every other room.
	elsewhere map[bridge.UserID]bridge.Rights
	unread    error
}

func (p *people) Rights(_ context.Context, q bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unread != nil {
		return bridge.Rights{Unreadable: true}, p.unread
	}
	switch {
	case q.Conversation != room:
		return p.elsewhere[who], nil
	case who == p.late && !fresh:
		return bridge.Rights{}, nil
	}
	r := p.rights[who]
	if q.ID == "" { // apart from any question, nobody is its asker or an admin of its board
		r.IsAsker, r.WorkspaceAdmin = false, false
	}
	return r, nil
}

func (p *people) Joined(_ context.Context, who bridge.UserID) ([]bridge.ConversationID, error) {
	if p.unread != nil {
		return nil, p.unread
	}
	if p.rights[who].Member {
		return []bridge.ConversationID{room, "!dev:example.org"}, nil
	}
	return nil, nil
}

func (p *people) Alone(context.Context, bridge.ConversationID) (bool, error) { return false, nil }

// wires hears what is told, in the transaction that owes it.
type wires struct {
	mu    sync.Mutex
	told  []grant.Grant
	fails error
}

func (w *wires) GrantRevoked(_ context.Context, g grant.Grant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, g)
	return w.fails
}

type log struct{ records []bridge.AuditRecord }

func (l *log) Record(_ context.Context, r bridge.AuditRecord) { l.records = append(l.records, r) }

type nobody struct{}

func (nobody) Notify(bridge.QuestionID) {}

// rig is a store, an engine and the book as its feature.
type rig struct {
	*testing.T
	store   *sqlstore.Store
	engine  *bridge.Engine
	book    *grant.Book
	people  *people
	wires   *wires
	audit   *log
	clock   *clocktest.Clock
	owed    int
	said    int
	doubted bool // whether what is said comes from a device that is trusted too little
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := &rig{T: t, store: store, wires: &wires{}, audit: &log{}, clock: clocktest.At(start), people: &people{rights: map[bridge.UserID]bridge.Rights{
		alice: {Member: true}, bob: {Member: true}, carol: {Member: true, WorkspaceAdmin: true}, deplo: {Member: true, IsAsker: true}, relay: {Member: true, Machine: true},
	}}}
	r.book = grant.New(grant.Parts{
		Store: store, Gatekeeper: r.people, Events: r.wires, Clock: r.clock, Auditor: r.audit, Owed: func() { r.owed++ },
	})
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: store, Gatekeeper: r.people, Notifier: nobody{}, Clock: r.clock, Features: []bridge.Feature{r.book},
		Commanders: []bridge.Commander{r.book}, Unthreaded: bridge.UnthreadedNever,
	})
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// ask stores a question about an operation that lapses in a week.
func (r *rig) ask(changes ...func(*bridge.Question)) bridge.Question {
	r.Helper()
	now, lapses := r.clock.Now(), start.Add(7*24*time.Hour)
	id := bridge.NewQuestionID()
	q := bridge.Question{
		ID: id, Asker: "deployer", AskedBy: "Deployer", Conversation: room, Dialect: bridge.V2, ElicitationID: string(id), RunID: "run_12",
		Items: []bridge.Item{{Prompt: "Deploy?", Options: []bridge.Option{
			{ID: "once", Label: "Allow once", Meaning: bridge.Approve, Grant: bridge.GrantOnce},
			{ID: "run", Label: "Allow for this run", Meaning: bridge.Approve, Grant: bridge.GrantRun},
			{ID: "always", Label: "Always allow", Meaning: bridge.Approve, Grant: bridge.GrantAlways, Requires: bridge.RequiresWorkspaceAdmin},
			{ID: "plain", Label: "Allow", Meaning: bridge.Approve},
			{ID: "later", Label: "Later", Meaning: bridge.Defer, Grant: bridge.GrantRun},
			{ID: "no", Label: "No", Meaning: bridge.Reject, Grant: bridge.GrantAlways},
		}}},
		Subject: &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "op", Digest: "sha256:x", Schema: "v1", Revision: 3}, LapsesAt: &lapses, Complete: true},
		Scope:   bridge.Room, CreatedAt: now, ExpiresAt: now.Add(time.Hour), ForgetAfter: now.Add(90 * 24 * time.Hour),
		State: bridge.Pending, Delivery: bridge.Delivery{State: bridge.Posted, Message: "$posted"},
	}
	for _, change := range changes {
		change(&q)
	}
	r.ok(r.store.CreateQuestion(r.Context(), q))
	return q
}

func forEver(q *bridge.Question) { q.Subject, q.RunID = nil, "" }

// answer settles a question by an option, and gives what was granted for longer than once.
func (r *rig) answer(q bridge.Question, who bridge.UserID, option bridge.OptionID) []grant.Grant {
	r.Helper()
	c := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{option}}}, Via: bridge.ViaAPI}
	if q.Subject != nil {
		c.Subject = &q.Subject.SubjectRef
	}
	_, err := r.engine.Answer(r.Context(), who, q.ID, c)
	r.ok(err)
	all, _, err := r.book.List(r.Context(), grant.Listing{Asker: q.Asker, Limit: 200})
	r.ok(err)
	return slices.DeleteFunc(all, func(g grant.Grant) bool { return g.Question.ID != q.ID })
}

// given is the grant of a new question that somebody answered by an option.
func (r *rig) given(who bridge.UserID, option bridge.OptionID, changes ...func(*bridge.Question)) grant.Grant {
	r.Helper()
	all := r.answer(r.ask(changes...), who, option)
	if len(all) != 1 {
		r.Fatalf("%s granted %v", option, all)
	}
	return all[0]
}

// revoke takes a grant back over HTTP, with a token of the person's own.
func (r *rig) revoke(g grant.Grant, who bridge.UserID) (grant.Grant, error) {
	return r.book.Revoke(r.Context(), grant.Revocation{Grant: g.ID, By: who, Via: bridge.ViaAPI})
}

// stored reads a grant as it stands.
func (r *rig) stored(g grant.Grant) grant.Grant {
	r.Helper()
	got, err := r.store.Grant(r.Context(), g.ID)
	r.ok(err)
	return got
}

// refused wants a refusal with a code, and the grant to stand.
func (r *rig) refused(g grant.Grant, err error, code bridge.Code) {
	r.Helper()
	if bridge.CodeOf(err) != code {
		r.Errorf("got %v, want %s", err, code)
	}
	if shown := (*bridge.Error)(nil); errors.As(err, &shown) && strings.Contains(shown.Reason, "Deploy") {
		r.Errorf("it says what was asked: %s", shown.Reason)
	}
	if got := r.stored(g); got.State(r.clock.Now()) != grant.Active {
		r.Errorf("it is %s", got.State(r.clock.Now()))
	}
}

// takenTwice is a store in which the first two ids that are tried are taken.
type takenTwice struct {
	grant.Store
	tries int
}

func (s *takenTwice) AddGrant(ctx context.Context, g grant.Grant) (bool, error) {
	if s.tries++; s.tries <= 2 {
		return false, nil
	}
	return s.Store.AddGrant(ctx, g)
}
