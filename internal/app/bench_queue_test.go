package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/measure"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// BenchmarkQueue measures a next that delivers, with so many candidates of the agent against a thousand. All of them wait
// and pass the gate, so that whatever does not stop at the first ones takes longer the more there are. The cues are ten
// tokens, of which one is a token of every candidate, one of a hundredth of them, and the others of none.
func BenchmarkQueue(b *testing.B) {
	for _, database := range []struct {
		name string
		open func(b *testing.B) sqlstore.Config
	}{
		{"SQLite", func(b *testing.B) sqlstore.Config {
			return sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(b.TempDir(), "queue.db")}
		}},
		{"PostgreSQL", newBenchPostgres},
	} {
		b.Run(database.name, func(b *testing.B) {
			limit := newWaitingQueue(b, database.open(b), 1000)
			for _, size := range []struct {
				candidates int
				name       string
			}{{10_000, "10,000"}, {100_000, "100,000"}} {
				ours := newWaitingQueue(b, database.open(b), size.candidates)
				for _, with := range []struct {
					what string
					cues []string
				}{{"no cues", nil}, {"ten cues", tenCues}} {
					b.Run(size.name+" "+with.what, func(b *testing.B) {
						compareLatencies(b, ours.slice(with.cues), limit.slice(with.cues)).
							report(b, fmt.Sprintf("next of %s candidates, %s, %s", size.name, with.what, database.name), "; limit: next of 1,000",
								latencyGoals{ratio: measure.Goal{AtMost: 2}})
					})
				}
			}
		})
	}
}

// benchTurn is the turn on which next is asked, far from the first one.
const benchTurn queue.Turn = 1000

var tenCues = queue.CueTokens("meetings topic7 nothing of what follows is any candidate's: apples bananas cherries dates elderberries figs grapes")

func newBenchPostgres(b *testing.B) sqlstore.Config {
	b.Helper()
	server, stop, err := testserver.Postgres(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	uri, err := testserver.NewDatabase(b.Context(), server, b.Name())
	if err != nil {
		b.Fatal(err)
	}
	return sqlstore.Config{Type: sqlstore.Postgres, URI: uri}
}

// waitingQueue is a queue of one agent whose candidates all wait.
type waitingQueue struct {
	b     *testing.B
	store *sqlstore.Store
	queue *queue.Queue
}

func newWaitingQueue(b *testing.B, config sqlstore.Config, candidates int) *waitingQueue {
	b.Helper()
	store, err := sqlstore.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	w := &waitingQueue{b: b, store: store, queue: queue.New(queue.Parts{Store: store, Clock: bridge.SystemClock{}, LockWait: time.Minute})}
	w.fill(candidates)
	return w
}

// fill makes copies of a candidate by one statement for each table. Their last uses are spread over all turns that pass
// the gate.
func (w *waitingQueue) fill(candidates int) {
	w.b.Helper()
	p := queue.Proposal{
		Agent: "ci", Turn: benchTurn, Text: "Does Dana prefer morning or afternoon meetings?", Kind: queue.Disjunction, Signal: queue.SignalDisjunction,
		Targets: []queue.Target{{Key: "dana:morning"}, {Key: "dana:afternoon"}}, Options: []queue.Option{{Label: "morning"}, {Label: "afternoon"}},
	}
	_, template, err := w.queue.Propose(w.b.Context(), p)
	if err != nil || template == nil {
		w.b.Fatal("no candidate to copy", err)
	}
	from := func(columns, table, key string) string {
		return `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1) SELECT ` + columns + ` FROM n, ` + table + ` WHERE ` + key + ` = $2`
	}
	const seen = `last_seen_turn - i % 6`
	copied := `agent, kind, signal, status, ask_count, created_turn, expires_turn, applied, created_at, same_text, definition`
	w.exec(`INSERT INTO queue_candidates (id, last_seen_turn, `+copied+`) `+from(`'c_' || CAST(i AS TEXT), `+seen+`, `+copied, `queue_candidates`, `id`), candidates, template.ID)
	w.exec(`INSERT INTO queue_keys (candidate, agent, key) `+from(`'c_' || CAST(i AS TEXT), agent, key || CAST(i AS TEXT)`, `queue_keys`, `candidate`), candidates, template.ID)
	cues := `INSERT INTO queue_cues (candidate, agent, token, last_seen_turn, ask_count, created_turn) `
	w.exec(cues+from(`'c_' || CAST(i AS TEXT), agent, token, `+seen+`, ask_count, created_turn`, `queue_cues`, `candidate`), candidates, template.ID)
	w.exec(cues+from(`'c_' || CAST(i AS TEXT), agent, 'topic' || CAST(i % 100 AS TEXT), `+seen+`, ask_count, created_turn`, `queue_candidates`, `id`), candidates, template.ID)
	w.exec(`DELETE FROM queue_candidates WHERE id = $1`, template.ID)
	if strings.HasPrefix(w.b.Name(), "BenchmarkQueue/PostgreSQL") {
		w.exec(`VACUUM ANALYZE`) // which PostgreSQL would do by itself a little later
	}
	if err := w.store.Checkpoint(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
}

func (w *waitingQueue) exec(query string, args ...any) {
	w.b.Helper()
	for i, arg := range args {
		if id, ok := arg.(queue.CandidateID); ok {
			args[i] = string(id)
		}
	}
	if _, err := w.store.Database().Exec(context.Background(), query, args...); err != nil {
		w.b.Fatal(err)
	}
}

// slice delivers ten times, and gives how long each took. In between, everything is again as it was.
func (w *waitingQueue) slice(cues []string) func() []time.Duration {
	return func() []time.Duration {
		took := make([]time.Duration, 10)
		for i := range took {
			began := time.Now()
			c, err := w.queue.Next(benchLog().WithContext(context.Background()), queue.Request{Agent: "ci", Turn: benchTurn, Cues: cues})
			took[i] = time.Since(began)
			if err != nil || c == nil {
				w.b.Fatal("nothing was delivered", err)
			}
			w.exec(`UPDATE queue_candidates SET status = 'pending', ask_count = 0, delivered_turn = NULL WHERE id = $1`, c.ID)
			w.exec(`UPDATE queue_cues SET ask_count = 0 WHERE candidate = $1`, c.ID)
			w.exec(`UPDATE queue_agents SET last_ask_turn = NULL, bucket_ends = NULL`)
		}
		return took
	}
}
