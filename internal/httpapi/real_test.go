package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// manor is a house with the real engine over a SQLite file, and people in one room.
type manor struct {
	*house
	engine *bridge.Engine
	store  *sqlstore.Store
	people *people
}

// people is who is in the room, as a channel and a gatekeeper know it.
type people struct {
	bridge.Channel
	mu     sync.Mutex
	rights map[bridge.UserID]bridge.Rights
	away   bool // the homeserver cannot be asked; what was read before is still known
}

func (*people) Supports(context.Context, bridge.ConversationID) error { return nil }
func (*people) Check(context.Context, bridge.Question) error          { return nil }

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

func (p *people) set(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

func newManor(t *testing.T) *manor {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	m := &manor{store: store, people: &people{rights: map[bridge.UserID]bridge.Rights{
		"@dana:example.org": {Member: true, DisplayName: "Dana"}, "@sam:example.org": {Member: true, DisplayName: "Sam"},
		"@root:example.org": {Member: true, WorkspaceAdmin: true}, "@robot:example.org": {Member: true, Machine: true},
		"@ci:example.org": {Member: true, IsAsker: true},
	}}}
	m.house = newHouse(t, func(c *httpapi.Config, _ *http.Server) {
		m.engine = bridge.NewEngine(bridge.Parts{
			Store: store, Channel: m.people, Gatekeeper: m.people, Notifier: c.Hub, Clock: bridge.SystemClock{}, Unthreaded: bridge.UnthreadedDirect,
		})
		c.Engine = m.engine
	})
	return m
}

func (m *manor) person(who bridge.UserID) string {
	m.Helper()
	return m.token(httpapi.TokenTerms{User: who})
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
