package app

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// reconfigure changes the configuration before the bridge starts.
func (s *stage) reconfigure(change func(*config.Config)) {
	s.t.Helper()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	change(&cfg)
	s.ok(cfg.Save(s.config, "A bridge under test."))
}

// elicitation is a question.v2 content with two options, to which a test adds.
func elicitation(id string, more map[string]any) map[string]any {
	content := map[string]any{
		"msgtype": "m.text", "body": "x", "suite_event_type": "dev.superpipeline.question.v2", "schema_version": 1, "elicitation_id": id,
		"board_id": "brd_1", "card_id": "crd_1", "run_id": "run_1", "stage_key": "build", "card_title": "Upgrade", "asked_by": "ci", "question": "May I?",
		"options": []any{
			map[string]any{"id": "run_them", "label": "Run the tests", "meaning": "choose", "needs_comment": false},
			map[string]any{"id": "skip", "label": "Skip them", "meaning": "choose", "needs_comment": false},
		},
	}
	for name, value := range more {
		content[name] = value
	}
	return content
}

func asJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// TestRemindAndEscalate: the bridge is killed before either time has come. After its restart each comes once, in the
// question's thread: the reminder for who may answer, the escalation for the workspace admin, and nothing once it is
// answered.
func TestRemindAndEscalate(t *testing.T) {
	s := newStage(t)
	s.reconfigure(func(c *config.Config) { c.WorkspaceAdmins.Rooms = map[string][]string{"OPS": {s.alice.ID}} })
	s.start("")
	at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format("2006-01-02T15:04:05.000Z") }
	_, never := s.askElicitation(elicitation("elc_answered", map[string]any{"deadline": map[string]any{"remind_at": at(5 * time.Second)}}))
	s.answered(never)
	_, event := s.askElicitation(elicitation("elc_timed", map[string]any{"deadline": map[string]any{"remind_at": at(6 * time.Second), "escalate_at": at(8 * time.Second)}}))
	s.kill()
	s.start("")

	reminder := func(e testserver.Event) bool {
		return e.Sender == bot && e.MsgType() == "m.text" && e.Field("suite_event_type") == nil && e.Relation().Type != "m.replace"
	}
	saying := func(words string) func(e testserver.Event) bool {
		return func(e testserver.Event) bool { return reminder(e) && strings.Contains(e.Body(), words) }
	}
	first, err := s.bob.WaitFor(s.ctx, s.room, saying("still waits for an answer"))
	s.ok(err)
	mentions := func(e testserver.Event) (ids []string) {
		list, _ := e.Field("m.mentions", "user_ids").([]any)
		for _, id := range list {
			ids = append(ids, id.(string))
		}
		return ids
	}
	if got := mentions(first); !slices.Equal(got, []string{s.alice.ID, s.bob.ID}) || first.Relation().EventID != event.ID {
		t.Errorf("the reminder in the thread of %s notifies %q", first.Relation().EventID, got)
	}
	second, err := s.bob.WaitFor(s.ctx, s.room, saying("nobody has answered"))
	s.ok(err)
	if got := mentions(second); !slices.Equal(got, []string{s.alice.ID}) || second.Relation().EventID != event.ID {
		t.Errorf("the escalation %q notifies %q", second.Body(), got)
	}
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	if o := s.outcome(s.bob, "elc_timed"); o["option_id"] != "run_them" {
		t.Errorf("the outcome is %v", o)
	}
	// The time of the one that was answered was before all of these.
	if n := s.count(reminder); n != 2 {
		t.Errorf("reminded %d times, want 2", n)
	}
}

// askElicitation asks a question.v2 content over HTTP and returns it with the event that it stands in.
func (s *stage) askElicitation(content map[string]any) (question string, event testserver.Event) {
	s.t.Helper()
	status, q := s.post(asJSON(content))
	if status != 201 {
		s.t.Fatalf("the ask was answered with %d: %v", status, q)
	}
	id, _ := content["elicitation_id"].(string)
	return q["id"].(string), s.posted(id)
}

func (s *stage) answered(event testserver.Event) {
	s.t.Helper()
	_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.outcome(s.bob, event.Field("elicitation_id").(string))
}

// post asks over HTTP, and gives the status and the document of the answer.
func (s *stage) post(body string) (status int, document map[string]any) {
	s.t.Helper()
	return s.call(http.MethodPost, "/api/agent/rooms/OPS/questions", body)
}

// get fetches a question as its asker.
func (s *stage) get(question string) (status int, document map[string]any) {
	s.t.Helper()
	return s.call(http.MethodGet, "/api/agent/questions/"+question, "")
}

func (s *stage) call(method, path, body string) (status int, document map[string]any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, s.api+path, strings.NewReader(body))
	s.ok(err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	s.ok(err)
	defer resp.Body.Close()
	s.ok(json.NewDecoder(resp.Body).Decode(&document))
	return resp.StatusCode, document
}
