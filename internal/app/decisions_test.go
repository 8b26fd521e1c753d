package app

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// beside is a book on the stage's database, beside the bridge.
func (s *stage) beside() (*decision.Book, *sqlstore.Store) {
	s.t.Helper()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	store, err := openBeside(s.ctx, cfg)
	s.ok(err)
	s.t.Cleanup(func() { _ = store.Close() })
	b := &parts{store: store}
	book, err := b.newDecisions(s.ctx, cfg, bridge.Unaudited{})
	s.ok(err)
	return book, store
}

// says waits for something that the bot says in a room, to somebody.
func (s *stage) says(u *testserver.User, room string, what func(body string) bool) testserver.Event {
	s.t.Helper()
	e, err := u.WaitFor(s.ctx, room, func(e testserver.Event) bool { return e.Sender == bot && what(e.Body()) })
	s.ok(err)
	return e
}

// directRoom accepts the invitation to the bot's direct room.
func (s *stage) directRoom(u *testserver.User) string {
	s.t.Helper()
	var opts testserver.SyncOptions
	for {
		news, err := u.Sync(s.ctx, opts)
		s.ok(err)
		for room := range news.Rooms.Invite {
			_, err := u.Join(s.ctx, room)
			s.ok(err)
			return room
		}
		opts = testserver.SyncOptions{Since: news.NextBatch, Timeout: 10 * time.Second}
	}
}

// What a person decided is listed to them alone, and taken back in the room, where their rights are those of everybody:
// nobody else finds it.
func TestDecisionsInARoom(t *testing.T) {
	s := newStage(t)
	s.start("")
	book, _ := s.beside()
	made := collector.Made{
		Scope:    collector.Scope{Agent: "ci", Requester: "Research <i>", Purpose: "a study", Principal: collector.Principal{Kind: "user", ID: "usr_1", Scope: "local"}},
		Approved: true, By: bridge.UserID(s.alice.ID), At: bridge.SystemClock{}.Now(), Gate: "g_1",
	}
	s.ok(book.Remember(s.ctx, made))
	kept, err := book.Recall(s.ctx, made.Scope)
	s.ok(err)

	send := func(u *testserver.User, room, text string) {
		t.Helper()
		_, err := u.Send(s.ctx, room, text)
		s.ok(err)
	}
	is := func(want string) func(string) bool { return func(body string) bool { return body == want } }
	send(s.alice, s.room, "!decisions")
	s.says(s.bob, s.room, is(texts.ToldInPrivate))
	direct := s.directRoom(s.alice)
	e := s.says(s.alice, direct, func(body string) bool {
		return strings.Contains(body, kept.ID+": approved for Research <i>, “a study”, since ")
	})
	if e.MsgType() != "m.notice" || !strings.Contains(e.Field("formatted_body").(string), "Research &lt;i&gt;") {
		t.Errorf("said as %v", e.Content)
	}
	send(s.bob, s.room, "!revoke "+kept.ID)
	s.says(s.bob, s.room, is(texts.NothingNamed))
	send(s.alice, s.room, "!revoke "+kept.ID)
	s.says(s.alice, direct, is(texts.DecisionRevoked(kept.ID)))
	if now, err := book.Recall(s.ctx, made.Scope); err != nil || now.ID != "" || now.Revision != 2 {
		t.Errorf("remembered: %+v, %v", now, err)
	}
	send(s.alice, direct, "!decisions")
	s.says(s.alice, direct, is(texts.Decisions(nil, false)))
	if n := s.count(func(e testserver.Event) bool { return strings.Contains(e.Body(), "Research") }); n > 0 {
		t.Errorf("the room reads what is private, %d times", n)
	}
	if log := s.log.String(); strings.Contains(log, "Research") || strings.Contains(log, "usr_1") {
		t.Errorf("the log tells what is private:\n%s", log)
	}
}

// The secret is made once, and a damaged one is not taken for another.
func TestSecretsOfTheDatabase(t *testing.T) {
	store := func(d config.Database) *sqlstore.Store {
		cfg := config.Default()
		cfg.Database = d
		s, err := openBeside(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := store(newSQLite(t))
	open := func(name string) [32]byte {
		t.Helper()
		secret, err := openSecret(context.Background(), s, name)
		if err != nil || secret == [32]byte{} {
			t.Errorf("%x, %v", secret, err)
		}
		return secret
	}
	if a, b := open("one"), open("one"); a != b {
		t.Errorf("%x became %x", a, b)
	}
	if a, b := open("one"), open("another"); a == b {
		t.Error("two secrets are one")
	}
	if err := s.SetValue(t.Context(), "one", "bm90IDMyIGJ5dGVz"); err != nil {
		t.Fatal(err)
	}
	if _, err := openSecret(t.Context(), s, "one"); err == nil || err.Error() != "the one in the database is damaged" {
		t.Errorf("a damaged secret: %v", err)
	}
}

// gate opens a gate in the room, whose approval is asked there, with what is done about decisions.
func (s *stage) gate(token string, mode collector.Mode) schema.Gate {
	s.t.Helper()
	return s.gateBy(token, http.MethodPost, opsGates, strings.Replace(gateOpening("room"), `"ask":`, `"decisions":"`+string(mode)+`","ask":`, 1))
}

// gateBy is the gate that a call to the API is answered with.
func (s *stage) gateBy(token, method, path, body string) (g schema.Gate) {
	s.t.Helper()
	agent := *s
	agent.token = token
	status, document := agent.call(method, path, body)
	raw, err := json.Marshal(document)
	s.ok(err)
	if err := json.Unmarshal(raw, &g); err != nil || status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	return g
}

// A person approves once in a room, having read that it will be remembered. Later exchanges of the same requester and
// purpose are answered without them, and say so, until the person takes it back.
func TestARememberedDecision(t *testing.T) {
	s := newStageWith(t, func(c *config.Config) { c.API.PublicURL = collectorAt })
	s.start("")
	token := s.granted("ci", "gate")
	first := s.gate(token, collector.AskOnce)
	asked := s.posted(*first.QuestionID)
	if !strings.Contains(asked.Body(), "remembered for Provider and the purpose “feedback”") || first.State != "open" {
		t.Errorf("asked %q by a gate that is %s", asked.Body(), first.State)
	}
	_, err := s.alice.ThreadReply(s.ctx, s.room, asked.ID, "approved")
	s.ok(err)
	first = s.gateBy(token, http.MethodGet, "/api/agent/gates/"+first.GateID+"?wait=30", "")
	if first.State != "approved" || *first.Provenance != "mediated" || first.NextQuery == nil {
		t.Fatalf("the first gate is %+v", first)
	}

	second := s.gate(token, collector.AskOnce)
	if second.State != "approved" || *second.Provenance != "remembered" || second.QuestionID != nil || second.NextQuery == nil {
		t.Errorf("the second gate is %+v", second)
	}
	if n := s.count(func(e testserver.Event) bool { return e.Field("elicitation_id") != nil && e.NewBody() == "" }); n != 1 {
		t.Errorf("the room was asked %d times", n)
	}
	_, err = s.alice.Send(s.ctx, s.room, "!decisions")
	s.ok(err)
	direct := s.directRoom(s.alice)
	listed := s.says(s.alice, direct, func(body string) bool { return strings.Contains(body, "approved for Provider, “feedback”") })
	if !strings.Contains(listed.Body(), ", used once") {
		t.Errorf("listed as %q", listed.Body())
	}
	id := strings.TrimSpace(listed.Body()[strings.LastIndex(listed.Body(), " "):])
	_, err = s.alice.Send(s.ctx, direct, "!revoke "+id) // anywhere
	s.ok(err)
	s.says(s.alice, direct, func(body string) bool { return body == texts.DecisionRevoked(id) })

	if g := s.gate(token, collector.NeverAsk); g.State != "withheld" || g.NextQuery != nil {
		t.Errorf("with nothing remembered, a gate that asks nobody is %+v", g)
	}
	if third := s.gate(token, collector.AskOnce); third.State != "open" || third.QuestionID == nil || third.NextQuery != nil {
		t.Errorf("the third gate is %+v", third)
	}
}
