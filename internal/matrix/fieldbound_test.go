package matrix

import (
	"strings"

	"superpipeline.dev/question-bridge/bridge"
)

// askV2 asks about an exact operation, whose ids are new each time.
func (f *field) askV2(change func(content, subject map[string]any)) (bridge.Question, string, map[string]any) {
	f.t.Helper()
	id := bridge.NewQuestionID()
	content := approval(change)
	subject := content["subject"].(map[string]any)
	content["elicitation_id"], subject["id"] = "elc_"+string(id), "s_"+string(id)
	q := asV2(f.t, content)
	q.ID, q.Asker, q.AskedBy, q.Conversation, q.Digest = id, "ci", "ci", bridge.ConversationID(f.room), string(id)
	q, m := f.stands(f.room, q)
	return q, m, map[string]any{"id": subject["id"], "digest": subject["digest"], "schema": subject["schema"], "revision": subject["revision"]}
}

func (f *field) pending(q bridge.Question) {
	f.t.Helper()
	if got, err := f.db.Question(within(f.t), q.ID); err != nil || got.State != bridge.Pending {
		f.t.Errorf("it is %s: %v", got.State, err)
	}
}

func (f *field) refused(q bridge.Question, who, option string, code bridge.Code) {
	f.t.Helper()
	var subject *bridge.SubjectRef
	if q.Subject != nil {
		subject = &q.Subject.SubjectRef
	}
	if _, err := f.engine.Answer(within(f.t), bridge.UserID(who), q.ID, overHTTP(bridge.OptionID(option), subject)); bridge.CodeOf(err) != code {
		f.t.Errorf("%s, %s over HTTP: %v, want %s", who, option, err, code)
	}
	f.pending(q)
}

// fieldA14: who may, is who may at that point of the room's history.
func fieldA14(f *field) {
	f = &field{f.real, f.real.room()}
	ctx := within(f.t)
	gate := func() (bridge.Question, string) { return f.ask(f.room, gated()) }

	q, m := gate() // c: the answer, and then the power goes
	noError(f.t, f.alice.SetPower(ctx, f.room, f.bob.ID, 100))
	f.react(f.bob, m, "3️⃣")
	noError(f.t, f.bob.SetPower(ctx, f.room, f.bob.ID, 0))
	f.expect(q, m, "always", 0)

	q, m = gate() // b: the power is gone
	f.react(f.bob, m, "3️⃣")
	f.say(f.alice, threadReply(m, "2"))
	f.expect(q, m, "skip", 1)

	q, m = gate() // a: gone with the number still in the power levels
	noError(f.t, f.alice.SetPower(ctx, f.room, f.bob.ID, 100))
	noError(f.t, f.bob.Leave(ctx, f.room))
	f.refused(q, f.bob.ID, "always", bridge.CodeNotEligible)
	f.say(f.alice, threadReply(m, "3"))
	f.expect(q, m, "always", 0)

	noError(f.t, f.alice.Invite(ctx, f.room, f.bob.ID)) // d: banned, with a question for nobody else
	_, err := f.bob.Join(ctx, f.room)
	noError(f.t, err)
	direct := plain()
	direct.Scope, direct.Target = bridge.Direct, bridge.UserID(f.bob.ID)
	q, _ = f.ask(f.room, direct)
	noError(f.t, f.bob.SetPower(ctx, f.room, f.bob.ID, 0))
	noError(f.t, f.alice.Ban(ctx, f.room, f.bob.ID))
	f.eventually("the ban was pushed", func() bool { // only what approves is asked anew over HTTP
		rights, err := f.Rights(ctx, q, bridge.UserID(f.bob.ID), false)
		return err == nil && !rights.Member
	})
	f.refused(q, f.bob.ID, "skip", bridge.CodeNotEligible)
}

// fieldB7: in the room, an exact operation can only be declined; what is not shown whole, nobody can approve.
func fieldB7(f *field) {
	q, m, _ := f.askV2(nil)
	f.say(f.bob, threadReply(m, "1"))
	f.say(f.bob, inReply(m, "Approve"))
	f.react(f.alice, m, "1️⃣")
	f.react(f.alice, m, "👍")
	f.say(f.alice, threadReply(m, "3"))
	f.react(f.bob, m, "4️⃣")
	f.expect(q, m, "deny", 2)

	q, m, subject := f.askV2(func(_, s map[string]any) { s["preview_complete"] = false })
	e, err := f.alice.Event(within(f.t), f.room, m)
	noError(f.t, err)
	if strings.Contains(e.Body(), "Approve") || !strings.Contains(e.Body(), "4. Deny") {
		f.t.Errorf("it offers %q", e.Body())
	}
	f.refused(q, f.alice.ID, "approve", bridge.CodePreviewIncomplete)
	f.say(f.alice, decided(q, m, "approve", subject))
	f.say(f.bob, threadReply(m, "1"))
	f.say(f.bob, threadReply(m, "4"))
	f.expect(q, m, "deny", 2)
}

// fieldB8: a structured answer approves what it names exactly.
func fieldB8(f *field) {
	q, m, subject := f.askV2(nil)
	for _, digest := range []string{"d1", "sha256:D1", "D1 ", "D2"} {
		wrong := map[string]any{"id": subject["id"], "digest": digest, "schema": subject["schema"], "revision": 1}
		f.say(f.alice, decided(q, m, "always", wrong))
	}
	f.say(f.alice, decided(q, m, "always", nil))
	f.say(f.bob, decided(q, m, "always", subject)) // no admin
	f.say(f.alice, decided(q, m, "always", subject))
	f.expect(q, m, "always", 2) // a mismatch, to alice; and to bob, that it is for admins
	if got, err := f.db.Question(within(f.t), q.ID); err != nil || string(got.Answer.By.ID) != f.alice.ID || got.Answer.Grant != bridge.GrantAlways {
		f.t.Errorf("answered by %+v, %v", got.Answer, err)
	}
}
