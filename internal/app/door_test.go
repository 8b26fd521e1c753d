package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

const digest = "sha256:5f2c"

// askAbout asks whether an exact operation may run, and returns the question and the event that it stands in.
func (s *stage) askAbout(elicitation string, complete bool) (*client.Question, testserver.Event) {
	s.t.Helper()
	q, err := s.client().Ask(s.ctx, "OPS", &schema.ElicitationAsk{Elicitation: &schema.Elicitation{
		MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1, ElicitationID: elicitation, CardID: "crd_1", CardTitle: "Release 2.4",
		AskedBy: "CI", Question: "May this run?",
		Options: []schema.Option{{ID: "approve", Label: "Approve", Meaning: schema.Approve, Scope: "once"}, {ID: "deny", Label: "Deny", Meaning: schema.Reject}},
		Subject: &schema.Subject{
			ID: "op_" + elicitation, Digest: digest, Schema: "x/v1", Revision: 1, PreviewComplete: complete,
			Preview: []schema.PreviewItem{{Type: "text", Text: "rm -rf ./build"}},
		},
	}})
	s.ok(err)
	event, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Field("elicitation_id") == elicitation })
	s.ok(err)
	return q, event
}

// notice waits for what the bot tells one person in the thread of a question.
func (s *stage) notice(u *testserver.User, event string) string {
	s.t.Helper()
	found, err := u.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		mentioned, _ := e.Field("m.mentions", "user_ids").([]any)
		return e.Sender == bot && e.MsgType() == "m.notice" && e.Relation().Type == "m.thread" && e.Relation().EventID == event &&
			e.Field("dev.superpipeline.question.outcome") == nil && len(mentioned) == 1 && mentioned[0] == u.ID
	})
	s.ok(err)
	return found.Body()
}

// personal makes a token with which a person answers.
func (s *stage) personal(u *testserver.User) string {
	s.t.Helper()
	cfg, err := config.Load(s.config, os.Getenv)
	s.ok(err)
	tokens, err := OpenTokens(s.ctx, cfg)
	s.ok(err)
	defer tokens.Close()
	secret, _, err := tokens.Add(s.ctx, Grant{User: u.ID})
	s.ok(err)
	return secret
}

// shell runs the program question as a person.
type shell struct {
	s       *stage
	program string
	token   string
}

func (s *stage) shell(program string, u *testserver.User) shell {
	s.t.Helper()
	return shell{s, program, s.personal(u)}
}

func (sh shell) run(code int, args ...string) (stdout, stderr string) {
	sh.s.t.Helper()
	cmd := exec.CommandContext(sh.s.ctx, sh.program, args...)
	cmd.Env = append(os.Environ(), "QUESTION_SERVER="+sh.s.api, "QUESTION_RESPONDER_TOKEN="+sh.token)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		sh.s.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		sh.s.t.Errorf("%q: exit code %d, want %d\n%s%s", args, got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

func (s *stage) buildQuestion() string {
	s.t.Helper()
	program := filepath.Join(s.t.TempDir(), "question")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/question").CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func (s *stage) pending(id string) {
	s.t.Helper()
	if q, err := s.client().Fetch(s.ctx, id); err != nil || q.State != schema.Pending {
		s.t.Fatalf("the question is no longer pending: %+v, %v", q, err)
	}
}

// TestApprovedOutsideTheRoom has a reply refused that would approve an exact operation, with the way out, and takes that.
func TestApprovedOutsideTheRoom(t *testing.T) {
	s := newStage(t)
	s.start("")
	program := s.buildQuestion()
	q, event := s.askAbout("elc_complete", true)
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	if told := s.notice(s.alice, event.ID); !strings.Contains(told, "question answer "+q.ID) {
		t.Errorf("the refusal names no way out: %q", told)
	}
	s.pending(q.ID)

	alice, bob := s.shell(program, s.alice), s.shell(program, s.bob)
	if out, _ := alice.run(0, "pending"); !strings.Contains(out, q.ID) || !strings.Contains(out, "May this run?") || !strings.Contains(out, "OPS") {
		t.Errorf("what waits for alice: %s", out)
	}
	_, shown := alice.run(2, "answer", q.ID, "1", "--yes")
	for _, part := range []string{"rm -rf ./build", "op_elc_complete", digest, "x/v1", "complete"} {
		if !strings.Contains(shown, part) {
			t.Errorf("what is shown lacks %q:\n%s", part, shown)
		}
	}
	alice.run(1, "answer", q.ID, "1", "--yes", "--digest", digest+"0")
	s.pending(q.ID)
	if out, _ := alice.run(0, "answer", q.ID, "1", "--yes", "--digest", digest); out != "approve\n" {
		t.Errorf("alice's answer is %q", out)
	}
	s.awaitAnswer(q.ID, "approve", s.alice)
	certified := filepath.Join(t.TempDir(), "approval.json")
	alice.run(0, "show", q.ID, "--certificate", certified, "--token", s.token)
	out, _ := alice.run(0, "certificate", "verify", certified, "--subject-id", q.Subject.ID, "--digest", digest, "--schema", "x/v1", "--revision", "1")
	if !strings.HasPrefix(out, "Genuine. Approved by "+s.alice.ID) {
		t.Errorf("the certificate says %s", out)
	}
	alice.run(6, "certificate", "verify", certified, "--digest", digest+"0")
	if outcome := s.outcome(s.bob, "elc_complete"); outcome["option_id"] != "approve" || outcome["decided_by"] != s.alice.ID {
		t.Errorf("the room reads %v", outcome)
	}
	closed := func(e testserver.Event) bool {
		return e.Field("dev.superpipeline.question.outcome", "elicitation_id") == "elc_complete" && strings.Contains(e.Body(), "Alice")
	}
	if s.count(closed) == 0 {
		t.Error("the notice does not name alice")
	}
	again := filepath.Join(t.TempDir(), "again.json")
	alice.run(0, "answer", q.ID, "approve", "--yes", "--digest", digest, "--certificate", again)
	first, err := os.ReadFile(certified)
	s.ok(err)
	if second, err := os.ReadFile(again); err != nil || !bytes.Equal(first, second) {
		t.Errorf("alice, answering again, is given another certificate: %v %s", err, second)
	}
	if _, errs := bob.run(7, "answer", q.ID, "2", "--yes"); !strings.Contains(errs, "by Alice") {
		t.Errorf("bob is told %q", errs)
	}
}

// TestAnIncompletePreviewIsApprovedNowhere, and is declined by a reply. What happens in a room is handled in its order, so
// that the answer is the last word shows that each one before was refused.
func TestAnIncompletePreviewIsApprovedNowhere(t *testing.T) {
	s := newStage(t)
	s.start("")
	q, event := s.askAbout("elc_incomplete", false)
	_, err := s.alice.ThreadReply(s.ctx, s.room, event.ID, "1")
	s.ok(err)
	if told := s.notice(s.alice, event.ID); !strings.Contains(told, "incomplete") {
		t.Errorf("alice is told %q", told)
	}
	_, err = s.bob.React(s.ctx, s.room, event.ID, "1️⃣")
	s.ok(err)
	if told := s.notice(s.bob, event.ID); !strings.Contains(told, "incomplete") {
		t.Errorf("bob is told %q", told)
	}
	_, err = s.alice.SendEvent(s.ctx, s.room, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": "Approve", "suite_event_type": "dev.superpipeline.question.answer.v2",
		"elicitation_id": "elc_incomplete", "option_id": "approve", "m.relates_to": map[string]any{"rel_type": "m.reference", "event_id": event.ID},
		"subject": map[string]any{"id": q.Subject.ID, "digest": q.Subject.Digest, "schema": q.Subject.Schema, "revision": q.Subject.Revision},
	})
	s.ok(err)
	responder, err := client.NewResponder(client.Config{Server: s.api, Token: s.personal(s.alice)})
	s.ok(err)
	shown, err := responder.Show(s.ctx, q.ID)
	s.ok(err)
	_, err = responder.Answer(s.ctx, q.ID, schema.AnswerBody{Value: new("approve"), Subject: client.SubjectOf(shown)})
	if e := new(client.Error); !errors.As(err, &e) || e.Status != http.StatusConflict || e.Code != "preview_incomplete" {
		t.Errorf("over HTTP: %v", err)
	}
	s.pending(q.ID)
	_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "2")
	s.ok(err)
	s.awaitAnswer(q.ID, "deny", s.alice)
	if outcome := s.outcome(s.bob, "elc_incomplete"); outcome["option_id"] != "deny" || outcome["decided_by"] != s.alice.ID {
		raw, _ := json.Marshal(outcome)
		t.Errorf("the room reads %s", raw)
	}
}
