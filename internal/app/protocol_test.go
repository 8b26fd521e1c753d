package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// program is one of the programs of examples/node, which know the document and nothing else of us.
type program struct {
	*testing.T
	cmd   *exec.Cmd
	stdin io.Writer
	said  *bufio.Reader
	errs  bytes.Buffer
}

const examplesFolder = "../../examples/node"

// runs starts a program as an agent, and as Alice where it answers.
func (s *stage) runs(token, file string, args ...string) *program {
	s.t.Helper()
	p := &program{T: s.t, cmd: exec.CommandContext(s.ctx, "node", append([]string{file}, args...)...)}
	for _, read := range []string{file, "question.mjs"} { // which makes `go test` forget a cached result when one changes
		_, err := os.ReadFile(filepath.Join(examplesFolder, read))
		s.ok(err)
	}
	p.cmd.Dir, p.cmd.Stderr = examplesFolder, &p.errs
	p.cmd.Env = append(os.Environ(), "QUESTION_SERVER="+s.api, "QUESTION_TOKEN="+s.token, "QUESTION_ROOM=OPS",
		"QUESTION_RESPONDER_TOKEN="+token, "QUESTION_TARGET="+s.alice.ID)
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	s.ok(err)
	out, err := p.cmd.StdoutPipe()
	s.ok(err)
	p.said = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal("the test needs Node.js 20 or newer: ", err)
	}
	return p
}

func (p *program) line() string {
	p.Helper()
	line, err := p.said.ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait()
		p.Fatalf("%v: %v\n%s", p.cmd.Args, err, &p.errs)
	}
	return strings.TrimSpace(line)
}

// ends wants a program to print something, and to end with an exit code.
func (p *program) ends(code int, want string) {
	p.Helper()
	rest, err := io.ReadAll(p.said)
	if err != nil {
		p.Fatal(err)
	}
	_ = p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code || strings.TrimSpace(string(rest)) != want {
		p.Errorf("%v ends with %d and says %q, want %d and %q\n%s", p.cmd.Args[1:], got, rest, code, want, &p.errs)
	}
}

// audience sees each question of a room once.
type audience struct {
	*stage
	seen map[string]bool
}

// next waits for a question that was not seen yet, by its prompt.
func (a *audience) next(prompt string) testserver.Event {
	a.t.Helper()
	event, err := a.alice.WaitFor(a.ctx, a.room, func(e testserver.Event) bool {
		return e.Field("question") == prompt && e.Relation().Type != "m.replace" && !a.seen[e.ID]
	})
	a.ok(err)
	a.seen[event.ID] = true
	return event
}

// reply answers the next question with a prompt in its thread.
func (a *audience) reply(u *testserver.User, prompt, text string) {
	a.t.Helper()
	_, err := u.ThreadReply(a.ctx, a.room, a.next(prompt).ID, text)
	a.ok(err)
}

// TestClientFromTheDocument runs the worked examples of section 12 of The Question Protocol 1.1, and what else its text
// promises, by a client that was written from that text alone. People answer in the room and by the API.
func TestClientFromTheDocument(t *testing.T) {
	s := newStage(t)
	alice := s.personal(s.alice)
	reconcile := s.runs("", "reconcile.mjs")
	secret := filepath.Join(filepath.Dir(s.config), "hook.secret")
	s.ok(os.WriteFile(secret, []byte(NewWebhookSecret()), 0o600))
	port := reconcile.line()
	s.reconfigure(func(cfg *config.Config) {
		cfg.Webhooks = []config.Webhook{{Name: "node", Rooms: []string{"OPS"}, URL: "http://127.0.0.1:" + port, Secrets: []config.Secret{{File: secret}}}}
		cfg.Egress.Allow = []string{"127.0.0.1"}
	})
	s.start("")
	room := &audience{s, map[string]bool{}}
	expires := s.runs("", "ci-gate.mjs", "unanswered", "1") // which is clamped to 30 seconds

	for reply, want := range map[string]string{"1": "deploying abc123, approved by Alice", "Deny": "not deployed: Alice said Deny"} {
		deploy, event := s.runs("", "deploy-approval.mjs"), room.next("Deploy v1.4.0 to production?")
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1") // it is for Alice
		s.ok(err)
		s.notice(s.bob, event.ID)
		_, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, reply)
		s.ok(err)
		deploy.ends(0, want)
	}

	picker := s.runs("", "environment-picker.mjs")
	room.reply(s.bob, "Which environment?", "Production")
	picker.ends(0, "prod")
	picker = s.runs("", "environment-picker.mjs")
	s.runs(alice, "responder.mjs", "Which environment?", "staging").ends(0, "answered staging")
	picker.ends(0, "staging")
	room.next("Which environment?")

	gate := s.runs("", "ci-gate.mjs", "8c1f0a2")
	room.reply(s.bob, "Ship 8c1f0a2?", "no")
	gate.ends(0, "no")
	gate = s.runs("", "ci-gate.mjs", "withdrawn")
	_, err := s.client().Cancel(s.ctx, room.next("Ship withdrawn?").Field("elicitation_id").(string))
	s.ok(err)
	gate.ends(4, "")

	s.toldOf(reconcile, room)
	s.runs(alice, "tour.mjs").ends(0, "as the document says")
	expires.ends(3, "")
}

// toldOf has a program ask without waiting, and wants its webhook to tell it in the envelope of section 7.
func (s *stage) toldOf(reconcile *program, room *audience) {
	s.t.Helper()
	_, err := io.WriteString(reconcile.stdin, "ask\n")
	s.ok(err)
	event := room.next("Which environment?")
	_, err = s.bob.ThreadReply(s.ctx, s.room, event.ID, "Production")
	s.ok(err)
	var told map[string]any
	s.ok(json.Unmarshal([]byte(reconcile.line()), &told))
	answer, _ := told["answer"].(map[string]any)
	place, _ := told["room"].(map[string]any)
	data, _ := told["data"].(map[string]any)
	if told["event"] != "question.answered" || told["question_id"] != event.Field("elicitation_id") || told["state"] != string(schema.Answered) ||
		answer["value"] != "prod" || answer["label"] != "Production" || answer["text"] != nil || answer["answered_at"] != told["timestamp"] ||
		place["name"] != "Ops" || place["code"] != "OPS" || told["reply_to"] != nil || data["pipeline"] != "deploy" {
		s.t.Errorf("told %v", told)
	}
	reconcile.ends(0, "")
}
