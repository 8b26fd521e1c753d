package sqlstore_test

import (
	"testing"

	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/storetest"
)

func TestQueueStore(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) queue.Store { return newSQLite(t).open(t) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) queue.Store { return newPostgres(t).open(t) })
	})
}

// The database itself refuses candidates that must not be.
func TestQueueChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		noError(t, s.AddCandidate(t.Context(), queue.Candidate{
			ID: "c_1", Agent: "agent", Kind: queue.Referent, Signal: queue.SignalEvidenceGap, Status: queue.Pending, CreatedAt: start,
		}))
		run(t, s, `INSERT INTO queue_agents (agent, highest_turn) VALUES ('agent', 1)`)
		for _, bad := range []string{
			`UPDATE queue_candidates SET kind = 'judge_abstention'`,
			`UPDATE queue_candidates SET signal = 'judge_abstention'`,
			`UPDATE queue_candidates SET status = 'asked'`,
			`UPDATE queue_candidates SET status = 'delivered'`,
			`UPDATE queue_candidates SET status = 'answered', resolved_turn = 1`,
			`UPDATE queue_candidates SET status = 'expired'`,
			`UPDATE queue_candidates SET status = 'cooled', resolved_turn = 1`,
			`UPDATE queue_candidates SET cooldown_until = 1`,
			`UPDATE queue_candidates SET answer_option = 1`,
			`UPDATE queue_candidates SET applied = TRUE`,
			`UPDATE queue_candidates SET delivered_turn = 1`,
			`UPDATE queue_candidates SET ask_count = 1`,
			`INSERT INTO queue_keys (candidate, agent, key) VALUES ('c_none', 'agent', 'key')`,
			`INSERT INTO queue_cues (candidate, agent, token, last_seen_turn, ask_count, created_turn) VALUES ('c_none', 'agent', 'token', 0, 0, 0)`,
			`INSERT INTO queue_evidence (agent, key, confidence, count) VALUES ('agent', 'key', 1.1, 1)`,
			`INSERT INTO queue_evidence (agent, key, confidence, count) VALUES ('agent', 'key', 0.5, 0)`,
			`UPDATE queue_agents SET last_ask_turn = 1`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `UPDATE queue_candidates SET status = 'answered', resolved_turn = 1, answer_option = 0, applied = TRUE`)
	})
}
