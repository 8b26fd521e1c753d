package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// approval is the content of the field cases' $a1: an exact operation, with one option for admins alone.
func approval(change func(content, subject map[string]any)) map[string]any {
	option := func(id, label, meaning, scope string) map[string]any {
		return map[string]any{"id": id, "label": label, "meaning": meaning, "needs_comment": false, "scope": scope}
	}
	always := option("always", "Always allow", "approve", "always")
	always["requires"] = "workspace-admin"
	subject := map[string]any{
		"id": "s1", "digest": "D1", "schema": "salaam-operation/v1", "revision": 1, "expires_at": nil, "preview_complete": true,
		"preview": []any{map[string]any{"type": "text", "text": "rm -rf ./build"}},
	}
	content := map[string]any{
		"msgtype": "m.text", "body": "x", "suite_event_type": schema.EventType, "schema_version": 1, "elicitation_id": "elc_9b44", "board_id": "brd_1",
		"card_id": "crd_1", "run_id": "r", "stage_key": "build", "card_title": "Clean", "asked_by": "agt_1", "question": "Clean up?", "subject": subject,
		"options": []any{option("approve", "Approve", "approve", "once"), option("approve-run", "Approve for this run", "approve", "run"), always, option("deny", "Deny", "reject", "once")},
	}
	if change != nil {
		change(content, subject)
	}
	return content
}

// askedV2 asks a question.v2 content.
func (r *rig) askedV2(content map[string]any) (bridge.Question, error) {
	r.t.Helper()
	q := asV2(r.t, content)
	q.ID, q.Asker, q.AskedBy, q.Digest = bridge.NewQuestionID(), "ci", "ci", string(bridge.NewQuestionID())
	q.CreatedAt, q.ExpiresAt, q.ForgetAfter = r.clock.Now(), r.clock.Now().Add(time.Hour), r.clock.Now().Add(24*time.Hour)
	q, _, err := r.engine.Ask(r.t.Context(), q)
	return q, err
}

func (r *rig) askV2(content map[string]any) (bridge.Question, string) {
	r.t.Helper()
	q, err := r.askedV2(content)
	noError(r.t, err)
	r.pump()
	q = r.question(q.ID)
	return q, string(q.Delivery.Message)
}

// contentOf is what stands in the room under an event id.
func (r *rig) contentOf(m string) map[string]any {
	r.t.Helper()
	for _, e := range r.server.sent(room, "m.room.message") {
		if e["event_id"] == m {
			return e["content"].(map[string]any)
		}
	}
	r.t.Fatalf("there is no %s", m)
	return nil
}

// decided is a structured answer about the subject of an approval.
func decided(q bridge.Question, m, option string, subject map[string]any) string {
	content := map[string]any{
		"msgtype": "m.text", "body": option, "suite_event_type": answerType, "elicitation_id": q.ElicitationID, "option_id": option,
		"m.relates_to": map[string]any{"rel_type": "m.reference", "event_id": m},
	}
	if subject != nil {
		content["subject"] = subject
	}
	raw, _ := json.Marshal(content)
	return string(raw)
}

func exactly(digest string, revision int) map[string]any {
	return map[string]any{"id": "s1", "digest": digest, "schema": "salaam-operation/v1", "revision": revision}
}

func overHTTP(option bridge.OptionID, subject *bridge.SubjectRef) bridge.Choice {
	return bridge.Choice{Via: bridge.ViaAPI, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{option}}}, Subject: subject}
}

func isRoot(c *Config) { c.Admins.Users = []bridge.UserID{"@root:ex.org"} }

// seeded are the number reactions that the bridge put up at a message.
func (r *rig) seeded(m string) (keys []string) {
	for _, e := range r.server.sent(room, "m.reaction") {
		if relates := e["content"].(map[string]any)["m.relates_to"].(map[string]any); relates["event_id"] == m {
			keys = append(keys, relates["key"].(string))
		}
	}
	return keys
}

// With approvals.by_reply, what the bridge posts says that a reply can approve it, and one can: in the thread, as a reply
// or as a reaction, by somebody who may.
func TestApprovedByReply(t *testing.T) {
	for name, c := range map[string]struct {
		who, kind string
		content   func(m string) string
		want      string
	}{
		"a threaded number":     {"@dana:ex.org", "m.room.message", func(m string) string { return threadReply(m, "1") }, "answered approve by @dana:ex.org"},
		"a rich reply":          {"@dana:ex.org", "m.room.message", func(m string) string { return inReply(m, "approve for this RUN") }, "answered approve-run by @dana:ex.org"},
		"a reaction":            {"@dana:ex.org", "m.reaction", func(m string) string { return react(m, "2️⃣") }, "answered approve-run by @dana:ex.org"},
		"an admin's":            {"@root:ex.org", "m.room.message", func(m string) string { return threadReply(m, "3") }, "answered always by @root:ex.org"},
		"for admins alone":      {"@dana:ex.org", "m.room.message", func(m string) string { return threadReply(m, "3") }, "pending"},
		"a thumb":               {"@dana:ex.org", "m.reaction", func(m string) string { return react(m, "👍") }, "pending"},
		"without any relation":  {"@dana:ex.org", "m.room.message", func(string) string { return `{"msgtype":"m.text","body":"1"}` }, "pending"},
		"somebody outside":      {"@eve:ex.org", "m.room.message", func(m string) string { return threadReply(m, "1") }, "pending"},
		"a notice":              {"@dana:ex.org", "m.room.message", func(m string) string { return strings.Replace(threadReply(m, "1"), "m.text", "m.notice", 1) }, "pending"},
		"declined by its label": {"@dana:ex.org", "m.room.message", func(m string) string { return threadReply(m, "deny") }, "answered deny by @dana:ex.org"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, isRoot)
			r.engine.ByReply = bridge.ByReplyComplete
			q, m := r.askV2(approval(nil))
			content := r.contentOf(m)
			for _, field := range []string{"body", "formatted_body"} {
				for _, shown := range []string{"rm -rf ./build", "s1", "revision 1", "D1", "A reply here can approve or decline it."} {
					if !strings.Contains(content[field].(string), shown) {
						t.Errorf("%s does not show %q: %s", field, shown, content[field])
					}
				}
			}
			if keys := r.seeded(m); !slices.Equal(keys, []string{"1️⃣", "2️⃣", "4️⃣"}) {
				t.Errorf("put up %q, want a number for every option but that of the admins", keys)
			}
			r.put("1", r.says(c.who, c.kind, c.content(m)))
			r.work()
			r.expect(q.ID, c.want)
		})
	}
}

func TestNotApprovedByReply(t *testing.T) {
	link := func(_, s map[string]any) {
		s["preview"] = []any{map[string]any{"type": "link", "label": "Diff", "url": "https://ex.org/d"}}
	}
	lapsed := func(_, s map[string]any) { s["expires_at"] = testStart.Add(30 * time.Second).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		byReply bridge.ByReply
		change  func(content, subject map[string]any)
		code    string
	}{
		"unless it is configured":     {bridge.ByReplyNever, nil, "A reply or reaction cannot choose this"},
		"where a link is not shown":   {bridge.ByReplyComplete, link, "A reply or reaction cannot choose this"},
		"where the preview is partly": {bridge.ByReplyComplete, func(_, s map[string]any) { s["preview_complete"] = false }, "The preview is incomplete"},
		"where there is no preview":   {bridge.ByReplyComplete, func(_, s map[string]any) { s["preview"] = []any{} }, "The preview is incomplete"},
		"after it has lapsed":         {bridge.ByReplyComplete, lapsed, "What this approves has lapsed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, isRoot)
			r.engine.ByReply = c.byReply
			q, m := r.askV2(approval(c.change))
			r.clock.Move(time.Minute)
			r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")))
			r.put("2", r.says("@sam:ex.org", "m.reaction", react(m, "1️⃣")))
			r.work()
			r.pump()
			r.expect(q.ID, "pending")
			bodies := r.bodies()
			if name != "after it has lapsed" && strings.Contains(bodies[0], "can approve") {
				t.Errorf("posted %q", bodies[0])
			}
			if len(bodies) != 3 || !strings.HasPrefix(bodies[1], c.code) || bodies[1] != bodies[2] {
				t.Errorf("told %q", bodies[1:])
			}
			r.put("3", r.says("@dana:ex.org", "m.room.message", threadReply(m, "4")))
			r.work()
			r.expect(q.ID, "answered deny by @dana:ex.org")
		})
	}
	// An edit never approves, whatever it corrects.
	r := newRig(t, nil)
	r.engine.ByReply = bridge.ByReplyComplete
	q, m := r.askV2(approval(nil))
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "hmm"))) // $p1
	r.put("2", r.says("@dana:ex.org", "m.room.message", correction("$p1", "1")))
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if said := r.bodies(); len(said) != 2 || said[1] != "An edited message cannot approve. Please send your answer as a new reply." {
		t.Errorf("said %q", said)
	}
}

// In a conversation of two, a word without any relation neither approves nor chooses anything about a subject.
func TestUnthreadedNeverChoosesForASubject(t *testing.T) {
	r := newRig(t, nil)
	r.engine.ByReply = bridge.ByReplyComplete
	r.server.addRoom(room, "@dana:ex.org")
	q, m := r.askV2(approval(func(content, _ map[string]any) {
		content["options"].([]any)[1].(map[string]any)["meaning"] = "revise"
	}))
	r.put("1", r.echo(r.server.sent(room, "m.room.message")[0]))
	r.clock.Move(time.Hour - time.Second)
	for i, body := range []string{"1", "Approve", "2", "approve for this run"} {
		r.put(fmt.Sprint("u", i), r.says("@dana:ex.org", "m.room.message", fmt.Sprintf(`{"msgtype":"m.text","body":%q}`, body)))
	}
	r.work()
	r.expect(q.ID, "pending")
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	r.work()
	r.expect(q.ID, "answered approve-run by @dana:ex.org")
}

// What a carrier posted keeps the promise of its body: it says that a reply can only decline, so that is all one can.
func TestCarriedIsNotApprovedByReply(t *testing.T) {
	r := carrierRig(t)
	r.engine.ByReply = bridge.ByReplyComplete
	raw, _ := json.Marshal(approval(func(c, _ map[string]any) { c["elicitation_id"] = "elc_1" }))
	r.put("1", r.says("@pod:ex.org", "m.room.message", string(raw))) // $p1
	r.work()
	r.pump()
	q, _ := r.carried()
	if keys := r.seeded("$p1"); q.ByReply || !slices.Equal(keys, []string{"4️⃣"}) {
		t.Errorf("by reply: %v, put up %q", q.ByReply, keys)
	}
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply("$p1", "1")), r.says("@sam:ex.org", "m.reaction", react("$p1", "1️⃣")))
	r.work()
	r.expect(q.ID, "pending")
}

// The preview is in the event twice then, and the event must still fit: nothing is cut.
func TestByReplyMustFit(t *testing.T) {
	r := newRig(t, nil)
	long := func(content, subject map[string]any) {
		var items []any
		for range 8 {
			items = append(items, map[string]any{"type": "text", "text": strings.Repeat("x", 3500)})
		}
		subject["preview"] = items
	}
	if _, err := r.askedV2(approval(long)); err != nil {
		t.Fatalf("without it: %v", err)
	}
	r.engine.ByReply = bridge.ByReplyComplete
	again := approval(long)
	again["elicitation_id"], again["subject"].(map[string]any)["id"] = "elc_2", "s2"
	if _, err := r.askedV2(again); bridge.CodeOf(err) != bridge.CodeInvalidQuestion || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("with it: %v", err)
	}
}

// An approval by prose counts only while what was approved can be read where it stands.
func TestStands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig, event map[string]any)
		want   bool
	}{
		"as it was posted":           {func(*rig, map[string]any) {}, true},
		"with more in it":            {func(_ *rig, e map[string]any) { e["unsigned"] = map[string]any{"age": 7} }, true},
		"gone":                       {func(r *rig, _ map[string]any) { r.server.rooms[room].events = nil }, false},
		"pruned":                     {func(_ *rig, e map[string]any) { e["content"] = map[string]any{} }, false},
		"redacted, and still there":  {func(_ *rig, e map[string]any) { e["unsigned"] = map[string]any{"redacted_because": map[string]any{}} }, false},
		"somebody else's":            {func(_ *rig, e map[string]any) { e["sender"] = "@eve:ex.org" }, false},
		"of another type":            {func(_ *rig, e map[string]any) { content(e)["suite_event_type"] = "x" }, false},
		"encrypted":                  {func(_ *rig, e map[string]any) { e["content"] = map[string]any{"algorithm": "m.megolm.v1.aes-sha2"} }, false},
		"of another question":        {func(_ *rig, e map[string]any) { content(e)["elicitation_id"] = "elc_other" }, false},
		"without its subject":        {func(_ *rig, e map[string]any) { delete(content(e), "subject") }, false},
		"about another digest":       {func(_ *rig, e map[string]any) { content(e)["subject"].(map[string]any)["digest"] = "D1 " }, false},
		"about another revision":     {func(_ *rig, e map[string]any) { content(e)["subject"].(map[string]any)["revision"] = 2 }, false},
		"about another schema":       {func(_ *rig, e map[string]any) { content(e)["subject"].(map[string]any)["schema"] = "v2" }, false},
		"about another subject's id": {func(_ *rig, e map[string]any) { content(e)["subject"].(map[string]any)["id"] = "s2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.engine.ByReply = bridge.ByReplyComplete
			q, m := r.askV2(approval(nil))
			c.change(r, r.server.sent(room, "m.room.message")[0])
			p, err := r.db.Posting(t.Context(), q.ID)
			noError(t, err)
			if stands, err := r.Stands(t.Context(), q, p); err != nil || stands != c.want {
				t.Errorf("stands: %v, %v", stands, err)
			}
			r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")))
			r.work()
			r.pump()
			if c.want {
				r.expect(q.ID, "answered approve by @dana:ex.org")
				return
			}
			r.expect(q.ID, "pending")
			if said := r.bodies(); len(said) == 0 || !strings.HasPrefix(said[len(said)-1], "The question was removed from the room") {
				t.Errorf("told %q", said)
			}
			r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "4"))) // declining needs nothing to be there
			r.work()
			r.expect(q.ID, "answered deny by @dana:ex.org")
		})
	}
}

func content(e map[string]any) map[string]any { return e["content"].(map[string]any) }

// A homeserver that cannot be asked is no reason to refuse: the approval waits, and counts when it can be checked.
func TestStandsLater(t *testing.T) {
	r := newRig(t, nil)
	r.engine.ByReply = bridge.ByReplyComplete
	q, m := r.askV2(approval(nil))
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.Contains(req.URL.Path, "/event/") {
			return false
		}
		w.WriteHeader(502)
		return true
	})
	r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")))
	r.work()
	r.pump()
	r.expect(q.ID, "pending")
	if said := r.bodies(); len(said) != 1 {
		t.Errorf("told %q", said[1:])
	}
	r.server.intercept(nil)
	r.clock.Move(time.Minute)
	r.work()
	r.expect(q.ID, "answered approve by @dana:ex.org")
}

// Before anything is posted, and once it is known to be redacted, there is nothing that could stand.
func TestNothingStands(t *testing.T) {
	r := newRig(t, nil)
	q, _ := r.askV2(approval(nil))
	p, err := r.db.Posting(t.Context(), q.ID)
	noError(t, err)
	if stands, err := r.Stands(t.Context(), q, bridge.Posting{Conversation: room}); stands || err != nil {
		t.Errorf("unposted: %v, %v", stands, err)
	}
	q.Delivery.Reason = bridge.ReasonRedacted
	if stands, err := r.Stands(t.Context(), q, p); stands || err != nil {
		t.Errorf("redacted: %v, %v", stands, err)
	}
}
