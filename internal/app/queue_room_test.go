package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

func init() {
	deaths["evidence"] = func(b *parts) {
		kind := b.outbox.Kinds[queue.EffectEvidence]
		kind.Handler = dying{}
		b.outbox.Kinds[queue.EffectEvidence] = kind
	}
}

// turnTaker is an agent's use of the queue, with its turns.
type turnTaker struct {
	*stage
	queue *client.Queue
	turn  int
}

// hostOf makes one whose token may do what it does with the queue.
func (s *stage) hostOf(agent string) *turnTaker {
	s.t.Helper()
	c, err := client.New(client.Config{Server: s.api, Token: s.granted(agent, "queue", "read")})
	s.ok(err)
	return &turnTaker{stage: s, queue: c.Queue()}
}

// proposes a question of yes and no about a key.
func (h *turnTaker) proposes(text, key string) *schema.Candidate {
	h.t.Helper()
	p, err := h.queue.Propose(h.ctx, schema.Proposal{
		Turn: h.turn, QuestionText: text, Kind: "confirmation", AmbiguitySignal: "gate_refusal", TargetKeys: schema.Keys(key),
		Options: []schema.ProposalOption{{Label: "Yes, it is", Acted: []string{key}}, {Label: "No", Contradicted: []string{key}}},
	})
	h.ok(err)
	if p.Candidate == nil {
		h.t.Fatalf("a proposal was %s", p.Outcome)
	}
	return p.Candidate
}

// asks asks the next question in the room, and gives its event; "" of an event for nothing to ask.
func (h *turnTaker) asks() (question string, event testserver.Event) {
	h.t.Helper()
	c, err := h.queue.Next(h.ctx, schema.NextBody{Turn: h.turn, Room: "OPS"})
	h.ok(err)
	if c == nil {
		return "", testserver.Event{}
	}
	return *c.QuestionID, h.posted(*c.QuestionID)
}

// becomes waits until a candidate has a status.
func (h *turnTaker) becomes(id, status string) *schema.Candidate {
	h.t.Helper()
	for {
		c, err := h.queue.Candidate(h.ctx, id)
		h.ok(err)
		if c.Status == status {
			return c
		}
		h.pause()
	}
}

// observed waits until a fact has been observed so often.
func (h *turnTaker) observed(key string, count int) *schema.Evidence {
	h.t.Helper()
	for {
		e, err := h.queue.Evidence(h.ctx, key)
		h.ok(err)
		if e.Count == count {
			return e
		}
		h.pause()
	}
}

// pause is for what nobody signals.
func (s *stage) pause() {
	s.t.Helper()
	select {
	case <-s.ctx.Done():
		s.t.Fatal("it never happens")
	case <-time.After(20 * time.Millisecond):
	}
}

// TestQueueOnTheServer: two agents of a group propose the same, one asks it in the room, and one threaded reply answers
// both. What declines or is no answer cools, with a thank-you; what is said elsewhere is talk; and nothing of what people
// wrote is left.
func TestQueueOnTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := newStageOn(t, d)
		came := s.withWebhook("candidate.answered")
		s.reconfigure(func(c *config.Config) {
			c.Queue.Groups = [][]string{{"planner", "scheduler"}}
			c.Agents = append(c.Agents, config.Agent{ID: "planner", Name: "Planner"}, config.Agent{ID: "scheduler", Name: "Scheduler"})
		})
		s.start("")
		planner, scheduler := s.hostOf("planner"), s.hostOf("scheduler")
		scheduler.turn = 40
		first, second := planner.proposes("Is the freeze over?", "fact:freeze"), scheduler.proposes("is the freeze over", "note:7")
		q, event := planner.asks()
		if !strings.HasPrefix(event.Body(), "Planner asks the room.\n\nIs the freeze over?\n\n1. Yes, it is\n2. No\n\n") || !strings.Contains(event.Body(), `or with "skip"`) {
			t.Errorf("the room reads\n%s", event.Body())
		}
		if q, _ := scheduler.asks(); q != "" {
			t.Error("the second agent asks it again")
		}
		_, err := s.bob.Send(s.ctx, s.room, "is it lunch yet?") // talk
		s.ok(err)
		_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "no!")
		s.ok(err)
		if c := planner.becomes(first.CandidateID, "answered"); *c.AnswerOption != 1 || *c.QuestionID != q {
			t.Errorf("the first: %+v", c)
		}
		if c := scheduler.becomes(second.CandidateID, "answered"); *c.AnswerOption != 1 || *c.ResolvedTurn != 40 || *c.LeaderID != first.CandidateID {
			t.Errorf("the second: %+v", c)
		}
		for _, e := range []*schema.Evidence{planner.observed("fact:freeze", 3), scheduler.observed("note:7", 3)} {
			if e.Confidence > 0.21 {
				t.Errorf("the evidence: %+v", e)
			}
		}
		if n := s.count(func(e testserver.Event) bool {
			return e.Field("question") == "Is the freeze over?" && e.Relation().Type == ""
		}); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		told := s.toldOfCandidates(came, 2)
		if told["planner"].CandidateID != first.CandidateID || told["scheduler"].CandidateID != second.CandidateID || told["scheduler"].Evidence[0].Key != "note:7" {
			t.Errorf("told %+v", told)
		}

		const pin = "my PIN is 4711-yellow"
		for i, reply := range []string{"Not sure...", pin} {
			planner.turn = 5 * (i + 1)
			c := planner.proposes("Is it "+reply[:3]+"?", "fact:"+reply[:3])
			q, event := planner.asks()
			if i == 0 {
				s.shown(s.alice, event, "!queue", "Asked here, and waiting for a reply:\n• Planner: Is it Not?")
			}
			_, err := s.bob.Reply(s.ctx, s.room, event.ID, reply)
			s.ok(err)
			cooled := planner.becomes(c.CandidateID, "cooled")
			if *cooled.CooldownUntil != planner.turn+queue.CooldownTurns {
				t.Errorf("%s: %+v", reply, cooled)
			}
			if outcome := s.outcome(s.alice, q); outcome["state"] != "cancelled" || outcome["reason"] != "cooled" || outcome["decided_by"] != s.bob.ID {
				t.Errorf("%s: the room hears %v", reply, outcome)
			}
			notice, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
				return e.MsgType() == "m.notice" && e.Relation().EventID == event.ID && strings.HasPrefix(e.Body(), "Thank you.")
			})
			if err != nil || notice.Sender != bot {
				t.Errorf("%s: nobody is thanked: %v", reply, err)
			}
		}
		planner.turn = 10
		gone := planner.proposes("Is it gone?", "fact:gone")
		planner.turn = 15
		_, err = planner.queue.Use(s.ctx, schema.KeysBody{Keys: []string{"fact:gone"}, Turn: 15})
		s.ok(err)
		q, _ = planner.asks()
		_, err = planner.queue.Gone(s.ctx, schema.KeysBody{Keys: []string{"fact:gone"}, Turn: 15})
		s.ok(err)
		planner.becomes(gone.CandidateID, "expired")
		if outcome := s.outcome(s.alice, q); outcome["state"] != "cancelled" || outcome["reason"] != "expired" {
			t.Errorf("what is gone: the room hears %v", outcome)
		}
		s.leavesNoTrace(d, pin, "4711-yellow", "lunch yet")
	})
}

// shown gives a command in the thread of a question, which it does not answer, and wants this reply.
func (s *stage) shown(u *testserver.User, question testserver.Event, command, reply string) {
	s.t.Helper()
	_, err := u.ThreadReply(s.ctx, s.room, question.ID, command)
	s.ok(err)
	_, err = u.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.notice" && e.Body() == reply
	})
	s.ok(err)
}

// toldOfCandidates waits for so many webhook events of answered candidates, and gives them by agent.
func (s *stage) toldOfCandidates(came <-chan hooked, n int) map[string]candidateAnswered {
	s.t.Helper()
	told := map[string]candidateAnswered{}
	for range n {
		select {
		case h := <-came:
			var e candidateAnswered
			s.ok(json.Unmarshal([]byte(h.Body), &e))
			told[e.AgentID] = e
		case <-s.ctx.Done():
			s.t.Fatalf("told %v", told)
		}
	}
	return told
}

type candidateAnswered struct {
	Event       string            `json:"event"`
	AgentID     string            `json:"agent_id"`
	CandidateID string            `json:"candidate_id"`
	Evidence    []schema.Evidence `json:"evidence"`
}

// leavesNoTrace wants none of the texts in the database, in SQLite's log, or in what the bridge has logged.
func (s *stage) leavesNoTrace(d config.Database, texts ...string) {
	s.t.Helper()
	s.ok(s.bridge.Process.Signal(syscall.SIGTERM)) // which truncates SQLite's log
	s.gone()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	store, err := sqlstore.Open(s.ctx, databaseOf(cfg, zerolog.Nop()))
	s.ok(err)
	defer store.Close()
	look := func(text string) (found int) {
		mentions, err := store.Mentions(s.ctx, text)
		s.ok(err)
		return len(mentions)
	}
	if look("Is the freeze over?") == 0 {
		s.t.Error("the test looks in the wrong places")
	}
	for _, text := range texts {
		if n := look(text); n > 0 {
			s.t.Errorf("%q is in %d columns", text, n)
		}
		if strings.Contains(s.log.String(), text) {
			s.t.Errorf("%q is in the log", text)
		}
		if d.Path == "" {
			continue
		}
		for _, suffix := range []string{"", "-wal"} {
			if file, err := os.ReadFile(d.Path + suffix); err == nil && bytes.Contains(file, []byte(text)) {
				s.t.Errorf("%q is in the file%s", text, suffix)
			}
		}
	}
}

// TestKilledBeforeTheEvidence: the answer is stored and its evidence is not counted when the bridge dies; afterwards it is,
// once.
func TestKilledBeforeTheEvidence(t *testing.T) {
	s := newStage(t)
	s.start("evidence")
	planner := s.hostOf("planner")
	c := planner.proposes("Is the freeze over?", "fact:freeze")
	q, event := planner.asks()
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	s.gone()
	s.start("")
	if got := planner.becomes(c.CandidateID, "answered"); *got.AnswerOption != 0 {
		t.Errorf("the candidate: %+v", got)
	}
	planner.observed("fact:freeze", 3)
	s.toldOnce(q)
	s.kill()
	s.start("")
	planner.observed("fact:freeze", 3)
}

// TestQueueInARoomThatIsShut: where the bot is not, nothing is delivered and nothing spent; the same turn asks elsewhere.
func TestQueueInARoomThatIsShut(t *testing.T) {
	s := newStage(t)
	shut, err := s.alice.CreateRoom(s.ctx, testserver.Room{})
	s.ok(err)
	s.start("")
	planner := s.hostOf("planner")
	c := planner.proposes("Is the freeze over?", "fact:freeze")
	_, err = planner.queue.Next(s.ctx, schema.NextBody{Turn: 0, Room: shut})
	s.refused(err, http.StatusConflict, "room_unanswerable")
	if got := planner.becomes(c.CandidateID, "pending"); got.AskCount != 0 {
		t.Errorf("the candidate: %+v", got)
	}
	if q, _ := planner.asks(); q == "" {
		t.Error("the budget is spent")
	}
}
