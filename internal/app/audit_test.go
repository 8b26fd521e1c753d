package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// zebra asks a question in which every text says something of its own.
const zebra = `{"prompt":"Shall the zebra cross?","context":"Zoo 7","correlation_id":"corr-zebra","reply_to":"reply-zebra","data":{"note":"hush zebra"},
	"options":[{"value":"cross-1","label":"Let it cross"},{"value":"cage-2","label":"Keep it caged"},"Ask the keeper"],
	"text_input":{"placeholder":"Why so","max_length":60}}`

// written is every text that somebody wrote in TestTheAuditLogHoldsNoText, as it was or as a part of it.
var written = []string{
	"zebra", "Zoo", "Let it", "Keep it", "keeper", "Why so", "hush", "I like", "stripes", "Tuesdays", "Feathers", "cellar", // ours
	"headline", "Ship it", "Launch", "agt_1", "card_title", "draft", // the carrier's
	"Alice", "Bob", "Hub", // names
}

// TestTheAuditLogHoldsNoText goes through the stories that there are, on a real homeserver and by HTTP: each step is in the
// audit log once, with who did it, and nothing that anybody wrote is.
func TestTheAuditLogHoldsNoText(t *testing.T) {
	s := newStage(t)
	path := filepath.Join(filepath.Dir(s.config), "audit.jsonl")
	one, two := config.Count(1), config.Count(2)
	s.reconfigure(func(c *config.Config) {
		c.Audit.File = path
		c.Agents = append(c.Agents, config.Agent{ID: "brief", Limits: &config.AgentLimit{PerMinute: &one, Burst: &two, Pending: &one}})
	})
	s.start("")
	alice, bob := s.personal(s.alice), s.responder(s.personal(s.bob)) // recorded, by commands beside the bridge

	q, event := s.ask(zebra)
	for _, text := range []string{"I like stripes, all 2 of them", "9", "2"} {
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, text)
		s.ok(err)
	}
	s.outcome(s.bob, q)
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "let it CROSS")
	s.ok(err)
	s.toldLate(s.alice)

	q, event = s.ask(zebra)
	_, err = s.alice.React(s.ctx, s.room, event.ID, "3️⃣")
	s.ok(err)
	s.outcome(s.alice, q)

	q, event = s.ask(`{"prompt":"Why the zebra?","text_input":{"placeholder":"Why so","max_length":60}}`)
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "because of its stripes")
	s.ok(err)
	s.outcome(s.bob, q)

	q, _ = s.ask(zebra)
	answer := func(token, body string) int {
		mine := *s
		mine.token = token
		status, _ := mine.call(http.MethodPost, "/api/questions/"+q+"/answer", body)
		return status
	}
	if a, b := answer(alice, `{"value":"Feathers"}`), answer(alice, `{"value":"cross-1","comment":"only on Tuesdays"}`); a != 422 || b != 200 {
		t.Errorf("answered with %d and %d", a, b)
	}
	if _, err := bob.Show(s.ctx, q); err != nil {
		t.Error(err)
	}

	_, err = s.hub.SendEvent(s.ctx, s.room, "m.room.message", carriersQuestion())
	s.ok(err)
	bad := carriersQuestion()
	bad["elicitation_id"], bad["card_title"] = "elc_10", 7
	refused, err := s.hub.SendEvent(s.ctx, s.room, "m.room.message", bad)
	s.ok(err)
	_, err = s.hub.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.Relation().EventID == refused })
	s.ok(err)

	for body, want := range map[string]int{`{"prompt":"Broken zebra"`: 400, `{"prompt":"Zebra?","options":["Feathers"]}`: 422} {
		if status, _ := s.post(body); status != want {
			t.Errorf("%s: %d", body, status)
		}
	}
	withdrawn, _ := s.ask(zebra)
	if status, _ := s.call(http.MethodPost, "/api/agent/questions/"+withdrawn+"/cancel", ""); status != 200 {
		t.Errorf("cancelled with %d", status)
	}
	brief := *s
	brief.token = s.granted("brief")
	var statuses []int
	for range 3 {
		status, _ := brief.post(`{"prompt":"Shall the zebra cross?"}`)
		statuses = append(statuses, status)
	}
	if !slices.Equal(statuses, []int{201, 429, 429}) {
		t.Errorf("the hasty agent is answered with %v", statuses)
	}
	s.kill() // what was done is on the record before it is said

	raw, err := os.ReadFile(path)
	s.ok(err)
	for _, text := range written {
		if strings.Contains(strings.ToLower(string(raw)), strings.ToLower(text)) && !slices.Contains([]string{"Alice", "Bob", "Hub"}, text) || strings.Contains(string(raw), text) {
			t.Errorf("the audit log says %q:\n%s", text, raw)
		}
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		counts[s.summary(line)]++
	}
	want := map[string]int{
		"token_added @alice command": 1, "token_added @bob command": 1, "token_added brief command": 1,
		"asked ci api": 5, "asked brief api": 1, "adopted hub @hub carrier": 1,
		"answer_refused ci @bob reply out_of_range": 1, "answered ci @bob reply choose 2=cage-2": 1, "answer_late ci @alice reply answered": 1,
		"answered ci @alice reaction choose 3=": 1, "answered ci @bob reply typed": 1,
		"answer_refused ci @alice api invalid_option": 1, "answered ci @alice api choose 1=cross-1": 1,
		"ask_refused hub @hub carrier schema": 1, "ask_refused ci api malformed": 1, "ask_refused ci api invalid_question": 1,
		"cancelled ci asker": 1, "ask_refused brief api quota_exceeded": 1, "ask_refused brief api rate_limited": 1,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("recorded\n%v\nwant\n%v", counts, want)
	}
}

// summary is a line of the audit log without what is new every time; it says where something is missing.
func (s *stage) summary(line string) string {
	s.t.Helper()
	var l struct {
		Action, Agent, User, Via, Code, Meaning string
		Question                                string `json:"question_id"`
		Room                                    string `json:"room_id"`
		Event                                   string `json:"event_id"`
		Request                                 string `json:"request_id"`
		Token                                   string `json:"token_id"`
		Chosen                                  []struct {
			Item, Option int
			Value        string
			Typed        bool
		}
	}
	s.ok(json.Unmarshal([]byte(line), &l))
	inRoom := l.Via == "reply" || l.Via == "reaction" || l.Via == "carrier"
	switch {
	case l.Via != "command" && l.Room != s.room, (l.Event != "") != inRoom, (l.Request != "") != (l.Via == "api" || l.Action == "cancelled"), (l.Token == "") != inRoom:
		s.t.Errorf("incomplete: %s", line)
	}
	parts := []string{l.Action, l.Agent, strings.TrimSuffix(l.User, ":question.test"), l.Via, l.Code, l.Meaning}
	for _, c := range l.Chosen {
		if c.Typed {
			parts = append(parts, "typed")
		} else {
			parts = append(parts, fmt.Sprintf("%d=%s", c.Option, c.Value))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// toldLate waits until somebody was told that they came late.
func (s *stage) toldLate(u *testserver.User) {
	s.t.Helper()
	_, err := u.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.notice" && strings.HasPrefix(e.Body(), "Already answered")
	})
	s.ok(err)
}

// granted makes a token of an agent, for every room, with the scopes or the usual ones.
func (s *stage) granted(agent string, scopes ...string) string {
	s.t.Helper()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	tokens, err := OpenTokens(s.ctx, cfg)
	s.ok(err)
	defer tokens.Close()
	secret, _, err := tokens.Add(s.ctx, Grant{Agent: agent, Rooms: []string{"*"}, Scopes: scopes})
	s.ok(err)
	return secret
}

// An audit log that cannot be opened is found by the check, and stops the start.
func TestAuditLogThatCannotBeOpened(t *testing.T) {
	c, reg := checked(t, "http://127.0.0.1:1")
	c.Audit.File = filepath.Join(t.TempDir(), "audit.jsonl")
	const nobody = "FAIL the homeserver answers at http://127.0.0.1:1|"
	expect(t, Check(t.Context(), c, reg), nobody, "ok the sqlite database opens|", "ok the audit log opens at "+c.Audit.File)
	c.Audit.File = filepath.Join(t.TempDir(), "none", "audit.jsonl")
	expect(t, Check(t.Context(), c, reg), nobody, "ok the sqlite database opens|", "FAIL the audit log opens at "+c.Audit.File+"|open the audit log:")
	if _, err := assemble(t.Context(), Options{Config: c, Registration: reg, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), "audit log") {
		t.Errorf("started with %v", err)
	}
}
