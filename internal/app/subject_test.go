package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// exactly is a question.v2 content about one revision of a subject, with an option that approves it and one that declines.
func exactly(id string, revision int, digest string) map[string]any {
	return elicitation(id, map[string]any{
		"options": []any{
			map[string]any{"id": "approve", "label": "Approve", "meaning": "approve", "needs_comment": false},
			map[string]any{"id": "deny", "label": "Deny", "meaning": "reject", "needs_comment": false},
		},
		"subject": map[string]any{
			"id": "s1", "digest": digest, "schema": "salaam-operation/v1", "revision": revision, "expires_at": nil, "preview_complete": true,
			"preview": []any{map[string]any{"type": "text", "text": "rm -rf ./build"}},
		},
	})
}

// TestSupersede: a later revision replaces the question about an earlier one, which closes where people see it; an earlier
// revision, and the same one with another digest, are refused: over HTTP, and to a carrier in the thread of its event.
func TestSupersede(t *testing.T) {
	s := newStage(t)
	s.start("")
	first, event := s.askElicitation(exactly("elc_1", 1, "D1"))
	second, _ := s.askElicitation(exactly("elc_2", 2, "D2"))
	s.replaced("elc_1", event)
	status, q := s.get(first)
	if status != 200 || q["state"] != "cancelled" || q["cancelled_by"] != "superseded" || q["answer"] != nil {
		t.Errorf("the first is %v", q)
	}
	for _, late := range []string{"2", "deny"} { // who comes late is told that there is a newer one
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, late)
		s.ok(err)
	}
	told, err := s.bob.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		mentioned, _ := e.Field("m.mentions", "user_ids").([]any)
		return slices.Contains(mentioned, any(s.bob.ID))
	})
	s.ok(err)
	if !strings.Contains(told.Body(), "eplaced by a newer question") {
		t.Errorf("told %q", told.Body())
	}
	for name, content := range map[string]map[string]any{
		"an earlier revision":                 exactly("elc_3", 1, "D1"),
		"the same revision of another digest": exactly("elc_4", 2, "D3"),
		"a digest that differs by its case":   exactly("elc_5", 2, "d2"),
	} {
		if status, problem := s.post(asJSON(content)); status != 409 || problem["code"] != "subject_conflict" {
			t.Errorf("%s: %d %v", name, status, problem)
		}
	}
	if status, q := s.get(second); status != 200 || q["state"] != "pending" {
		t.Errorf("the second is %v", q)
	}

	// A carrier's questions belong to another asker, whose subjects are its own.
	carry := func(content map[string]any) testserver.Event {
		t.Helper()
		id, err := s.hub.SendEvent(s.ctx, s.room, "m.room.message", content)
		s.ok(err)
		return testserver.Event{ID: id}
	}
	older := carry(exactly("elc_c1", 1, "D1"))
	carry(exactly("elc_c2", 2, "D2"))
	s.replacedCarried("elc_c1", older)
	for id, content := range map[string]map[string]any{"elc_c3": exactly("elc_c3", 1, "D1"), "elc_c4": exactly("elc_c4", 2, "D3")} {
		refused := carry(content)
		notice, err := s.hub.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.Relation().EventID == refused.ID })
		s.ok(err)
		if notice.MsgType() != "m.notice" || !strings.Contains(notice.Body(), "“subject_conflict”") {
			t.Errorf("%s was refused by %q", id, notice.Body())
		}
	}
	if status, q := s.get(second); status != 200 || q["state"] != "pending" {
		t.Errorf("the second is %v after the carrier's", q)
	}
}

// replaced waits until the message of a superseded question says so.
func (s *stage) replaced(elicitation string, event testserver.Event) {
	s.t.Helper()
	o := s.replacedCarried(elicitation, event)
	edit, err := s.bob.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		return e.Sender == bot && e.Relation().Type == "m.replace" && e.Relation().EventID == event.ID
	})
	s.ok(err)
	if !strings.HasPrefix(edit.NewBody(), "Replaced by a newer question.") || o["decided_by"] != nil || o["option_id"] != nil {
		s.t.Errorf("the message now reads %q, the outcome is %v", edit.NewBody(), o)
	}
}

func (s *stage) replacedCarried(elicitation string, event testserver.Event) map[string]any {
	s.t.Helper()
	o := s.outcome(s.bob, elicitation)
	if o["state"] != "cancelled" || o["reason"] != "cancelled_by_superseded" || o["question_event_id"] != event.ID {
		s.t.Errorf("the outcome of %s is %v", elicitation, o)
	}
	return o
}

// TestTimesThatCannotCome: its asker is told that nobody will be reminded, and nobody is.
func TestTimesThatCannotCome(t *testing.T) {
	s := newStage(t)
	s.start("")
	past := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	status, q := s.post(asJSON(elicitation("elc_past", map[string]any{"deadline": map[string]any{"remind_at": past, "escalate_at": "2199-01-01T00:00:00Z"}})))
	warnings, _ := q["warnings"].([]any)
	if status != 201 || len(warnings) < 2 || !strings.Contains(asJSON(warnings), "/deadline/remind_at is in the past and was ignored") ||
		!strings.Contains(asJSON(warnings), "/deadline/escalate_at is not before the question expires and was ignored") {
		t.Errorf("%d, warned %q", status, warnings)
	}
	event := s.posted("elc_past")
	s.answered(event)
	if n := s.count(func(e testserver.Event) bool { return strings.Contains(e.Body(), "still waits") }); n != 0 {
		t.Errorf("reminded %d times", n)
	}
	status, problem := s.post(asJSON(elicitation("elc_never", map[string]any{"deadline": map[string]any{"remind_at": "2026-13-45T99:99Z"}})))
	if status != 422 && status != 400 || !strings.Contains(asJSON(problem), "/deadline/remind_at") {
		t.Errorf("a time that does not exist: %d %v", status, problem)
	}
}

// TestB5OnARealHomeserver: what only a workspace admin may choose is refused to bob, once, and taken from alice. Where
// approvals.by_reply is on, a reply approves what the message shows.
func TestB5OnARealHomeserver(t *testing.T) {
	s := newStage(t)
	s.reconfigure(func(c *config.Config) {
		c.WorkspaceAdmins.Boards = map[string][]string{"brd_1": {s.alice.ID}}
		c.Approvals.ByReply = config.ByReplyComplete
	})
	s.start("")
	content := exactly("elc_1", 1, "D1")
	content["options"].([]any)[0].(map[string]any)["requires"] = "workspace-admin"
	_, event := s.askElicitation(content)
	for _, shown := range []string{"rm -rf ./build", "subject `s1`, revision 1, digest `D1`", "A reply here can approve or decline it."} {
		if !strings.Contains(event.Body(), shown) {
			t.Errorf("the message does not show %q: %q", shown, event.Body())
		}
	}
	for range 2 {
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
		s.ok(err)
	}
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "approve")
	s.ok(err)
	if o := s.outcome(s.bob, "elc_1"); o["option_id"] != "approve" || o["decided_by"] != s.alice.ID {
		t.Errorf("the outcome is %v", o)
	}
	if n := s.count(func(e testserver.Event) bool {
		return strings.HasPrefix(e.Body(), "Only workspace owners and admins can choose this")
	}); n != 1 {
		t.Errorf("bob was told %d times", n)
	}
}
