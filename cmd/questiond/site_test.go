package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// site is an installation as an operator has it: a homeserver, a configuration and a registration, made by the commands,
// and a room with alice and bob that the bot is invited into.
type site struct {
	t          *testing.T
	ctx        context.Context
	homeserver *testserver.Server
	alice, bob *testserver.User
	room       string
	config     string
	api        string
	appservice string
	token      string
}

const siteBot = "@questions:question.test"

// newSite makes everything but the bridge; more is added to the configuration.
func newSite(t *testing.T, more string) *site {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx}
	api, appservice := freeAddress(t), freeAddress(t)
	s.api, s.appservice = "http://"+api, "http://"+appservice
	base := "api: {listen: \"" + api + "\"}\nappservice: {listen: \"" + appservice + "\", url: \"http://" + appservice + "\"}\n" +
		"agents: [{id: ci, name: Build server}]\n" + more + "\n"
	s.config = folder(t, "homeserver: {url: \"http://127.0.0.1:1\", domain: question.test}\n"+base)
	call(t, "registration", "-c", s.config).want(t, exitOK, "Wrote ", "")

	var err error
	s.homeserver, err = testserver.Start(ctx, testserver.Options{DataDir: s.file("homeserver"), Registrations: []string{s.file("registration.yaml")}})
	s.ok(err)
	t.Cleanup(func() { _ = s.homeserver.Stop() })
	s.alice, err = s.homeserver.Register(ctx, testserver.Account{Name: "alice", DisplayName: "Alice"})
	s.ok(err)
	s.bob, err = s.homeserver.Register(ctx, testserver.Account{Name: "bob", DisplayName: "Bob"})
	s.ok(err)
	s.room, err = s.alice.CreateRoom(ctx, testserver.Room{Name: "Ops", Invite: []string{s.bob.ID, siteBot}})
	s.ok(err)
	_, err = s.bob.Join(ctx, s.room)
	s.ok(err)
	writeFile(t, s.config, "homeserver: {url: \""+s.homeserver.URL+"\", domain: question.test}\n"+base+"rooms: [{code: OPS, room: \""+s.room+"\"}]\n")
	made := call(t, "token", "add", "ci", "--rooms", "*", "-c", s.config)
	made.want(t, exitOK, "qb_", "of agent ci")
	s.token = strings.TrimSpace(made.out)
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// file is a file beside the configuration.
func (s *site) file(name string) string { return filepath.Join(filepath.Dir(s.config), name) }

func (s *site) client() *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{Server: s.api, Token: s.token})
	s.ok(err)
	return c
}

// ask asks a question and returns it with the event that it stands in.
func (s *site) ask(prompt string) (*client.Question, testserver.Event) {
	s.t.Helper()
	q, err := s.client().Ask(s.ctx, "OPS", question(prompt))
	s.ok(err)
	return q, s.posted(q.ID)
}

// posted waits for the event that a question stands in.
func (s *site) posted(id string) testserver.Event {
	s.t.Helper()
	event, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Field("elicitation_id") == id })
	s.ok(err)
	return event
}

func question(prompt string) *schema.CoreAsk {
	return &schema.CoreAsk{Prompt: prompt, Options: []schema.AskOption{
		{Value: "yes", Label: "Yes", Style: schema.StyleDefault}, {Value: "no", Label: "No", Style: schema.StyleDefault},
	}}
}

// process is questiond as a process of its own.
type process struct {
	s     *site
	cmd   *exec.Cmd
	log   string // the file that it logs to
	ended chan struct{}
}

// start runs a command of questiond.
func (s *site) start(args ...string) *process {
	s.t.Helper()
	log, err := os.CreateTemp(s.t.TempDir(), "log")
	s.ok(err)
	defer log.Close()
	p := &process{s: s, cmd: exec.Command(os.Args[0], append(args, "-c", s.config)...), log: log.Name(), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	s.ok(p.cmd.Start())
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if s.t.Failed() {
			s.t.Logf("questiond %s:\n%s", strings.Join(args, " "), p.said())
		}
	})
	return p
}

// serve runs the bridge, and returns when it serves and is in the room.
func (s *site) serve() *process {
	s.t.Helper()
	p := s.start("serve")
	p.waitFor(`"Serving"`)
	s.ok(s.alice.WaitForMember(s.ctx, s.room, siteBot, "join"))
	return p
}

func (p *process) said() []byte {
	text, err := os.ReadFile(p.log)
	p.s.ok(err)
	return text
}

// waitFor waits until the process has logged a text.
func (p *process) waitFor(text string) {
	p.s.t.Helper()
	for !bytes.Contains(p.said(), []byte(text)) {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-p.ended:
			if !bytes.Contains(p.said(), []byte(text)) {
				p.s.t.Fatalf("it ended, and did not say %s", text)
			}
		case <-p.s.ctx.Done():
			p.s.t.Fatalf("it does not say %s", text)
		}
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.s.t.Helper()
	p.s.ok(p.cmd.Process.Signal(sig))
}

// exit waits for the end of the process, and gives its exit code; -1 when a signal ended it.
func (p *process) exit() int {
	p.s.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-p.s.ctx.Done():
		p.s.t.Fatal("it goes on")
		return 0
	}
}

// stop asks the process to end, and wants it to end well.
func (p *process) stop() {
	p.s.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != exitOK {
		p.s.t.Errorf("it ended with %d", code)
	}
}
