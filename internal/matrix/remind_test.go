package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// timed is a question that is reminded of after ten minutes and escalated after twenty.
func (r *rig) timed(q bridge.Question) bridge.Question {
	at := func(d time.Duration) *time.Time { at := r.clock.Now().Add(d); return &at }
	q.RemindAt, q.EscalateAt = at(10*time.Minute), at(20*time.Minute)
	return q
}

// reminders are the messages that notify people about questions that stand in the room already.
func (r *rig) reminders() (all []map[string]any) {
	for _, e := range r.server.sent(room, "m.room.message") {
		if c := content(e); c["msgtype"] == "m.text" && c["suite_event_type"] == nil && c["m.new_content"] == nil {
			all = append(all, c)
		}
	}
	return all
}

func mentioned(c map[string]any) (who []string) {
	ids, _ := c["m.mentions"].(map[string]any)["user_ids"].([]any)
	for _, id := range ids {
		who = append(who, id.(string))
	}
	return who
}

func TestRemindersNotifyWhoMayAnswer(t *testing.T) {
	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, "@dana:ex.org"
	level := int64(100)
	byPower := func(c *Config) { c.Admins.PowerLevel = &level }
	listed := func(c *Config) {
		c.Admins.Users = []bridge.UserID{"@dana:ex.org", "@eve:ex.org"} // eve is not here
	}
	machines := func(c *Config) {
		c.Bots, c.Carriers = []bridge.UserID{"@sam:ex.org"}, []Carrier{{User: "@root:ex.org", Agent: "pod"}}
		c.Admins.Users = []bridge.UserID{"@sam:ex.org", "@root:ex.org"}
	}
	asker := func(c *Config) {
		c.AgentUsers = map[bridge.AgentID][]bridge.UserID{"ci": {"@sam:ex.org"}}
		c.Admins.Users = []bridge.UserID{"@sam:ex.org"}
	}
	all := []string{"@dana:ex.org", "@root:ex.org", "@sam:ex.org"}
	for name, c := range map[string]struct {
		change          func(*Config)
		q               bridge.Question
		reminded, admin []string
	}{
		"everybody who may answer":              {nil, plain(), all, nil},
		"the one it is for":                     {nil, direct, []string{"@dana:ex.org"}, nil},
		"the admins who are here":               {listed, plain(), all, []string{"@dana:ex.org"}},
		"the admins by power":                   {byPower, plain(), all, []string{"@root:ex.org"}},
		"no bots, no relays and no carriers":    {machines, plain(), []string{"@dana:ex.org"}, nil},
		"not the asker":                         {asker, plain(), []string{"@dana:ex.org", "@root:ex.org"}, nil},
		"an admin about somebody else's answer": {byPower, direct, []string{"@dana:ex.org"}, []string{"@root:ex.org"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.change)
			_, m := r.ask(r.timed(c.q))
			r.clock.Move(10 * time.Minute)
			r.pump()
			r.clock.Move(10 * time.Minute)
			r.pump()
			got := r.reminders()
			want := [][]string{c.reminded}
			if c.admin != nil {
				want = append(want, c.admin)
			}
			if len(got) != len(want) {
				t.Fatalf("reminded by %v, want %v", got, want)
			}
			for i, said := range got {
				if who := mentioned(said); !slices.Equal(who, want[i]) {
					t.Errorf("reminder %d notifies %q, want %q", i, who, want[i])
				}
				for _, who := range want[i] {
					if !strings.Contains(said["body"].(string), who) {
						t.Errorf("reminder %d does not name %s: %q", i, who, said["body"])
					}
				}
				relates := said["m.relates_to"].(map[string]any)
				if said["m.mentions"].(map[string]any)["room"] != nil || relates["rel_type"] != "m.thread" || relates["event_id"] != m || said[sendKey] == nil {
					t.Errorf("reminder %d is %v", i, said)
				}
			}
			if !strings.Contains(got[0]["body"].(string), "still waits for an answer") {
				t.Errorf("the reminder is %q", got[0]["body"])
			}
		})
	}
}

// Never more than 20 people by one reminder, and never the room.
func TestRemindersOfACrowd(t *testing.T) {
	r := newRig(t, nil)
	var people []string
	for i := range 30 {
		people = append(people, fmt.Sprintf("@p%02d:ex.org", i))
	}
	r.server.addRoom(room, people...)
	r.ask(r.timed(plain()))
	r.clock.Move(10 * time.Minute)
	r.pump()
	got := r.reminders()
	if len(got) != 1 || !slices.Equal(mentioned(got[0]), people[:20]) || got[0]["m.mentions"].(map[string]any)["room"] != nil {
		t.Errorf("reminded by %v", got)
	}
}

// Where nobody could be reminded, the log says so and nothing is posted.
func TestNobodyToRemind(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(c *Config) { c.Bots = []bridge.UserID{"@root:ex.org", "@dana:ex.org", "@sam:ex.org"} })
	q, _ := r.ask(plain())
	p, err := r.db.Posting(t.Context(), q.ID)
	noError(t, err)
	before := len(r.bodies())
	ctx := zerolog.New(&log).WithContext(t.Context())
	for _, reminder := range []bridge.Reminder{bridge.RemindResponders, bridge.RemindAdmins} {
		noError(t, r.Remind(ctx, q, p, reminder, string(q.ID)+"/"+string(reminder)))
	}
	if said := r.bodies(); len(said) != before || strings.Count(log.String(), "Not reminding") != 2 {
		t.Errorf("said %q, logged %s", said[before:], log.String())
	}
}

// One reminder is one message, though it is tried again after an answer of the homeserver that was lost, and after a
// restart of everything.
func TestRemindedOnce(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.ask(r.timed(plain()))
	cut := true
	r.server.after = func(w http.ResponseWriter, _ *http.Request) {
		if cut {
			cut = false
			panic(http.ErrAbortHandler)
		}
	}
	r.clock.Move(10 * time.Minute)
	r.pump()
	r.server.forgetTransactions()
	r.restart()
	for range 3 {
		r.clock.Move(time.Minute)
		r.pump()
	}
	p, err := r.db.Posting(t.Context(), q.ID)
	noError(t, err)
	noError(t, r.Remind(t.Context(), q, p, bridge.RemindResponders, string(q.ID)+"/remind"))
	if got := r.reminders(); len(got) != 1 || cut {
		t.Errorf("reminded %d times", len(got))
	}
}

// A question is not reminded of before it stands in the room, nor after it has ended.
func TestNotRemindedBeforeOrAfter(t *testing.T) {
	r := newRig(t, nil)
	away := true
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if away && req.Method == http.MethodPut {
			w.WriteHeader(502)
			return true
		}
		return false
	})
	held := r.asked(r.timed(plain()))
	r.clock.Move(10 * time.Minute)
	r.pump()
	if got := r.reminders(); len(got) != 0 {
		t.Fatalf("reminded of what nobody can see: %v", got)
	}
	r.server.mu.Lock()
	away = false
	r.server.mu.Unlock()
	for range 2 {
		r.clock.Move(time.Minute)
		r.pump()
	}
	if got := r.reminders(); r.question(held.ID).Delivery.State != bridge.Posted || len(got) != 1 {
		t.Fatalf("once it is posted: %v", got)
	}
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(string(r.question(held.ID).Delivery.Message), "2")))
	r.work()
	r.pump()
	r.clock.Move(10 * time.Minute)
	r.pump()
	if got := r.reminders(); len(got) != 1 {
		t.Errorf("escalated after it was answered: %v", got)
	}
}

// A reply to a reminder is a reply to its question.
func TestReplyToAReminder(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.ask(r.timed(plain()))
	r.clock.Move(10 * time.Minute)
	r.pump()
	var reminder map[string]any
	for _, e := range r.server.sent(room, "m.room.message") {
		reminder = e
	}
	r.put("1", r.echo(reminder))
	r.put("2", r.says("@dana:ex.org", "m.room.message", inReply(reminder["event_id"].(string), "2")))
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

// An impossible time of a carried question is no reason to refuse it: nobody is reminded, and its asker is told.
func TestCarriedTimesThatCannotCome(t *testing.T) {
	r := carrierRig(t)
	var c map[string]any
	noError(t, json.Unmarshal([]byte(carriedQuestion), &c))
	c["deadline"] = map[string]any{"remind_at": "2026-13-45T99:99Z", "escalate_at": "2026-11-01T11:59:59Z"}
	raw, _ := json.Marshal(c)
	r.put("1", r.says("@pod:ex.org", "m.room.message", string(raw)))
	r.work()
	r.pump()
	q, ok := r.carried()
	if !ok || q.RemindAt != nil || q.EscalateAt != nil || len(q.Warnings) != 2 ||
		!strings.Contains(q.Warnings[0], "/deadline/remind_at is not a time that exists") || !strings.Contains(q.Warnings[1], "/deadline/escalate_at is in the past") {
		t.Fatalf("adopted %v with %v, %v, %q", ok, q.RemindAt, q.EscalateAt, q.Warnings)
	}
	r.clock.Move(6 * 24 * time.Hour)
	r.pump()
	if got := r.reminders(); len(got) != 0 {
		t.Errorf("reminded by %v", got)
	}
}
