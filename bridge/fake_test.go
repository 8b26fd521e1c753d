package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// room is a channel and a gatekeeper in memory: it posts into a list and reads replies by Match alone.
type room struct {
	mu       sync.Mutex
	controls []string // "$post1 q_1/render/0", …
	posts    []string // "render q_1/render/0", "tell stale answered @dana:ex.org", …
	rights   map[bridge.UserID]bridge.Rights
	unread   error                           // why rights cannot be read fresh
	joined   map[bridge.UserID]bridge.Rights // who our copy does not know yet; read fresh, it does
	alone    bool
	gone     bool  // whether the question's message cannot be read any more
	fails    error // what Render and Updated return
	unclosed error // what Settled returns
	parse    func(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading
	supports error
	during   func() // called while Render posts

	duringControls func()
	controlsFail   error
	posted         int
	replies        []bridge.AddressedReply
}

func (r *room) Supports(context.Context, bridge.ConversationID) error { return r.supports }
func (r *room) Check(context.Context, bridge.Question) error          { return nil }

func (r *room) Render(_ context.Context, q bridge.Question, _ bridge.Posting, key string) (bridge.Change, error) {
	if r.during != nil {
		r.during()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return bridge.Change{}, r.fails
	}
	if q.State.Terminal() {
		return bridge.Change{}, nil
	}
	r.posts = append(r.posts, "render "+key)
	return bridge.Change{Messages: []bridge.Message{r.message(0)}}, nil
}

func (r *room) Controls(_ context.Context, _ bridge.Question, p bridge.Posting, key string) error {
	if r.duringControls != nil {
		r.duringControls()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.controlsFail != nil {
		return r.controlsFail
	}
	m, _ := p.Current()
	r.controls = append(r.controls, fmt.Sprintf("%s %s", m.ID, key))
	return nil
}

func (r *room) message(item int) bridge.Message {
	r.posted++
	return bridge.Message{ID: bridge.MessageID(fmt.Sprintf("$post%d", r.posted)), PostedAt: start.Add(time.Duration(r.posted) * time.Second), Item: item}
}

func (r *room) Updated(_ context.Context, _ bridge.Question, p bridge.Posting, _ *bridge.Interaction, key string) (bridge.Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return bridge.Change{}, r.fails
	}
	r.posts = append(r.posts, "update "+key)
	if !p.Moving { // no step: what one person has to type
		return bridge.Change{}, nil
	}
	return bridge.Change{Messages: append(p.Messages, r.message(len(p.Messages)))}, nil
}

func (r *room) Settled(_ context.Context, q bridge.Question, _ bridge.Posting, key string) (bridge.Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unclosed != nil {
		return bridge.Change{}, r.unclosed
	}
	r.posts = append(r.posts, fmt.Sprintf("settled %s %s", q.State, key))
	return bridge.Change{}, nil
}

func (r *room) Remind(_ context.Context, _ bridge.Question, _ bridge.Posting, reminder bridge.Reminder, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts = append(r.posts, fmt.Sprintf("%s %s", reminder, key))
	return nil
}

func (r *room) Stands(context.Context, bridge.Question, bridge.Posting) (bool, error) {
	return !r.gone, r.unread
}

func (r *room) Joined(_ context.Context, who bridge.UserID) ([]bridge.ConversationID, error) {
	if r.rights[who].Member {
		return []bridge.ConversationID{"!ops:ex.org"}, nil
	}
	return nil, nil
}

func (r *room) Tell(_ context.Context, _ bridge.Question, _ bridge.Posting, c bridge.Courtesy, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts = append(r.posts, fmt.Sprintf("tell %s %s %s", c.Kind, c.Code, c.To))
	return nil
}

func (r *room) Reply(_ context.Context, reply bridge.AddressedReply, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return r.fails
	}
	r.replies = append(r.replies, reply)
	r.posts = append(r.posts, "reply "+key)
	return nil
}

func (r *room) Parse(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
	if r.parse != nil {
		return r.parse(in, q, p)
	}
	said, ok := in.Act.(bridge.Said)
	if !ok {
		return bridge.Ignored{}
	}
	switch m := bridge.Match(q.Items[0].Options, said.Text).(type) {
	case bridge.OneMatch:
		return chosen(q.Items[0].Options[m.Index].ID)
	case bridge.OutOfRange:
		return bridge.Refused{Code: "out_of_range", Reason: "No such number."}
	}
	return bridge.Ignored{}
}

func chosen(ids ...bridge.OptionID) bridge.Chosen {
	return bridge.Chosen{Choice: bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Selected: ids}}}}
}

func (r *room) Rights(_ context.Context, _ bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rights, ok := r.joined[who]; ok && fresh {
		return rights, r.unread
	}
	return r.rights[who], nil
}

func (r *room) Alone(context.Context, bridge.ConversationID) (bool, error) { return r.alone, nil }

func (r *room) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.posts...)
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

type notes struct {
	mu  sync.Mutex
	ids []bridge.QuestionID
}

func (n *notes) Notify(id bridge.QuestionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids = append(n.ids, id)
}

// bench is an engine over a SQLite file and the room above.
type bench struct {
	*bridge.Engine
	t     *testing.T
	ctx   context.Context
	store *sqlstore.Store
	room  *room
	clock *clocktest.Clock
	notes *notes
	seq   int64
}

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	member := bridge.Rights{Member: true}
	b := &bench{
		t: t, ctx: t.Context(), store: store, clock: clocktest.At(start), notes: &notes{},
		room: &room{rights: map[bridge.UserID]bridge.Rights{
			"@dana:ex.org": {Member: true, DisplayName: "Dana"}, "@sam:ex.org": member, "@bot:ex.org": {Member: true, Machine: true},
		}},
	}
	b.Engine = bridge.NewEngine(bridge.Parts{
		Store: store, Channel: b.room, Gatekeeper: b.room, Notifier: b.notes, Clock: b.clock, Unthreaded: bridge.UnthreadedDirect,
	})
	return b
}

// question is the question of the field cases.
func (b *bench) question() bridge.Question {
	now := b.clock.Now()
	id := bridge.NewQuestionID()
	return bridge.Question{
		ID: id, Asker: "ci", AskedBy: "ci", Conversation: "!ops:ex.org", Dialect: bridge.Core, ElicitationID: string(id), Digest: "d",
		Scope: bridge.Room, CreatedAt: now, ExpiresAt: now.Add(time.Hour), ForgetAfter: now.Add(24 * time.Hour),
		Items: []bridge.Item{{Prompt: "Which?", Options: []bridge.Option{
			{ID: "run_them", Label: "Run the tests", Meaning: bridge.Choose},
			{ID: "skip", Label: "Skip them", Meaning: bridge.Choose},
			{ID: "yes", Label: "Approve", Meaning: bridge.Approve},
		}}},
	}
}

func (b *bench) ask(q bridge.Question) bridge.Question {
	b.t.Helper()
	asked, created, err := b.Ask(b.ctx, q)
	if err != nil || !created {
		b.t.Fatalf("asked: %v, %v", created, err)
	}
	b.work()
	return asked
}

// work runs every effect that is due, as the outbox would.
func (b *bench) work() {
	b.t.Helper()
	for {
		effects, err := b.store.ClaimEffects(b.ctx, b.clock.Now(), time.Minute, 10)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(effects) == 0 {
			return
		}
		for _, f := range effects {
			if err := b.Run(b.ctx, f); err != nil {
				again := time.Minute
				var held *bridge.ErrHeld
				if errors.As(err, &held) {
					again = held.Again
				}
				err = b.store.PostponeEffect(b.ctx, f.ID, b.clock.Now().Add(again), err.Error())
				if err != nil {
					b.t.Fatal(err)
				}
			} else if err := b.store.FinishEffect(b.ctx, f.ID); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

func (b *bench) get(id bridge.QuestionID) bridge.Question {
	b.t.Helper()
	q, err := b.store.Question(b.ctx, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return q
}

func (b *bench) root(id bridge.QuestionID) bridge.MessageID {
	b.t.Helper()
	p, err := b.store.Posting(b.ctx, id)
	if err != nil {
		b.t.Fatal(err)
	}
	m, ok := p.Current()
	if !ok {
		b.t.Fatal("the question is not posted")
	}
	return m.ID
}

// echo brings the current message of a question back.
func (b *bench) echo(id bridge.QuestionID, seq int64, at time.Time) {
	b.t.Helper()
	q := b.get(id)
	if _, err := b.Echoed(b.ctx, bridge.Echo{Question: id, Conversation: q.Conversation, Message: b.root(id), Seq: seq, SentAt: at}); err != nil {
		b.t.Fatal(err)
	}
}

// event stores an interaction in the inbox, as a pushed event.
func (b *bench) event(who bridge.UserID, act bridge.Act) bridge.Interaction {
	b.t.Helper()
	b.seq++
	in := bridge.Interaction{
		ID: bridge.InteractionID(fmt.Sprintf("$event%d", b.seq)), Conversation: "!ops:ex.org", Sender: who,
		SentAt: b.clock.Now().Add(time.Minute), Seq: 1000 + b.seq, Act: act,
	}
	row := bridge.Incoming{InboxEvent: bridge.InboxEvent{ID: in.ID, Conversation: in.Conversation, ReceivedAt: b.clock.Now(), Raw: json.RawMessage(`{}`)}, Always: true}
	if _, err := b.store.StoreEvents(b.ctx, []bridge.Incoming{row}); err != nil {
		b.t.Fatal(err)
	}
	return in
}

func (b *bench) receive(in bridge.Interaction) {
	b.t.Helper()
	if err := b.Receive(b.ctx, in); err != nil {
		b.t.Fatal(err)
	}
	b.work()
}

// reply receives a threaded reply.
func (b *bench) reply(who bridge.UserID, id bridge.QuestionID, text string) bridge.Interaction {
	b.t.Helper()
	in := b.event(who, bridge.Said{Text: text, Thread: b.root(id)})
	b.receive(in)
	return in
}

// unhandled counts the inbox rows that wait.
func (b *bench) unhandled() int {
	b.t.Helper()
	events, err := b.store.NextEvents(b.ctx, b.clock.Now().Add(time.Hour), 100)
	if err != nil {
		b.t.Fatal(err)
	}
	return len(events)
}
