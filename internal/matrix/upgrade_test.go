package matrix

import (
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// replace closes the room and opens the next, which the bot can join.
func (r *rig) replace(next string) {
	server := r.server.addRoom(next, "@root:ex.org", "@dana:ex.org")
	server.state[0]["content"] = map[string]any{"room_version": "11", "predecessor": map[string]any{"room_id": room}}
	r.put("tombstone", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"`+next+`"}`))
	r.work()
	r.clock.Move(time.Minute)
	r.pump()
}

// A11: whether the question was posted in the old room is not known when that is replaced. It is posted once in the new
// one all the same.
func TestA11LostAnswer(t *testing.T) {
	for name, post := range map[string]func(r *rig) bridge.Question{
		"the answer was lost": func(r *rig) bridge.Question {
			cut(r, 1)
			q := r.asked(plain())
			r.pump()
			return q
		},
		"the result was not saved": func(r *rig) bridge.Question {
			q := r.asked(plain())
			o := outgoing{key: string(q.ID) + "/render/0", question: q.ID, room: room, kind: "m.room.message", content: map[string]any{}}
			_, err := r.sends.send(t.Context(), o)
			noError(t, err)
			return q
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Keycaps = false })
			q := post(r)
			r.replace("!new:ex.org")
			posted := r.server.sent("!new:ex.org", "m.room.message")
			if d := r.question(q.ID).Delivery; len(posted) != 1 || d.State != bridge.Posted || string(d.Message) != posted[0]["event_id"] {
				t.Errorf("posted %d times in the new room, delivery is %+v", len(posted), d)
			}
		})
	}
}

// A11: a set goes on in the new room with the step where it stood.
func TestA11Set(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q := plain()
	q.Items[0].Header = "tests"
	q.Items = append(q.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
	q, m := r.ask(q)
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.pump()
	r.replace("!new:ex.org")
	posted := r.server.sent("!new:ex.org", "m.room.message")
	if len(posted) != 1 || posted[0]["content"].(map[string]any)["elicitation_id"] != string(q.ID)+"/2" {
		t.Fatalf("the new room has %v", posted)
	}
	r.put("2", strings.Replace(r.says("@dana:ex.org", "m.room.message", threadReply(posted[0]["event_id"].(string), "main")), room, "!new:ex.org", 1))
	r.work()
	r.expect(q.ID, `answered skip/"main" by @dana:ex.org`)
}

// A11: in the room that was closed nothing is an answer any more, whoever still may write there.
func TestA11OldRoom(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps = false })
	q, m := r.ask(plain())
	r.put("1", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"!later:ex.org"}`), r.says("@root:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "pending")
	if bodies := r.bodies(); len(bodies) != 1 {
		t.Errorf("said %q", bodies)
	}
	server := r.server.addRoom("!later:ex.org", "@root:ex.org", "@dana:ex.org")
	server.state[0]["content"] = map[string]any{"room_version": "11", "predecessor": map[string]any{"room_id": room}}
	r.put("2", r.invite("!later:ex.org", "@root:ex.org"), r.says("@root:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if d := r.question(q.ID); d.Conversation != "!later:ex.org" || d.Delivery.State != bridge.Posted {
		t.Errorf("it stands in %s: %+v", d.Conversation, d.Delivery)
	}
}
