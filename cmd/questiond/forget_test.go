package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// told waits until the bot says something to somebody in the thread of a question.
func (s *site) told(who *testserver.User, event testserver.Event) {
	s.t.Helper()
	_, err := s.alice.WaitFor(s.ctx, s.room, func(e testserver.Event) bool {
		mentioned, _ := e.Field("m.mentions", "user_ids").([]any)
		return e.Sender == siteBot && e.Relation().EventID == event.ID && len(mentioned) == 1 && mentioned[0] == who.ID
	})
	s.ok(err)
}

// Somebody answered, typed half an answer, talked and came too late, in a room with a running bridge. What they typed is
// in none of the database's files afterwards, nor is who they were but for what the command says; the answers stand, and
// they may answer again.
func TestForget(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	s := newSite(t, webhookTo(t, receiver.URL))
	bridge := s.serve()
	made := call(t, "token", "add", "--user", s.bob.ID, "-c", s.config)
	made.want(t, exitOK, "qu_", "of "+s.bob.ID)
	ask := func(a *schema.CoreAsk) (*client.Question, testserver.Event) {
		q, err := s.client().Ask(s.ctx, "OPS", a)
		s.ok(err)
		return q, s.posted(q.ID)
	}
	say := func(event testserver.Event, words string) {
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, words)
		s.ok(err)
	}
	typed, event := ask(&schema.CoreAsk{Prompt: "Why?", TextInput: &schema.TextInput{}})
	say(event, "because bobs well is poisoned")
	_, err := s.client().Await(s.ctx, typed.ID)
	s.ok(err)
	say(event, "and bobs bucket too")
	s.told(s.bob, event)
	half := question("Which?")
	half.TextInput = &schema.TextInput{Placeholder: "Another"}
	_, event = ask(half)
	say(event, "3")
	s.told(s.bob, event)
	_, event = s.ask("Shall we?")
	say(event, "bob is thinking")
	say(event, "7")
	s.told(s.bob, event)
	s.ok(s.bob.SetDisplayName(s.ctx, "Bobs new name"))

	kept := func(words string) (in []string) {
		for _, name := range []string{"question-bridge.db", "question-bridge.db-wal"} {
			if text, err := os.ReadFile(s.file(name)); err == nil && bytes.Contains(text, []byte(words)) {
				in = append(in, name)
			}
		}
		return in
	}
	words := []string{"bobs well", "bobs bucket", "bob is thinking", `"DisplayName":"Bob"`, "hint/" + s.bob.ID}
	if len(kept(words[0])) == 0 || len(kept(s.bob.ID)) == 0 {
		t.Fatal("the test cannot see what is kept")
	}
	call(t, "forget", s.bob.ID, "--dry-run", "-c", s.config).want(t, exitOK, "Of "+s.bob.ID+" there is:\n       1  questions that they answered", "")
	if len(kept(words[0])) == 0 {
		t.Fatal("counting erased it")
	}
	done := call(t, "forget", s.bob.ID, "--yes", "-c", s.config)
	done.want(t, exitOK, "Erased of "+s.bob.ID+":\n       1  questions that they answered", "")
	for _, line := range []string{
		"1  webhook events", "1  questions that waited for something they were to type", "1  tokens and sessions",
		"Left: their membership of 1 rooms", "Left: their id in 1 rows of room_state.key",
	} {
		if !strings.Contains(done.out, line) {
			t.Errorf("it does not say %q:\n%s", line, done.out)
		}
	}
	for _, w := range words {
		if in := kept(w); len(in) > 0 {
			t.Errorf("%q is still in %v", w, in)
		}
	}
	call(t, "forget", s.bob.ID, "--yes", "-c", s.config).want(t, exitOK, "There is nothing of "+s.bob.ID+" to erase.\n", "")

	got, err := s.client().Fetch(s.ctx, typed.ID)
	s.ok(err)
	if got.State != schema.Answered || got.Answer.Responder.ID != "forgotten" || got.Answer.Responder.DisplayName != nil || *got.Answer.Text != "[erased]" {
		t.Errorf("the answer is %+v", got.Answer)
	}
	responder, err := client.NewResponder(client.Config{Server: s.api, Token: strings.TrimSpace(made.out)})
	s.ok(err)
	if _, err := responder.Show(s.ctx, typed.ID); err == nil {
		t.Error("their token works")
	}
	again, event := s.ask("And now?")
	say(event, "2")
	outcome, err := s.client().Await(s.ctx, again.ID)
	s.ok(err)
	if who, _ := outcome.Responder(); who.ID != s.bob.ID {
		t.Errorf("answered by %q", who.ID)
	}
	bridge.stop()
}

func TestForgetCommandLine(t *testing.T) {
	config, _ := serving(t)
	for args, refusal := range map[string]string{
		"forget --yes":                              "one USER is needed",
		"forget alice --yes":                        "one USER is needed",
		"forget @alice:example.org":                 "either --dry-run or --yes is needed",
		"forget @alice:example.org --yes --dry-run": "either --dry-run or --yes is needed",
	} {
		call(t, append(strings.Fields(args), "-c", config)...).want(t, exitUsage, "", refusal)
	}
	call(t, "forget", "@alice:example.org", "--yes", "-c", config).want(t, exitOK, "There is nothing of @alice:example.org to erase.\n", "")
}
