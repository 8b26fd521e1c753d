package sqlstore_test

import (
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/collector/storetest"
)

func TestGateStore(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) collector.Store { return newSQLite(t).open(t) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) collector.Store { return newPostgres(t).open(t) })
	})
}

// The database itself refuses gates that must not be.
func TestGateChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		g := gateOf("g_1", "query-1")
		equal(t, "added", must(s.AddGate(t.Context(), g))(t), true)
		for _, bad := range []string{
			`UPDATE gates SET state = 'pending'`,
			`UPDATE gates SET state = 'declined', due = NULL`, // with what is protected
			`UPDATE gates SET protected = NULL`,
			`UPDATE gates SET state = 'declined', protected = NULL`, // and still due
			`UPDATE gates SET state = 'approved', protected = NULL, due = NULL`,
			`UPDATE gates SET state = 'withheld', protected = NULL, due = NULL`,
			`UPDATE gates SET reason = 'withdrawn'`,
			`UPDATE gates SET principal_scope = 'global'`,
			`UPDATE gates SET request_key = 'key'`,
			`UPDATE gate_queries SET response = 'r'`,
			`UPDATE gate_queries SET received_at = 1`,
			`UPDATE gate_queries SET response = 'r', respondent = 'human', provenance = 'guessed', answer = '{}', responded_at = 1, received_at = 1`,
			`UPDATE gate_queries SET response = 'r', respondent = 'human', provenance = 'mediated', answer = '{}', responded_at = 1, received_at = expires_at`,
			`INSERT INTO gate_queries (id, gate, continuation, expires_at, definition) VALUES ('query-2', 'g_none', FALSE, 1, '{}')`,
			`INSERT INTO gate_queries (id, gate, continuation, expires_at, definition) VALUES ('query-2', 'g_1', FALSE, 1, '{}')`,
			`INSERT INTO gate_queries (id, gate, continuation, expires_at, definition) VALUES ('query-1', 'g_1', TRUE, 1, '{}')`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `UPDATE gates SET state = 'withheld', reason = 'withdrawn', protected = NULL, due = NULL`)
		run(t, s, `UPDATE gate_queries SET response = 'r', respondent = 'human', provenance = 'mediated', answer = '{}', responded_at = 1, received_at = expires_at - 1`)
	})
}

// gateOf is an open gate about somebody, with its approval query.
func gateOf(id collector.GateID, query gate.QueryID) collector.Gate {
	return collector.Gate{
		ID: id, Agent: "agent", Conversation: room, Requester: "R", Purpose: "p", Route: collector.ByReturn, Mode: collector.Off,
		Principal: collector.Principal{Kind: "user", ID: "usr_1", Scope: "local"}, State: collector.Open, Protected: &collector.Protected{Prompt: "Protected?"},
		CreatedAt: start, ForgetAfter: start.Add(collector.Retention),
		Approval: collector.Asked{Query: collector.Query{ID: query, Type: collector.Approval, Prompt: "May they?", ExpiresAt: start.Add(time.Hour)}},
	}
}

// A value that is made when it is first asked for stays as it is.
func TestEnsureValue(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		equal(t, "first", must(s.EnsureValue(t.Context(), "key", "one"))(t), "one")
		equal(t, "second", must(s.EnsureValue(t.Context(), "key", "two"))(t), "one")
		equal(t, "stored", must(s.Value(t.Context(), "key"))(t), "one")
	})
}
