package matrix

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// refuses makes the homeserver answer requests whose path ends or goes on like this with a status, or with nothing for 0.
func (r *rig) refuses(path string, status int, body string) {
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.Contains(req.URL.Path+"$", path) {
			return false
		}
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
		return true
	})
}

// members makes the room's state that of a room with these people and the bot, and our copy of it worth nothing.
func (r *rig) members(people ...string) {
	r.t.Helper()
	server := r.server.rooms[room]
	server.state = slices.DeleteFunc(slices.Clone(server.state), func(e map[string]any) bool {
		return e["type"] == "m.room.member" && e["state_key"] != bot && !slices.Contains(people, e["state_key"].(string))
	})
	noError(r.t, r.db.SetDoubtful(r.t.Context(), room))
}

func (r *rig) comes(who string) {
	r.put("d", r.sets(room, who, "m.room.member", who, `{"membership":"join"}`))
	r.work()
}

// ours changes the bot's own membership, which stands last in the state of the room.
func (r *rig) ours(by, membership string) {
	state := r.server.rooms[room].state
	state[len(state)-1] = r.server.stateEvent("m.room.member", bot, by, map[string]any{"membership": membership})
	r.put("d", r.sets(room, by, "m.room.member", bot, `{"membership":"`+membership+`"}`))
	r.work()
}

// deliveries has each reason that a delivery can give: what brings it about before a question is posted, or while it stands there, and
// what ends it.
var deliveries = map[string]struct {
	state  bridge.DeliveryState
	direct bool // the question is for Dana alone
	before func(r *rig)
	asked  func(r *rig)
	stands func(r *rig, m string)
	ends   func(r *rig)
}{
	bridge.ReasonNobody: {
		state: bridge.Queued, before: func(r *rig) { r.members() }, ends: func(r *rig) { r.comes("@dana:ex.org") },
	},
	bridge.ReasonTargetAway: {
		state: bridge.Queued, direct: true, before: func(r *rig) { r.members("@sam:ex.org"); r.refuses("/state$", 500, "{}") },
		asked: func(r *rig) { r.server.intercept(nil) }, ends: func(r *rig) { r.comes("@dana:ex.org") },
	},
	bridge.ReasonUnreadable: {
		state: bridge.Queued, before: func(r *rig) { r.members("@dana:ex.org"); r.refuses("/state$", 500, "{}") },
		ends: func(r *rig) { r.server.intercept(nil) },
	},
	bridge.ReasonUnreachable: {
		state: bridge.Queued, before: func(r *rig) { r.members("@dana:ex.org"); r.refuses("", 0, "") },
		ends: func(r *rig) { r.server.intercept(nil) },
	},
	bridge.ReasonBusy: {
		state: bridge.Queued, before: func(r *rig) { r.refuses("/send/", 429, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":30000}`) },
		ends: func(r *rig) { r.server.intercept(nil) },
	},
	bridge.ReasonNoKeys: {
		state: bridge.Queued, before: func(r *rig) { r.encrypts().devices = map[bridge.UserID]bool{bot: true} },
		ends: func(r *rig) { r.cipher.(*fakeCipher).devices["@dana:ex.org"] = true },
	},
	bridge.ReasonNotBegun: {
		state: bridge.Queued, before: func(r *rig) { r.encrypts().fails = errNotBegun },
		ends: func(r *rig) { r.cipher.(*fakeCipher).fails = nil },
	},
	bridge.ReasonNotInRoom: {
		state: bridge.Unanswerable, asked: func(r *rig) { r.ours("@root:ex.org", "ban") },
		ends: func(r *rig) { r.ours(bot, "join") },
	},
	bridge.ReasonEncrypted: {
		state: bridge.Unanswerable, asked: func(r *rig) {
			r.put("d", r.sets(room, "@root:ex.org", "m.room.encryption", "", `{"algorithm":"m.megolm.v1.aes-sha2"}`))
			r.work()
		},
	},
	bridge.ReasonRoomUpgraded: {
		state: bridge.Unanswerable, stands: func(r *rig, _ string) {
			r.put("d", r.sets(room, "@root:ex.org", "m.room.tombstone", "", `{"replacement_room":"!new:ex.org"}`))
			r.work()
		},
		ends: func(r *rig) {
			server := r.server.addRoom("!new:ex.org", "@root:ex.org", "@dana:ex.org")
			server.state[0]["content"] = map[string]any{"room_version": "11", "predecessor": map[string]any{"room_id": room}}
			r.put("d", r.invite("!new:ex.org", "@root:ex.org"))
			r.work()
		},
	},
	bridge.ReasonNotPermitted: {
		state: bridge.Failed, before: func(r *rig) { r.refuses("/send/", 403, `{"errcode":"M_FORBIDDEN"}`) },
		ends: func(r *rig) {
			r.server.intercept(nil)
			r.put("d", r.sets(room, "@root:ex.org", "m.room.power_levels", "", `{"users":{"@root:ex.org":100,"`+bot+`":50}}`))
			r.work()
		},
	},
	bridge.ReasonTooLarge: {
		state: bridge.Failed, before: func(r *rig) { r.refuses("/send/", 413, `{"errcode":"M_TOO_LARGE"}`) },
	},
	bridge.ReasonRefused: {
		state: bridge.Failed, before: func(r *rig) { r.refuses("/send/", 400, `{"errcode":"M_BAD_JSON"}`) },
	},
	bridge.ReasonUnwritable: { // by a bridge that has become stricter since the question was asked
		state: bridge.Failed, asked: func(r *rig) {
			_, err := r.db.Database().Exec(r.t.Context(), `UPDATE questions SET definition = REPLACE(definition, 'Skip them', ' ')`)
			noError(r.t, err)
		},
	},
	bridge.ReasonRedacted: {
		state: bridge.Failed, stands: func(r *rig, m string) {
			r.put("d", r.says("@root:ex.org", "m.room.redaction", `{"redacts":"`+m+`"}`))
			r.work()
		},
	},
}

// TestDeliveryReasons brings every reason about. Its asker sees it, with a sentence, and a question whose reason ends is
// posted.
func TestDeliveryReasons(t *testing.T) {
	for _, reason := range bridge.DeliveryReasons() {
		t.Run(reason, func(t *testing.T) {
			c, ok := deliveries[reason]
			if !ok {
				t.Fatal("nothing brings this about")
			}
			r := newRig(t, func(c *Config) { c.Keycaps = false })
			if c.before != nil {
				c.before(r)
			}
			q := plain()
			if c.direct {
				q.Scope, q.Target = bridge.Direct, "@dana:ex.org"
			}
			q = r.asked(q)
			if c.asked != nil {
				c.asked(r)
			}
			r.pump()
			if c.stands != nil {
				c.stands(r, string(r.question(q.ID).Delivery.Message))
			}
			d := r.question(q.ID).Delivery
			if d.State != c.state || d.Reason != reason || len(strings.Fields(d.Detail())) < 8 || !strings.HasSuffix(d.Detail(), ".") {
				t.Errorf("delivery is %+v: %s", d, d.Detail())
			}
			r.expect(q.ID, "pending")
			if c.ends == nil {
				return
			}
			c.ends(r)
			r.clock.Move(time.Minute)
			r.pump()
			if d := r.question(q.ID).Delivery; d.State != bridge.Posted || d.Reason != "" || d.Detail() != "" || d.Message == "" {
				t.Errorf("afterwards, delivery is %+v", d)
			}
		})
	}
}

// TestDeliveryOfASend: while a send fails, its asker sees why, and nothing is said of one that may have arrived.
func TestDeliveryOfASend(t *testing.T) {
	for status, want := range map[int]string{500: bridge.ReasonUnreachable, 502: bridge.ReasonUnreachable, 0: bridge.ReasonUnreachable} {
		r := newRig(t, func(c *Config) { c.Keycaps = false })
		r.refuses("/send/", status, "{}")
		q := r.asked(plain())
		r.pump()
		if d := r.question(q.ID).Delivery; d != (bridge.Delivery{State: bridge.Queued, Reason: want}) {
			t.Errorf("%d: delivery is %+v", status, d)
		}
		r.server.intercept(nil)
		r.clock.Move(time.Minute)
		r.pump()
		if got := r.delivery(q.ID); got != "posted" {
			t.Errorf("%d: delivery is %s", status, got)
		}
	}
}

// TestDeliveryOfAStep: the next step of a set has a delivery of its own, and the question's message stays known.
func TestDeliveryOfAStep(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string
	}{{413, "failed too_large"}, {502, "queued homeserver_unreachable"}, {403, "failed not_permitted_to_send"}} {
		r := newRig(t, func(c *Config) { c.Keycaps = false })
		set := plain()
		set.Items[0].Header = "tests"
		set.Items = append(set.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
		q, m := r.ask(set)
		r.refuses("/send/", c.status, "{}")
		r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")))
		r.work()
		r.pump()
		if d := r.question(q.ID).Delivery; r.delivery(q.ID) != c.want || string(d.Message) != m {
			t.Errorf("%d: delivery is %+v", c.status, d)
		}
		r.server.intercept(nil)
		r.put("2", r.sets(room, "@root:ex.org", "m.room.power_levels", "", `{"users":{"@root:ex.org":100}}`))
		r.work()
		r.clock.Move(time.Hour)
		r.pump()
		if got := r.delivery(q.ID); (got == "posted") != (c.status != 413) {
			t.Errorf("%d: afterwards, delivery is %s", c.status, got)
		}
	}
}

// TestTargets: a direct question is for somebody in the room who can answer, and not for whoever asks or any machine.
// While the room cannot be read, only the latter is known.
func TestTargets(t *testing.T) {
	for target, can := range map[bridge.UserID]bool{
		"@dana:ex.org": true, "@stranger:ex.org": false, "@left:ex.org": false, bot: false, "@robot:ex.org": false, "@ci:ex.org": false, "@pod:ex.org": false,
	} {
		r := newRig(t, func(c *Config) {
			c.Bots, c.AgentUsers = []bridge.UserID{"@robot:ex.org"}, map[bridge.AgentID][]bridge.UserID{"ci": {"@ci:ex.org"}}
			c.Carriers = []Carrier{{User: "@pod:ex.org", Agent: "ci"}}
		})
		r.server.addRoom(room, "@root:ex.org", "@dana:ex.org", "@robot:ex.org", "@ci:ex.org", "@pod:ex.org")
		r.server.rooms[room].state = append(r.server.rooms[room].state,
			r.server.stateEvent("m.room.member", "@left:ex.org", "@left:ex.org", map[string]any{"membership": "leave"}))
		if err := r.askFor(target); (err == nil) != can || err != nil && bridge.CodeOf(err) != bridge.CodeTargetNotPermitted {
			t.Errorf("%s: %v", target, err)
		}
		noError(t, r.db.SetDoubtful(t.Context(), room))
		r.refuses("/state$", 500, "{}")
		known := target == bot || target == "@robot:ex.org" || target == "@ci:ex.org" || target == "@pod:ex.org"
		if err := r.askFor(target); (bridge.CodeOf(err) == bridge.CodeTargetNotPermitted) != known || err != nil && !known {
			t.Errorf("%s, while the room cannot be read: %v", target, err)
		}
	}
}

func (r *rig) askFor(target bridge.UserID) error {
	q := plain()
	q.ID = bridge.NewQuestionID()
	q.Conversation, q.Dialect, q.Asker, q.ElicitationID = room, bridge.Core, "ci", string(q.ID)
	q.Scope, q.Target = bridge.Direct, target
	q.CreatedAt, q.ExpiresAt, q.ForgetAfter = r.clock.Now(), r.clock.Now().Add(time.Hour), r.clock.Now().Add(24*time.Hour)
	_, _, err := r.engine.Ask(r.t.Context(), q)
	var refused *bridge.Error
	if errors.As(err, &refused) && refused.Field != "/target_user_id" {
		r.t.Errorf("%s: refused at %s", target, refused.Field)
	}
	return err
}
