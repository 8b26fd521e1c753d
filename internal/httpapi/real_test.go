package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// manor is a house with the real engine over a database, and people in one room.
type manor struct {
	*house
	engine *bridge.Engine
	store  *sqlstore.Store
	people *people
	faulty faulty
	clock  *clock // of the engine
}

// clock is the machine's, moved forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time {
	return bridge.SystemClock{}.Now().Add(time.Duration(c.ahead.Load()))
}

// faulty is a store that loses what is done in a transaction, while it is told to.
type faulty struct {
	bridge.Store
	lose bool
}

var errLost = errors.New("the disk is full")

func (f *faulty) Atomically(ctx context.Context, do func(context.Context) error) error {
	return f.Store.Atomically(ctx, func(ctx context.Context) error {
		err := do(ctx)
		if err == nil && f.lose {
			err = errLost
		}
		return err
	})
}

// people is who is in the room, as a channel and a gatekeeper know it.
type people struct {
	bridge.Channel
	mu     sync.Mutex
	rights map[bridge.UserID]bridge.Rights
	closed error // why nothing can be asked in the room
	away   bool  // the homeserver cannot be asked; what was read before is still known
}

func (p *people) Supports(context.Context, bridge.ConversationID) error { return p.closed }
func (*people) Check(context.Context, bridge.Question) error            { return nil }

func (p *people) Rights(_ context.Context, _ bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh && p.away {
		return bridge.Rights{Unreadable: true}, errors.New("dial tcp 10.0.0.1: connection refused")
	}
	return p.rights[who], nil
}

func (p *people) Joined(_ context.Context, who bridge.UserID) ([]bridge.ConversationID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return nil, errors.New("dial tcp 10.0.0.1: connection refused")
	}
	if p.rights[who].Member {
		return []bridge.ConversationID{"!ops:example.org"}, nil
	}
	return nil, nil
}

func (*people) Alone(context.Context, bridge.ConversationID) (bool, error) { return false, nil }

func (p *people) leaves(who bridge.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rights, who)
}

func (p *people) set(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

func newManor(t *testing.T, change ...func(plan)) *manor {
	t.Helper()
	return newManorOn(t, sqlite(t), change...)
}

// plan is what a manor is about to be made of.
type plan struct {
	store  *sqlstore.Store
	api    *httpapi.Config
	engine *bridge.Parts
	server *http.Server
}

func newManorOn(t *testing.T, database sqlstore.Config, change ...func(plan)) *manor {
	t.Helper()
	database.Log = zerolog.Nop()
	store, err := sqlstore.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	m := &manor{store: store, clock: &clock{}, people: &people{rights: map[bridge.UserID]bridge.Rights{
		"@dana:example.org": {Member: true, DisplayName: "Dana"}, "@sam:example.org": {Member: true, DisplayName: "Sam"},
		"@root:example.org": {Member: true, WorkspaceAdmin: true}, "@robot:example.org": {Member: true, Machine: true},
		"@ci:example.org": {Member: true, IsAsker: true},
	}}}
	m.house = newHouse(t, func(c *httpapi.Config, s *http.Server) {
		m.faulty.Store = store
		parts := bridge.Parts{
			Store: &m.faulty, Channel: m.people, Gatekeeper: m.people, Notifier: c.Hub, Clock: m.clock, Unthreaded: bridge.UnthreadedDirect,
		}
		for _, change := range change {
			change(plan{store, c, &parts, s})
		}
		m.engine = bridge.NewEngine(parts)
		c.Engine = m.engine
	})
	return m
}

func (m *manor) person(who bridge.UserID) string {
	m.Helper()
	return m.token(httpapi.TokenTerms{User: who})
}

// answered has Dana answer a question by an option.
func (m *manor) answered(id, value string) schema.Question {
	m.Helper()
	return m.question(m.do("POST", answerPath(id), m.dana, fmt.Sprintf(`{"value":%q}`, value)), http.StatusOK)
}

// effects are what is owed for the stored questions.
func (m *manor) effects() []bridge.Effect {
	m.Helper()
	effects, err := m.store.ClaimEffects(m.Context(), time.Now().Add(time.Hour), time.Minute, 100)
	if err != nil {
		m.Fatal(err)
	}
	return effects
}
