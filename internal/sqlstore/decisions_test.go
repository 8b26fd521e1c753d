package sqlstore_test

import (
	"fmt"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/gate/decision/storetest"
)

func TestDecisionStore(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) decision.Store { return newSQLite(t).open(t) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) decision.Store { return newPostgres(t).open(t) })
	})
}

// Of answers to exchanges that were opened together and are answered at once, some yes and some no, the first counts until
// one contradicts it; then nothing is remembered.
func TestDecisionRaces(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		book := decision.New(decision.Parts{Store: s, Clock: bridge.SystemClock{}})
		for _, c := range []struct {
			purpose   string
			contested bool
		}{{"agreed", false}, {"contested", true}} {
			scope := collector.Scope{Agent: "agent", Requester: "Research", Purpose: c.purpose}
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					m := collector.Made{Scope: scope, Gate: collector.GateID(fmt.Sprint("g_", n)), Approved: !c.contested || n%2 == 0, By: ada, At: start}
					if err := book.Remember(t.Context(), m); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			want := collector.Decision{Revision: 1, Approved: true}
			if c.contested {
				want = collector.Decision{Revision: 2}
			}
			got := must(book.Recall(t.Context(), scope))(t)
			if (got.ID != "") == c.contested || got.Revision != want.Revision || got.Approved != want.Approved {
				t.Errorf("%s: %+v", c.purpose, got)
			}
		}
	})
}

// The database itself refuses decisions that must not be.
func TestDecisionChecks(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		run(t, s, `INSERT INTO decisions (id, agent, requester, purpose, principal, revision, approved, created_at, gate)
			VALUES ('d1', 'agent', 'r', 'p', '\x00', 1, TRUE, 1, 'g_1')`)
		for _, bad := range []string{
			`UPDATE decisions SET revision = 0`,
			`UPDATE decisions SET approved = NULL`,
			`UPDATE decisions SET approved = NULL, emptied_at = 1`,
			`UPDATE decisions SET emptied_at = 1`,
			`UPDATE decisions SET gate = NULL`,
			`UPDATE decisions SET approved = NULL, created_at = NULL, gate = NULL, emptied_at = 1, decided_by = '@ada:example.org'`,
			`INSERT INTO decision_uses (decision, revision, gate, used_at) VALUES ('d2', 1, 'g_1', 1)`,
		} {
			if _, err := s.Database().Exec(t.Context(), bad); err == nil {
				t.Errorf("accepted: %s", bad)
			}
		}
		run(t, s, `UPDATE decisions SET approved = NULL, created_at = NULL, gate = NULL, emptied_at = 1`)
	})
}
