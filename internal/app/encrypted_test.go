//go:build goolm

package app

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/testserver"
)

const outcomeKey = "dev.superpipeline.question.outcome"

// newEncryptedStage is a stage whose bridge encrypts, with further changes of its configuration.
func newEncryptedStage(t *testing.T, changes ...func(*config.Config)) *stage {
	t.Helper()
	key := filepath.Join(t.TempDir(), "pickle.key")
	if err := os.WriteFile(key, []byte("a key for tests, which is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newStageWith(t, func(c *config.Config) {
		c.Encryption.Enabled, c.Encryption.PickleKey = true, config.Secret{File: key}
		for _, change := range changes {
			change(c)
		}
	})
}

// client makes somebody's client one that encrypts.
func (s *stage) sealedClient(u *testserver.User) *sealedclient.Client {
	s.t.Helper()
	c, err := sealedclient.New(s.ctx, u, filepath.Join(s.t.TempDir(), "keys.db"))
	s.ok(err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// sealRoom turns encryption on in the stage's room.
func (s *stage) sealRoom() {
	s.t.Helper()
	err := s.alice.Do(s.ctx, testserver.Request{
		Method: http.MethodPut, Path: testserver.Path("_matrix", "client", "v3", "rooms", s.room, "state", "m.room.encryption", ""),
		Body: map[string]any{"algorithm": "m.megolm.v1.aes-sha2"},
	}, nil)
	s.ok(err)
}

// askSealed asks a question, and gives the message that it is to somebody.
func (s *stage) askSealed(c *sealedclient.Client) (question, message string) {
	s.t.Helper()
	created, err := s.client().Ask(s.ctx, s.room, coreAsk())
	s.ok(err)
	e, err := c.WaitFor(s.ctx, s.room, func(e sealedclient.Event) bool {
		return e.Field("elicitation_id") == created.ID && e.NewBody() == ""
	})
	s.ok(err)
	if !e.Encrypted {
		s.t.Error("the question came in clear")
	}
	return created.ID, e.ID
}

// Field case A15: the key of an answer comes late, across a restart. The event alone is no answer and holds nobody up;
// with its key, it counts.
func TestLateKeyAcrossARestart(t *testing.T) {
	s := newEncryptedStage(t)
	alice := s.sealedClient(s.alice)
	s.sealRoom()
	s.start("")
	s.ok(alice.WaitForRoom(s.ctx, s.room, bot))
	question, message := s.askSealed(alice)
	release := s.proxy.hold("/_matrix/client/v3/sync")
	_, err := alice.ThreadReply(s.ctx, s.room, message, "2")
	s.ok(err)
	s.logs("An event waits for its key")
	s.kill()
	s.start("")
	s.logs("An event waits for its key")
	release()
	s.awaitAnswer(question, "skip", s.alice)
	_, err = alice.WaitFor(s.ctx, s.room, func(e sealedclient.Event) bool { return e.Encrypted && e.Field(outcomeKey) != nil })
	s.ok(err)
}

// What an operator sees of the keys: whether the pickle key fits, whether strict clients can read the bot, which takes its
// password on Dendrite; and a bridge that begins anew.
func TestCheckKeys(t *testing.T) {
	s := newEncryptedStage(t)
	root, err := s.server.Register(s.ctx, testserver.Account{Name: "root", Admin: true})
	s.ok(err)
	s.ok(root.ResetPassword(s.ctx, bot, "a password of the bot"))
	file := func(text string) config.Secret {
		path := filepath.Join(t.TempDir(), "secret")
		s.ok(os.WriteFile(path, []byte(text), 0o600))
		return config.Secret{File: path}
	}
	load := func(change func(*config.Config)) config.Config {
		cfg, err := config.Load(s.config, os.Getenv)
		s.ok(err)
		change(&cfg)
		s.ok(cfg.Save(s.config, "A bridge under test."))
		cfg, err = config.Load(s.config, os.Getenv)
		s.ok(err)
		return cfg
	}
	findings := func(cfg config.Config, want ...string) {
		t.Helper()
		reg, err := cfg.LoadRegistration()
		s.ok(err)
		found := Check(s.ctx, cfg, reg)
		expect(t, found[len(found)-len(want):], want...)
	}
	fits, shown := "encryption.pickle_key opens the keys of the bot's device|", "the homeserver shows everybody the bot's device|"
	cfg := load(func(*config.Config) {})
	findings(cfg, "ok the sqlite database opens", "ok "+fits+"there are none yet")
	s.start("")
	findings(cfg, "ok "+fits+"device QB", "ok "+shown+strictNever)
	if _, err := OpenEncryptionKeysAlone(s.ctx, cfg); err == nil {
		t.Error("the keys of a running bridge can be reset")
	}
	s.kill()
	cfg = load(func(c *config.Config) { c.Encryption.Password = file("a password of the bot") })
	s.start("")
	findings(cfg, "ok "+fits+"device QB", "ok "+shown+strictReads)
	s.kill()

	wrong := load(func(c *config.Config) { c.Encryption.PickleKey = file("another key, which is long enough too") })
	findings(wrong, "ok the sqlite database opens", "FAIL "+fits+"encryption.pickle_key does not fit the keys in the database")
	keys, err := OpenEncryptionKeysAlone(s.ctx, wrong)
	s.ok(err)
	s.ok(keys.Reset(s.ctx))
	s.ok(keys.Close())
	s.start("")
	findings(wrong, "ok "+fits+"device QB", "ok "+shown+strictReads)
	alice := s.sealedClient(s.alice)
	s.sealRoom()
	s.ok(alice.WaitForRoom(s.ctx, s.room, bot))
	s.askSealed(alice)
}
