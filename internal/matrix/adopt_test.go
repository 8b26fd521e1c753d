package matrix

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

const carriedQuestion = `{"msgtype":"m.text","body":"May I?","suite_event_type":"dev.superpipeline.question.v2","schema_version":1,
	"elicitation_id":"elc_1","board_id":"brd_1","card_id":"crd_1","run_id":"r","stage_key":"build","card_title":"Upgrade","asked_by":"agt_1",
	"question":"May I?","options":[{"id":"run_them","label":"Run the tests","meaning":"choose","needs_comment":false},
	{"id":"skip","label":"Skip them","meaning":"choose","needs_comment":false}]}`

func carrierRig(t *testing.T) *rig {
	r := newRig(t, func(c *Config) { c.Carriers = []Carrier{{User: "@pod:ex.org", Agent: "pod"}} })
	r.server.addRoom(room, "@root:ex.org", "@dana:ex.org", "@sam:ex.org", "@pod:ex.org")
	return r
}

func (r *rig) carried() (bridge.Question, bool) {
	r.t.Helper()
	q, err := r.db.QuestionByElicitation(r.t.Context(), "pod", "elc_1")
	if bridge.CodeOf(err) == bridge.CodeNotFound {
		return q, false
	}
	noError(r.t, err)
	return q, true
}

func TestAdopt(t *testing.T) {
	r := carrierRig(t)
	r.put("1", r.says("@dana:ex.org", "m.room.message", carriedQuestion)) // not a carrier
	r.work()
	if _, ok := r.carried(); ok {
		t.Fatal("adopted somebody else's question")
	}
	r.put("2", r.says("@pod:ex.org", "m.room.message", carriedQuestion)) // $p2
	r.put("3", r.says("@pod:ex.org", "m.room.message", carriedQuestion)) // the same once more
	r.work()
	r.pump()
	q, ok := r.carried()
	if !ok || q.Asker != "pod" || q.Delivery.State != bridge.Posted || q.Delivery.Message != "$p2" {
		t.Fatalf("adopted: %+v", q)
	}
	r.put("4", r.says("@pod:ex.org", "m.room.message", threadReply("$p2", "1")))
	r.work()
	r.expect(q.ID, "pending") // a carrier never answers
	r.put("5", r.says("@dana:ex.org", "m.room.message", threadReply("$p2", "2")))
	r.work()
	r.pump()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	sent := r.server.sent(room, "m.room.message")
	if len(sent) != 1 {
		t.Fatalf("sent %d messages, want the outcome alone", len(sent))
	}
	content := sent[0]["content"].(map[string]any)
	outcome, _ := content[outcomeKey].(map[string]any)
	relates := content["m.relates_to"].(map[string]any)
	if outcome["board_id"] != "brd_1" || outcome["option_id"] != "skip" || outcome["question_event_id"] != "$p2" || relates["event_id"] != "$p2" {
		t.Errorf("the outcome is %v in %v", outcome, relates)
	}
}

// A carrier's question is never held: not because nobody is there, nor because the room's state cannot be read.
func TestCarriedIsNeverHeld(t *testing.T) {
	r := carrierRig(t)
	server := r.server.rooms[room]
	server.state = append(server.state[:2:2], server.state[len(server.state)-2:]...) // create, power levels, the carrier and the bot
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/state") {
			w.WriteHeader(502)
			return true
		}
		return false
	})
	r.put("1", r.says("@pod:ex.org", "m.room.message", carriedQuestion))
	r.work()
	if q, ok := r.carried(); !ok || q.Delivery.State != bridge.Posted {
		t.Fatalf("adopted: %v, delivery is %+v", ok, q.Delivery)
	}
	r.server.intercept(nil)
	if waiting := r.pump(); len(waiting) != 0 || len(r.server.sent(room, "m.reaction")) != 2 {
		t.Errorf("%d reactions, %v", len(r.server.sent(room, "m.reaction")), waiting)
	}
	if q, _ := r.carried(); q.Delivery.State != bridge.Posted {
		t.Errorf("delivery is %+v", q.Delivery)
	}
}

// A carrier that sends its question again, not knowing whether it arrived, has asked once; a reply to either counts.
func TestCarriedTwice(t *testing.T) {
	r := carrierRig(t)
	r.put("1", r.says("@pod:ex.org", "m.room.message", carriedQuestion), r.says("@pod:ex.org", "m.room.message", carriedQuestion))
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply("$p2", "2")))
	r.work()
	q, _ := r.carried()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	r.pump()
	for _, e := range r.server.sent(room, "m.room.message") {
		if e["content"].(map[string]any)["m.new_content"] != nil {
			t.Error("edited a carrier's message")
		}
	}
}

// boundQuestion is one about a subject until a time.
func boundQuestion(until string) string {
	return strings.Replace(carriedQuestion, "{", `{"subject":{"id":"s","digest":"d","schema":"x/v1","revision":1,"preview":[],"preview_complete":true,"expires_at":`+until+`},`, 1)
}

// C2: a reminder at a time that there is not is left out of a carrier's question, and is said in its warnings.
func TestC2CarriersReminder(t *testing.T) {
	r := carrierRig(t)
	r.put("1", r.says("@pod:ex.org", "m.room.message", strings.Replace(carriedQuestion, "{", `{"deadline":{"remind_at":"2026-13-45T99:99Z","escalate_at":"2026-11-05T10:00Z"},`, 1)))
	r.work()
	r.pump()
	q, ok := r.carried()
	if !ok || q.RemindAt != nil || q.EscalateAt == nil || len(q.Warnings) != 1 || !strings.Contains(q.Warnings[0], "/deadline/remind_at") {
		t.Errorf("adopted: %v, to remind at %v, %q; said %q", ok, q.RemindAt, q.Warnings, r.bodies())
	}
}

func TestRefusedCarrierQuestion(t *testing.T) {
	for name, c := range map[string]struct{ content, rule string }{
		"no meaning": {strings.Replace(carriedQuestion, `"meaning":"choose",`, ``, 1), "schema"},
		"blank body": {strings.Replace(carriedQuestion, `"body":"May I?"`, `"body":" "`, 1), "body"},
		"same ids":   {strings.Replace(carriedQuestion, `"id":"skip"`, `"id":"run_them"`, 1), "unique"},
		// Field cases C1, C2, C5 and C8.
		"C1": {boundQuestion(`"2026-02-30T10:00:00Z"`), "schema"},
		"C2": {boundQuestion(`"2026-12-31T23:59:60Z"`), "schema"},
		"C5": {strings.Replace(carriedQuestion, `"id":"skip"`, `"id":"skip","id":"never"`, 1), "json"},
		"C8": {strings.Replace(carriedQuestion, `"schema_version":1`, `"schema_version":1e1000000`, 1), "json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := carrierRig(t)
			r.put("1", r.says("@pod:ex.org", "m.room.message", c.content))
			r.work()
			r.put("1", r.says("@pod:ex.org", "m.room.message", `{"msgtype":"m.text","body":"hello"}`))
			r.work()
			if q, ok := r.carried(); ok {
				t.Fatalf("adopted: %+v", q)
			}
			sent := r.server.sent(room, "m.room.message")
			if len(sent) != 1 {
				t.Fatalf("said %d things", len(sent))
			}
			content := sent[0]["content"].(map[string]any)
			if content["msgtype"] != "m.notice" || !strings.Contains(content["body"].(string), "“"+c.rule+"”") || content["m.relates_to"].(map[string]any)["event_id"] != "$p1" {
				t.Errorf("said %v", content)
			}
		})
	}
}

// Another content under the same id is a conflict, and is said so.
func TestElicitationConflict(t *testing.T) {
	r := carrierRig(t)
	r.put("1", r.says("@pod:ex.org", "m.room.message", carriedQuestion))
	r.put("2", r.says("@pod:ex.org", "m.room.message", strings.ReplaceAll(carriedQuestion, "May I?", "Really?")))
	r.work()
	if bodies := r.bodies(); len(bodies) != 1 || !strings.Contains(bodies[0], "elicitation_conflict") {
		t.Errorf("said %q", bodies)
	}
}

func TestCarrierEditsAndOldQuestions(t *testing.T) {
	r := carrierRig(t)
	old := r.says("@pod:ex.org", "m.room.message", carriedQuestion)
	r.clock.Move(7 * 24 * time.Hour)
	r.put("1", old)
	r.put("2", r.says("@pod:ex.org", "m.room.message", strings.Replace(carriedQuestion, "{", `{"m.relates_to":{"rel_type":"m.replace","event_id":"$x"},"m.new_content":{},`, 1)))
	r.work()
	if q, ok := r.carried(); ok {
		t.Fatalf("adopted: %+v", q)
	}
	r.put("3", r.says("@pod:ex.org", "m.room.message", carriedQuestion)) // $p3
	edit := `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"x"},"m.relates_to":{"rel_type":"m.replace","event_id":"$p3"}}`
	r.put("4", r.says("@dana:ex.org", "m.room.message", edit))
	r.work()
	q, _ := r.carried()
	r.expect(q.ID, "pending")
	r.put("5", r.says("@pod:ex.org", "m.room.message", edit))
	r.work()
	if q, _ := r.carried(); q.State != bridge.Cancelled || q.Reason != "edited" {
		t.Errorf("after the edit: %s %s", q.State, q.Reason)
	}
}
