package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// B7: the room can only decline an exact operation; one that is not shown whole, nobody can approve at all.
func TestB7(t *testing.T) {
	declines := map[string]func(r *rig, m string) string{
		"4":    func(r *rig, m string) string { return r.says("@dana:ex.org", "m.room.message", threadReply(m, "4")) },
		"Deny": func(r *rig, m string) string { return r.says("@dana:ex.org", "m.room.message", inReply(m, "Deny")) },
		"4️⃣":  func(r *rig, m string) string { return r.says("@dana:ex.org", "m.reaction", react(m, "4️⃣")) },
	}
	for name, decline := range declines {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, isRoot).hooked()
			q, m := r.askV2(approval(nil))
			r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, "1")), r.says("@dana:ex.org", "m.room.message", inReply(m, "Approve")))
			r.put("2", r.says("@root:ex.org", "m.reaction", react(m, "1️⃣")), r.says("@root:ex.org", "m.reaction", react(m, "👍")), r.says("@root:ex.org", "m.room.message", threadReply(m, "3")))
			r.work()
			r.pump()
			r.expect(q.ID, "pending")
			said := r.bodies()
			if len(said) != 3 || !strings.Contains(said[1], "it can only decline it") || !strings.Contains(said[1], "question answer "+string(q.ID)) || said[2] != said[1] {
				t.Errorf("told %q", said[1:])
			}
			if len(r.hooks) != 0 {
				t.Errorf("the webhook was told %q", r.hooks)
			}
			r.put("3", decline(r, m))
			r.work()
			r.expect(q.ID, "answered deny by @dana:ex.org")
			r.hookOf(q.ID, "question.answered")
		})
	}
	for name, change := range map[string]func(content, subject map[string]any){
		"an incomplete preview":         func(_, s map[string]any) { s["preview_complete"] = false },
		"an empty one that says it all": func(_, s map[string]any) { s["preview"] = []any{} },
	} {
		for _, byReply := range []bridge.ByReply{bridge.ByReplyNever, bridge.ByReplyComplete} {
			t.Run(name+", by_reply "+string(byReply), func(t *testing.T) {
				r := newRig(t, isRoot)
				r.engine.ByReply = byReply
				q, m := r.askV2(approval(change))
				if body := r.bodies()[0]; strings.Contains(body, "Approve") || strings.Contains(body, "Always") || !strings.Contains(body, "4. Deny") {
					t.Errorf("it offers what nobody can choose: %q", body)
				}
				if keys := r.seeded(m); !slices.Equal(keys, []string{"4️⃣"}) && len(keys) != 0 {
					t.Errorf("put up %q", keys)
				}
				ref := q.Subject.SubjectRef
				if _, err := r.engine.Answer(t.Context(), "@root:ex.org", q.ID, overHTTP("approve", &ref)); bridge.CodeOf(err) != bridge.CodePreviewIncomplete {
					t.Errorf("over HTTP: %v", err)
				}
				r.put("1", r.says("@root:ex.org", "m.room.message", decided(q, m, "approve", exactly("D1", 1))), r.says("@root:ex.org", "m.room.message", threadReply(m, "1")),
					r.says("@root:ex.org", "m.reaction", react(m, "1️⃣")))
				r.work()
				r.expect(q.ID, "pending")
				if got, err := r.engine.Answer(t.Context(), "@dana:ex.org", q.ID, overHTTP("deny", nil)); err != nil || got.Answer == nil || got.Answer.Meaning != bridge.Reject {
					t.Errorf("declined over HTTP: %+v, %v", got, err)
				}
				again := approval(change)
				again["elicitation_id"], again["subject"].(map[string]any)["revision"] = "elc_2", 2
				q, m = r.askV2(again)
				r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, "4")))
				r.work()
				r.expect(q.ID, "answered deny by @dana:ex.org")
			})
		}
	}
}

// B8: an approval is of exactly one id, digest, schema and revision, and of nothing that came before or after it.
func TestB8(t *testing.T) {
	r := newRig(t, isRoot).hooked()
	first, m1 := r.askV2(approval(nil))
	for i, digest := range []string{"D2", "d1", "sha256:D1", "D1 ", " D1", "D1\n", ""} {
		ref := first.Subject.SubjectRef
		ref.Digest = digest
		if _, err := r.engine.Answer(t.Context(), "@root:ex.org", first.ID, overHTTP("approve", &ref)); bridge.CodeOf(err) != bridge.CodeSubjectMismatch {
			t.Errorf("digest %q over HTTP: %v", digest, err)
		}
		r.put(fmt.Sprint("d", i), r.says("@root:ex.org", "m.room.message", decided(first, m1, "approve", exactly(digest, 1))))
	}
	for i, other := range []map[string]any{
		nil, exactly("D1", 2), exactly("D1", 0), {"id": "s2", "digest": "D1", "schema": "salaam-operation/v1", "revision": 1},
		{"id": "s1", "digest": "D1", "schema": "salaam-operation/v2", "revision": 1}, {"id": "s1", "digest": "D1", "revision": 1},
		{"id": "s1", "digest": "D1", "schema": "salaam-operation/v1", "revision": "1"},
	} {
		r.put(fmt.Sprint("o", i), r.says("@root:ex.org", "m.room.message", decided(first, m1, "approve", other)))
	}
	if _, err := r.engine.Answer(t.Context(), "@root:ex.org", first.ID, overHTTP("approve", nil)); bridge.CodeOf(err) != bridge.CodeSubjectMismatch {
		t.Errorf("without a subject: %v", err)
	}
	r.work()
	r.expect(first.ID, "pending")

	next := approval(func(c, s map[string]any) { c["elicitation_id"], s["digest"], s["revision"] = "elc_2", "D2", 2 })
	second, m2 := r.askV2(next)
	r.hookOf(first.ID, "question.cancelled")
	if shown := r.shown(m1); !strings.HasPrefix(shown, "Replaced by a newer question.") {
		t.Errorf("the first shows %q", shown)
	}
	for _, digest := range []string{"D1", "D2"} { // the first is over, whatever is sent to it
		ref := first.Subject.SubjectRef
		ref.Digest = digest
		if got, err := r.engine.Answer(t.Context(), "@root:ex.org", first.ID, overHTTP("approve", &ref)); err != nil || got.State != bridge.Cancelled || got.Answer != nil {
			t.Errorf("the first, by %s: %s with %v, %v", digest, got.State, got.Answer, err)
		}
	}
	r.put("late", r.says("@root:ex.org", "m.room.message", decided(first, m1, "approve", exactly("D1", 1))))
	r.work()
	r.pump()
	if said := r.bodies(); !strings.Contains(said[len(said)-1], "Replaced by a newer question.") {
		t.Errorf("told %q", said[len(said)-1])
	}
	old := first.Subject.SubjectRef // what was right for the first approves nothing of the second
	if _, err := r.engine.Answer(t.Context(), "@root:ex.org", second.ID, overHTTP("approve", &old)); bridge.CodeOf(err) != bridge.CodeSubjectMismatch {
		t.Errorf("the second, by the first's subject: %v", err)
	}
	r.expect(second.ID, "pending")
	r.put("always", r.says("@root:ex.org", "m.room.message", decided(second, m2, "always", exactly("D2", 2))))
	r.work()
	r.expect(second.ID, "answered always by @root:ex.org")
	if a := r.question(second.ID).Answer; a.Grant != bridge.GrantAlways || *a.Subject != second.Subject.SubjectRef {
		t.Errorf("the answer is %+v", a)
	}
	// A grant of always answers nothing by itself.
	third, _ := r.askV2(approval(func(c, s map[string]any) { c["elicitation_id"], s["digest"], s["revision"] = "elc_3", "D3", 3 }))
	same, _ := r.askV2(approval(func(c, s map[string]any) { c["elicitation_id"], s["digest"], s["revision"] = "elc_4", "D3", 3 }))
	r.expect(third.ID, "pending")
	r.expect(same.ID, "pending")
	if _, err := r.engine.Cancel(t.Context(), "ci", third.ID); err != nil {
		t.Fatal(err)
	}
	ref := third.Subject.SubjectRef
	if got, err := r.engine.Answer(t.Context(), "@root:ex.org", third.ID, overHTTP("approve", &ref)); err != nil || got.State != bridge.Cancelled || got.Answer != nil {
		t.Errorf("after it was cancelled: %s, %v", got.State, err)
	}
	r.hookOf(second.ID, "question.answered")
	r.hookOf(third.ID, "question.cancelled")
}
