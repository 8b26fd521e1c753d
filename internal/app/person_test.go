//go:build goolm

package app

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// person is a person's client by other software than ours: see person/person.mjs.
type person struct {
	s     *stage
	in    *json.Encoder
	lines <-chan spoken
	log   *logBuffer
	last  spoken // for when nothing more comes
}

// spoken is one message as that client shows it.
type spoken struct {
	Ready      bool
	ID         string
	Room       string
	Sender     string
	Encrypted  bool
	Unreadable string // why it cannot be read
	Content    map[string]any
}

// otherClient starts it for somebody, and waits until it follows their rooms. A strict one has nothing to do with devices that
// their owners have not signed.
func (s *stage) otherClient(u *testserver.User, strict bool) *person {
	s.t.Helper()
	if _, err := os.Stat("person/node_modules/matrix-js-sdk/package.json"); err != nil {
		s.t.Fatal("the other client is not installed: `make test` does that, or `npm ci` in internal/app/person")
	}
	// Reading the program here is what makes `go test` forget a cached result when it changes.
	_, err := os.ReadFile("person/person.mjs")
	s.ok(err)
	args := []string{"person/person.mjs", u.Server.URL, u.ID, u.DeviceID}
	if strict {
		args = append(args, u.Password)
	}
	cmd := exec.Command("node", args...)
	p := &person{s: s, log: &logBuffer{}}
	cmd.Env, cmd.Stderr = append(os.Environ(), "ACCESS_TOKEN="+u.AccessToken), p.log
	in, err := cmd.StdinPipe()
	s.ok(err)
	out, err := cmd.StdoutPipe()
	s.ok(err)
	if err := cmd.Start(); err != nil {
		s.t.Fatal("the test needs Node.js 20 or newer: ", err)
	}
	p.in, p.lines = json.NewEncoder(in), p.read(out)
	s.t.Cleanup(func() {
		_ = in.Close()
		for range p.lines {
		}
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("the other client's log:\n%s", p.log)
		}
	})
	p.next(func(e spoken) bool { return e.Ready })
	return p
}

func (p *person) read(out io.Reader) <-chan spoken {
	lines := make(chan spoken, 100)
	go func() {
		defer close(lines)
		for dec := json.NewDecoder(bufio.NewReader(out)); ; {
			var e spoken
			if dec.Decode(&e) != nil {
				return
			}
			lines <- e
		}
	}()
	return lines
}

// next gives the next message that match says yes to, passing over the others.
func (p *person) next(match func(spoken) bool) spoken {
	p.s.t.Helper()
	for {
		select {
		case e, ok := <-p.lines:
			if !ok {
				p.s.t.Fatal("the other client has ended")
			}
			if p.last = e; match(e) {
				return e
			}
		case <-p.s.ctx.Done():
			p.s.t.Fatalf("the other client never shows it; the last thing was %+v", p.last)
		}
	}
}

// replies answers in the thread of a message.
func (p *person) replies(message, text string) {
	p.s.t.Helper()
	p.s.ok(p.in.Encode(map[string]string{"room": p.s.room, "thread": message, "text": text}))
}

// A client that shares no code with ours reads a question in an encrypted room, answers it, and reads the outcome; also one
// that has nothing to do with devices that are not signed, as the bot has signed its own.
func TestAnotherClientInAnEncryptedRoom(t *testing.T) {
	for name, strict := range map[string]bool{"that takes any device": false, "that takes signed devices alone": true} {
		t.Run(name, func(t *testing.T) {
			s := newSignedStage(t)
			s.sealRoom()
			alice := s.otherClient(s.alice, strict)
			s.start("")
			asked, err := s.client().Ask(s.ctx, s.room, coreAsk())
			s.ok(err)
			question := alice.next(func(e spoken) bool { return e.Sender == bot && e.Content["elicitation_id"] == asked.ID })
			if !question.Encrypted || question.Content["question"] != coreAsk().Prompt {
				t.Errorf("the question is shown as %+v", question)
			}
			alice.replies(question.ID, "2")
			s.awaitAnswer(asked.ID, "skip", s.alice)
			outcome := alice.next(func(e spoken) bool { return e.Sender == bot && e.Content[outcomeKey] != nil })
			if said, _ := outcome.Content[outcomeKey].(map[string]any); !outcome.Encrypted || said["option_id"] != "skip" {
				t.Errorf("the outcome is shown as %+v", outcome)
			}
		})
	}
}

// What the strict client is strict about: where the bot cannot sign its device, it shows nothing of what the bot says.
func TestStrictClientsDoNotReadAnUnsignedBot(t *testing.T) {
	s := newEncryptedStage(t)
	s.sealRoom()
	alice := s.otherClient(s.alice, true)
	s.start("")
	_, err := s.client().Ask(s.ctx, s.room, coreAsk())
	s.ok(err)
	shown := alice.next(func(e spoken) bool { return e.Sender == bot })
	if shown.Unreadable != "UNSIGNED_SENDER_DEVICE" {
		t.Errorf("got %+v", shown)
	}
}

// newSignedStage is a stage whose bot has a password, and so can sign its device.
func newSignedStage(t *testing.T) *stage {
	t.Helper()
	const password = "the bot's own secret"
	s := newEncryptedStage(t, func(c *config.Config) {
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Encryption.Password = config.Secret{File: file}
	})
	admin, err := s.server.Register(s.ctx, testserver.Account{Name: "admin", Admin: true})
	s.ok(err)
	s.ok(admin.ResetPassword(s.ctx, bot, password))
	return s
}
