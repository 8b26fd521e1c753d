package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// grant has a person grant something by a reply to a new question: option 1 for a run, 2 always. It gives the question's
// event too.
func (s *stage) grant(u *testserver.User, elicitation, option string) (schema.Grant, testserver.Event) {
	s.t.Helper()
	var content map[string]any
	s.ok(json.Unmarshal([]byte(grantable(elicitation)), &content))
	question, event := s.askElicitation(content)
	_, err := u.ThreadReply(s.ctx, s.room, event.ID, option)
	s.ok(err)
	outcome, err := s.client().Await(s.ctx, question)
	s.ok(err)
	if by, _ := outcome.Responder(); by.ID != u.ID {
		s.t.Fatalf("%+v", outcome.Answer)
	}
	for g, err := range s.client().Grants(s.ctx, client.GrantOptions{State: schema.GrantActive}) {
		if s.ok(err); g.QuestionID == question {
			return *g, event
		}
	}
	s.t.Fatal("nothing was granted")
	return schema.Grant{}, event
}

// stands says how a grant is, as its asker lists it.
func (s *stage) stands(id string) schema.Grant {
	s.t.Helper()
	for g, err := range s.client().Grants(s.ctx, client.GrantOptions{PageSize: 1}) {
		if s.ok(err); g.ID == id {
			return *g
		}
	}
	s.t.Fatalf("%s is not listed", id)
	return schema.Grant{}
}

// replyTo waits for what the bot says to a message, and wants it to ping nobody.
func (s *stage) replyTo(u *testserver.User, message string) testserver.Event {
	s.t.Helper()
	e, err := u.WaitFor(s.ctx, s.room, func(e testserver.Event) bool { return e.Sender == bot && e.Relation().InReplyTo.EventID == message })
	s.ok(err)
	mentioned, _ := e.Field("m.mentions", "user_ids").([]any)
	if e.MsgType() != "m.notice" || len(mentioned) != 0 || e.Field("m.mentions", "room") != nil {
		s.t.Errorf("the reply is %s", asJSON(e.Content))
	}
	return e
}

// People see what they granted where they granted it, and take it back there: who may, and in a thread or beside one. The
// asker lists what stands, and its webhook is told.
func TestGrantsInARoom(t *testing.T) {
	s := newStageWith(t, func(c *config.Config) {
		c.WorkspaceAdmins.Boards = map[string][]string{"brd_1": {"@alice:question.test"}} // by the board of the question alone
	})
	came := s.withWebhook(schema.EventGrantRevoked)
	s.start("")
	run, event := s.grant(s.bob, "elc_run", "1")
	always, _ := s.grant(s.alice, "elc_always", "2")
	if run.Scope != "run" || *run.RunID != "run_12" || run.By != s.bob.ID || always.Scope != "always" || always.By != s.alice.ID || always.ID == run.ID {
		t.Fatalf("granted %+v and %+v", run, always)
	}

	asked, err := s.bob.Send(s.ctx, s.room, "!grants")
	s.ok(err)
	said := s.replyTo(s.bob, asked)
	for _, want := range []string{
		run.ID + ": “Allow for this *run* @room” for agt_1, for one run, by " + s.bob.ID, always.ID + ": “Always <b>allow</b>” for agt_1, always, by " + s.alice.ID,
	} {
		if !strings.Contains(said.Body(), want) {
			t.Errorf("%q is not in %q", want, said.Body())
		}
	}
	if html, _ := said.Field("formatted_body").(string); strings.Contains(html, "<b>allow") || strings.Index(said.Body(), always.ID) > strings.Index(said.Body(), run.ID) {
		t.Errorf("the list is %s", asJSON(said.Content))
	}

	wish, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "!revoke "+always.ID)
	s.ok(err)
	if said := s.replyTo(s.bob, wish); !strings.Contains(said.Body(), "Only workspace owners and admins") || said.Relation().EventID != event.ID {
		t.Errorf("told %s", asJSON(said.Content))
	}
	wish, err = s.alice.ThreadReply(s.ctx, s.room, event.ID, "!revoke "+run.ID)
	s.ok(err)
	if said := s.replyTo(s.alice, wish); !strings.Contains(said.Body(), "taken back") {
		t.Errorf("told %s", asJSON(said.Content))
	}
	told := wanted(t, came)
	if now := s.stands(run.ID); now.State != schema.GrantRevoked || *now.RevokedBy != s.alice.ID || told.Grant.ID != run.ID || *told.Grant.RevokedBy != s.alice.ID {
		t.Errorf("it stands as %+v, and told is %+v", now, told)
	}
	if now := s.stands(always.ID); now.State != schema.GrantActive {
		t.Errorf("it stands as %+v", now)
	}
	status, q := s.get(run.QuestionID)
	grant, _ := q["answer"].(map[string]any)["grant"].(map[string]any)
	if status != http.StatusOK || q["state"] != "answered" || grant["scope"] != "run" || grant["by"] != s.bob.ID {
		t.Errorf("the question is %v", q)
	}
	for _, text := range []string{"!revoke", "!revoke gzzzzz"} {
		wish, err := s.bob.Send(s.ctx, s.room, text)
		s.ok(err)
		if said := s.replyTo(s.bob, wish); !strings.Contains(said.Body(), "Nothing here goes by that name") {
			t.Errorf("%q is told %q", text, said.Body())
		}
	}
}

// A grant is stored with its answer, and a revocation with what is owed for it: the bridge is killed right after either.
func TestGrantsOfAKilledBridge(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := newStageOn(t, d)
		came := s.withWebhook(schema.EventGrantRevoked)
		s.start("settled")
		var content map[string]any
		s.ok(json.Unmarshal([]byte(grantable("elc_killed")), &content))
		_, event := s.askElicitation(content)
		_, err := s.bob.ThreadReply(s.ctx, s.room, event.ID, "1")
		s.ok(err)
		s.gone()
		s.start("webhook")
		var g *schema.Grant
		for one, err := range s.client().Grants(s.ctx, client.GrantOptions{}) {
			if s.ok(err); g != nil {
				t.Errorf("granted twice: %+v", one)
			}
			g = one
		}
		if g == nil || g.State != schema.GrantActive || g.By != s.bob.ID {
			t.Fatalf("granted %+v", g)
		}
		wish, err := s.alice.Send(s.ctx, s.room, "!revoke "+g.ID)
		s.ok(err)
		s.gone()
		if len(came) != 0 {
			t.Fatal("the endpoint was told already")
		}
		s.start("")
		if told := wanted(t, came); told.Grant.ID != g.ID || *told.Grant.RevokedBy != s.alice.ID {
			t.Errorf("told %+v", told)
		}
		s.replyTo(s.alice, wish)
		if now := s.stands(g.ID); now.State != schema.GrantRevoked {
			t.Errorf("it stands as %+v", now)
		}
		s.delivered(1)
		if n := s.count(func(e testserver.Event) bool { return e.Sender == bot && e.Relation().InReplyTo.EventID == wish }); n != 1 || len(came) != 0 {
			t.Errorf("said %d times", n)
		}
	})
}
