package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/internal/outbox"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// replace puts another handler in place of each endpoint's.
func (h *hooks) replace(with func(outbox.Handler) outbox.Handler) {
	for _, lane := range h.lanes {
		kind := lane.Kinds[bridge.EffectWebhook]
		kind.Handler = with(kind.Handler)
		lane.Kinds[bridge.EffectWebhook] = kind
	}
}

// dyingAfter does its effect and dies before anybody hears of it.
type dyingAfter struct{ outbox.Handler }

func (d dyingAfter) Run(ctx context.Context, f bridge.Effect) error {
	if err := d.Handler.Run(ctx, f); err != nil {
		return err
	}
	return die()
}

// hooked is an event that an endpoint has verified.
type hooked struct {
	ID    string
	Body  string
	Event *schema.WebhookEvent
}

// withWebhook gives the stage's bridge an endpoint that lives as long as the test does.
func (s *stage) withWebhook(events ...string) <-chan hooked {
	s.t.Helper()
	came, hook := newHook(s.t, events...)
	s.reconfigure(hook)
	return came
}

// newHook makes an endpoint of the room OPS that lives as long as the test does, and what tells a configuration of it. It
// gets what tells how questions end, or the events that are named, of which it reads the body alone.
func newHook(t *testing.T, events ...string) (came <-chan hooked, hook func(*config.Config)) {
	t.Helper()
	secret := NewWebhookSecret()
	file := filepath.Join(t.TempDir(), "hook.secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	took := make(chan hooked, 10_000)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := verifier.Verify(body, r.Header); err != nil {
			t.Errorf("an event is not verified: %v", err)
		}
		var event *schema.WebhookEvent
		if len(events) == 0 {
			if event, err = schema.Decode[schema.WebhookEvent](body); err != nil {
				t.Errorf("an event is not right: %v", err)
			}
		}
		if err := apitest.Webhook(r.Header, body); err != nil {
			t.Errorf("an event is not as it is described: %v", err)
		}
		took <- hooked{r.Header.Get("webhook-id"), string(body), event}
	}))
	t.Cleanup(receiver.Close)
	return took, func(cfg *config.Config) {
		cfg.Webhooks = []config.Webhook{{Name: "ci", Rooms: []string{"OPS"}, URL: receiver.URL, Secrets: []config.Secret{{File: file}}, Events: events}}
		cfg.Egress.Allow = []string{"127.0.0.1"}
	}
}

func (s *stage) hooked(came <-chan hooked) hooked {
	s.t.Helper()
	select {
	case h := <-came:
		return h
	case <-s.ctx.Done():
		s.t.Fatal("no webhook came")
		return hooked{}
	}
}

// delivered waits until the bridge has kept that so many events were taken, and gives what it kept, which is nothing else.
func (s *stage) delivered(n int) []Delivery {
	s.t.Helper()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	w, err := OpenWebhooks(s.ctx, cfg)
	s.ok(err)
	defer w.Close()
	var all []Delivery
	for s.ctx.Err() == nil {
		all, err = w.Deliveries(s.ctx, "ci", 100)
		s.ok(err)
		if len(all) == n && !slices.ContainsFunc(all, func(d Delivery) bool { return d.State != bridge.WebhookDelivered }) {
			return all
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("the deliveries are not kept as such: %+v", all)
	return nil
}

// TestD8KilledBetweenSettlingAndWebhook kills the bridge when the answer is stored and the endpoint was not told: it is
// told after the restart (guarantee 4; field case D8).
func TestD8KilledBetweenSettlingAndWebhook(t *testing.T) { onBoth(t, killedBeforeTheWebhook) }

func killedBeforeTheWebhook(t *testing.T, d config.Database) {
	s := newStageOn(t, d)
	came := s.withWebhook()
	s.start("webhook")
	q, event := s.ask(threeWays)
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.gone()
	if len(came) != 0 {
		t.Fatal("the endpoint was told already")
	}
	s.start("")
	h := s.hooked(came)
	if h.Event.QuestionID != q || *h.Event.Answer.Value != "skip" || *h.Event.Room.Code != "OPS" || *h.Event.Room.Name != "Ops" || h.Event.Answer.Responder.ID != s.alice.ID {
		t.Errorf("told %s", h.Body)
	}
	if d := s.delivered(1)[0]; d.ID != h.ID || string(d.Body) != h.Body || len(came) != 0 {
		t.Errorf("kept %+v", d)
	}
	s.toldOnce(q)
}

// TestD8KilledBetweenWebhookAndBookkeeping kills the bridge when the endpoint has taken the event and nobody wrote that
// down: it is told once more, the same under the same id (guarantee 4; field case D8).
func TestD8KilledBetweenWebhookAndBookkeeping(t *testing.T) { onBoth(t, killedAfterTheWebhook) }

func killedAfterTheWebhook(t *testing.T, d config.Database) {
	s := newStageOn(t, d)
	came := s.withWebhook()
	s.start("webhooked")
	_, event := s.ask(threeWays)
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	first := s.hooked(came)
	s.gone()
	s.start("")
	second := s.hooked(came)
	if first.ID == "" || first.ID != second.ID || first.Body != second.Body {
		t.Errorf("told as %s, then as %s", first.ID, second.ID)
	}
	if d := s.delivered(1)[0]; d.ID != first.ID || d.Attempts != 2 || len(came) != 0 {
		t.Errorf("kept %+v", d)
	}
}

// What rooms are called is known without asking anybody, also after a restart; what a room says of itself gives it no
// more than a name.
func TestPlacesOfWebhooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.db")
	rooms := []config.Room{{Code: "OPS", Room: "#ops:example.org"}, {Code: "DEV", Room: "!dev:example.org", Name: "Developers"}}
	hooked := []config.Webhook{{Rooms: []string{"OPS", "#lab:example.org", "!x:example.org"}}}
	open := func() *roomNames {
		t.Helper()
		store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: path, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		p := &roomNames{rooms: rooms, store: store, aliases: map[string]bridge.ConversationID{}}
		if err := p.load(t.Context(), hooked); err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := func(p *roomNames, conv bridge.ConversationID, name, code string, names ...string) {
		t.Helper()
		got, err := p.Place(t.Context(), conv)
		slices.Sort(got.Names)
		slices.Sort(names)
		if err != nil || got.Name != name || got.Code != code || !reflect.DeepEqual(got.Names, names) {
			t.Errorf("%s is %+v, %v", conv, got, err)
		}
	}
	p := open()
	state := func(conv bridge.ConversationID, kind, content string) {
		t.Helper()
		if err := p.store.PutState(t.Context(), bridge.StateRecord{Conversation: conv, Type: kind, Content: json.RawMessage(content)}); err != nil {
			t.Fatal(err)
		}
	}
	want(p, "!ops:example.org", "", "", "!ops:example.org")
	want(p, "!dev:example.org", "Developers", "DEV", "!dev:example.org", "DEV")

	state("!ops:example.org", "m.room.name", `{"name":"Operations"}`)
	state("!evil:example.org", "m.room.canonical_alias", `{"alias":"#ops:example.org"}`)
	state("!evil:example.org", "m.room.name", `{"name":7}`)
	found := map[string]bridge.ConversationID{"#ops:example.org": "!ops:example.org"}
	err := p.lookUp(t.Context(), func(_ context.Context, alias string) (bridge.ConversationID, error) {
		if id, ok := found[alias]; ok {
			return id, nil
		}
		return "", errors.New("there is no such room")
	})
	if err == nil {
		t.Error("every alias was found")
	}
	for range 2 {
		want(p, "!ops:example.org", "Operations", "OPS", "!ops:example.org", "#ops:example.org", "OPS")
		want(p, "!evil:example.org", "", "", "!evil:example.org")
		want(p, "!lab:example.org", "", "", "!lab:example.org")
		p = open() // as the store has it
	}

	// An ask by a code or an alias teaches the same; by what the configuration does not name, nothing.
	for name, id := range map[string]bridge.ConversationID{"OPS": "!new:example.org", "#lab:example.org": "!lab:example.org", "#other:example.org": "!other:example.org"} {
		if err := p.learn(t.Context(), name, id); err != nil {
			t.Error(err)
		}
	}
	want(p, "!new:example.org", "", "OPS", "!new:example.org", "#ops:example.org", "OPS")
	want(p, "!ops:example.org", "Operations", "", "!ops:example.org")
	want(p, "!lab:example.org", "", "", "!lab:example.org", "#lab:example.org")
	want(p, "!other:example.org", "", "", "!other:example.org")
}
