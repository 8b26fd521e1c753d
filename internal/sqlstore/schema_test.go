package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

func TestUpgrade(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q := ask(t, s, 1, room)
		noError(t, s.Close())
		s = d.open(t)
		if got := must(s.Question(t.Context(), q.ID))(t); !reflect.DeepEqual(got, q) {
			t.Fatalf("after it was opened again: got %v, want %v", got, q)
		}
		noError(t, s.Ping(t.Context()))
		run(t, s, "UPDATE version SET version = 99, compat = 99")
		if _, err := sqlstore.Open(t.Context(), d.Config); !errors.Is(err, dbutil.ErrUnsupportedDatabaseVersion) {
			t.Errorf("a newer database: %v", err)
		}
		run(t, s, "UPDATE version SET version = 1, compat = 1")
		run(t, s, "UPDATE database_owner SET owner = 'somebody'")
		if _, err := sqlstore.Open(t.Context(), d.Config); !errors.Is(err, dbutil.ErrNotOwned) {
			t.Errorf("somebody else's database: %v", err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, config := range map[string]sqlstore.Config{
		"no type":   {Path: filepath.Join(t.TempDir(), "x.db")},
		"no path":   {Type: sqlstore.SQLite},
		"memory":    {Type: sqlstore.SQLite, Path: ":memory:"},
		"no folder": {Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "none", "x.db")},
		"no uri":    {Type: sqlstore.Postgres},
		"no server": {Type: sqlstore.Postgres, URI: "postgres://secret:word@127.0.0.1:1/x?sslmode=disable"},
	} {
		s, err := sqlstore.Open(t.Context(), config)
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close()
		} else if strings.Contains(err.Error(), "word") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

func run(t *testing.T, s *sqlstore.Store, query string) {
	t.Helper()
	_, err := s.Database().Exec(t.Context(), query)
	noError(t, err)
}

// The database itself refuses what must not be.
func TestChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		ask(t, s, 1, room)
		answered := ask(t, s, 2, room)
		must2(s.Settle(t.Context(), answer(answered, 1)))(t)
		must(s.StoreEvents(t.Context(), []bridge.Incoming{incoming("$1", room)}))(t)
		for _, bad := range []string{
			`UPDATE questions SET state = 'done', settled_at = 1 WHERE id = 'q_1'`,
			`UPDATE questions SET state = 'expired' WHERE id = 'q_1'`,
			`UPDATE questions SET settled_at = 1 WHERE id = 'q_1'`,
			`UPDATE questions SET state = 'answered', settled_at = 1 WHERE id = 'q_1'`,
			`UPDATE questions SET answer = '{}' WHERE id = 'q_1'`,
			`UPDATE questions SET state = 'pending', settled_at = NULL WHERE id = 'q_2'`,
			`UPDATE questions SET state = 'pending' WHERE id = 'q_2'`,
			`UPDATE questions SET cancelled_by = 'asker' WHERE id = 'q_2'`,
			`UPDATE questions SET state = 'cancelled', settled_at = 1, cancelled_by = 'nobody' WHERE id = 'q_1'`,
			`UPDATE questions SET revision = -1 WHERE id = 'q_1'`,
			`UPDATE questions SET delivery_state = 'lost' WHERE id = 'q_1'`,
			`UPDATE questions SET elicitation_id = 'q_2' WHERE id = 'q_1'`,
			`UPDATE questions SET id = NULL WHERE id = 'q_1'`,
			`INSERT INTO courtesies (question, key) VALUES ('q_none', 'x')`,
			`INSERT INTO message_links (conversation, message, question) VALUES ('a', 'b', 'q_none')`,
			`INSERT INTO effects (question, lane, kind, key, due) VALUES ('q_none', '', 'k', 'k', 1)`,
			`UPDATE inbox SET state = 'done'`,
			`UPDATE inbox SET state = 'handled'`, // with its content
			`UPDATE inbox SET raw = NULL`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `UPDATE questions SET state = 'cancelled', settled_at = 1, cancelled_by = 'asker' WHERE id = 'q_1'`)
	})
}

// An error that may be shown says nothing of tables, statements or values.
func TestErrorsSayNothingOfSQL(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q := ask(t, s, 1, room)
		other := q
		other.ID = "q_other"
		_, err1 := s.Question(t.Context(), "q_none")
		_, err2 := s.FirstTime(t.Context(), "q_none", "secret")
		for _, err := range []error{err1, err2, s.CreateQuestion(t.Context(), other), s.FinishEffect(t.Context(), 1)} {
			var shown *bridge.Error
			if !errors.As(err, &shown) {
				t.Fatalf("%v is not an error to show", err)
			}
			for _, word := range []string{"SELECT", "INSERT", "sql", "pq:", "constraint", "secret", "questions", "q_none"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("%q says %q", err, word)
				}
			}
		}
	})
}

// A question as the first version of the schema stored it, with something in every field there was.
func TestStoredByFirstVersion(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		definition := string(must(os.ReadFile("testdata/definition-1.json"))(t))
		stored := string(must(os.ReadFile("testdata/answer-1.json"))(t))
		q := ask(t, s, 1, room)
		must2(s.Settle(t.Context(), answer(q, 1)))(t)
		_, err := s.Database().Exec(t.Context(), `UPDATE questions SET definition = $1, answer = $2`, definition, stored)
		noError(t, err)
		got := must(s.Question(t.Context(), q.ID))(t)

		at := time.Date(2026, 11, 7, 10, 0, 0, 123e6, time.UTC)
		text, comment, input, reply := "free text", "a comment", "https://example.org", "thread-7"
		want := bridge.Question{
			AskedBy: "Deployer", Dialect: bridge.V2, Carried: &bridge.Carried{By: "@carrier:example.org", Message: "$m", FreeTextReplies: true},
			Title: "Deploy", Prompt: "Two things", Items: []bridge.Item{{
				Header: "H", Prompt: "P", Multiple: true, Text: &bridge.TextInput{Placeholder: "here", MaxLength: 60},
				Options: []bridge.Option{{
					ID: "approve", Label: "Yes <b>", Meaning: bridge.Approve, Style: "primary", NeedsComment: true, Grant: bridge.GrantRun,
					Input: &bridge.Input{Kind: "url", Label: "L", Required: true, MaxLength: 9}, Requires: bridge.RequiresWorkspaceAdmin, Typed: true,
				}},
			}},
			Scope: bridge.Direct, Target: "@t:example.org", ApprovalRequestID: "r", RemindAt: &at, EscalateAt: &at, Digest: "d",
			Subject: &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "s", Digest: "sha256:x", Schema: "v1", Revision: 3}, LapsesAt: &at, Complete: true},
			ReplyTo: &reply, Dismissible: true, Warnings: []string{"w"},

			ID: q.ID, Asker: q.Asker, ElicitationID: q.ElicitationID, Conversation: q.Conversation, CreatedAt: q.CreatedAt,
			ExpiresAt: q.ExpiresAt, ForgetAfter: q.ForgetAfter, State: bridge.Answered, SettledAt: &q.CreatedAt, Delivery: q.Delivery,
			Answer: &bridge.Answer{
				Choice: bridge.Choice{
					Items:   []bridge.ItemChoice{{Header: "H", Selected: []bridge.OptionID{"approve"}, Text: &text}},
					Comment: &comment, Input: &input, Via: bridge.ViaStructured,
					Subject: &bridge.SubjectRef{ID: "s", Digest: "sha256:x", Schema: "v1", Revision: 3},
				},
				Labels: [][]string{{"Yes <b>"}}, Meaning: bridge.Approve, Grant: bridge.GrantRun, At: at, Event: "$e",
				By: bridge.Responder{ID: "@u:example.org", DisplayName: "U"},
			},
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %#v\nwant %#v", got, want)
		}
		// What is written today is the same again.
		want.ID, want.ElicitationID, want.State, want.SettledAt = "q_2", "q_2", bridge.Pending, nil
		answer := want.Answer
		want.Answer = nil
		noError(t, s.CreateQuestion(t.Context(), want))
		must2(s.Settle(t.Context(), bridge.Settlement{Question: "q_2", State: bridge.Answered, Revision: -1, Answer: answer, At: start}))(t)
		column := func(query string) (text string) {
			noError(t, s.Database().QueryRow(context.Background(), query).Scan(&text))
			return text + "\n"
		}
		equal(t, "definition", column(`SELECT definition FROM questions WHERE id = 'q_2'`), definition)
		equal(t, "answer", column(`SELECT answer FROM questions WHERE id = 'q_2'`), stored)
	})
}
