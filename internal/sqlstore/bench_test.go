package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// Each benchmark works on 50,000 questions, half of them answered, 10,000 effects, and 10,000 events that wait in one
// room.
func benchmark(b *testing.B, run func(b *testing.B, s *sqlstore.Store)) {
	b.Run("SQLite", func(b *testing.B) {
		bench(b, sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(b.TempDir(), "store.db")}, run)
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		uri, drop, err := postgres.NewDatabase(b.Context(), b.Name())
		check(b, err)
		defer func() { _ = drop() }()
		bench(b, sqlstore.Config{Type: sqlstore.Postgres, URI: uri}, run)
	})
}

const benchQuestions = 50_000

func bench(b *testing.B, c sqlstore.Config, run func(b *testing.B, s *sqlstore.Store)) {
	s, err := sqlstore.Open(b.Context(), c)
	check(b, err)
	defer s.Close()
	check(b, s.Atomically(b.Context(), func(ctx context.Context) error {
		for i := range benchQuestions {
			q := question(i)
			q.Conversation = bridge.ConversationID(fmt.Sprintf("!%d", i%1000))
			check(b, s.CreateQuestion(ctx, q))
			if i%2 == 0 {
				_, _, err := s.Settle(ctx, answer(q, 1))
				check(b, err)
			}
			if i%5 == 0 {
				check(b, s.AddEffects(ctx, bridge.Effect{Kind: "k", Question: q.ID, Due: start.Add(time.Duration(i) * time.Second)}))
			}
		}
		for i := range 10_000 {
			_, err := s.StoreEvents(ctx, []bridge.Incoming{incoming(bridge.InteractionID(fmt.Sprintf("$w%d", i)), "!1")})
			check(b, err)
		}
		return nil
	}))
	if c.Type == sqlstore.Postgres {
		_, err := s.Database().Exec(b.Context(), "ANALYZE")
		check(b, err)
	}
	run(b, s)
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkStore(b *testing.B) {
	n := 0
	benchmark(b, func(b *testing.B, s *sqlstore.Store) {
		ctx := b.Context()
		body := json.RawMessage(`{"content": "` + strings.Repeat("x", 1000) + `"}`)
		for _, one := range []struct {
			name string
			do   func() error
		}{
			{"store 50 events", func() error {
				var batch []bridge.Incoming
				for range 50 {
					n++
					e := incoming(bridge.InteractionID(fmt.Sprintf("$%d", n)), bridge.ConversationID(fmt.Sprintf("!%d", n%50)))
					e.Raw = body
					batch = append(batch, e)
				}
				_, err := s.StoreEvents(ctx, batch)
				return err
			}},
			{"next events", func() error { _, err := s.NextEvents(ctx, start, 50); return err }},
			{"question", func() error { _, err := s.Question(ctx, "q_77"); return err }},
			{"list 50", func() error {
				_, _, err := s.ListQuestions(ctx, bridge.Listing{Asker: "agent", State: bridge.Pending, Limit: 50})
				return err
			}},
			{"quota of 1000 pending", func() error {
				_, _, err := s.QuotaReached(ctx, "agent", "!1", bridge.Quota{Asker: 1000, Conversation: 1000})
				return err
			}},
			{"ask and settle", func() error {
				n++
				q := question(benchQuestions + n)
				return s.Atomically(ctx, func(ctx context.Context) error {
					if err := s.CreateQuestion(ctx, q); err != nil {
						return err
					}
					_, _, err := s.Settle(ctx, answer(q, 1))
					return err
				})
			}},
			{"claim 1 and finish", func() error {
				claimed, err := s.ClaimEffects(ctx, start.Add(100*time.Hour), time.Minute, 1)
				if err != nil || len(claimed) == 0 {
					return err
				}
				return s.FinishEffect(ctx, claimed[0].ID)
			}},
			{"next effect", func() error { _, _, err := s.NextEffect(ctx); return err }},
			{"sweep with nothing due", func() error { _, err := s.ExpireDue(ctx, start, 100); return err }},
		} {
			b.Run(one.name, func(b *testing.B) {
				for b.Loop() {
					check(b, one.do())
				}
			})
		}
	})
}
