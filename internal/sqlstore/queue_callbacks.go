package sqlstore

import (
	"context"
	"fmt"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// QueueCallback gives where an agent's host is asked which candidates are stale, "" for nowhere.
func (s *Store) QueueCallback(ctx context.Context, agent bridge.AgentID) (string, error) {
	url, _, err := first(ctx, s, column[string], `SELECT url FROM queue_callbacks WHERE agent = $1`, agent)
	return url, err
}

// SetQueueCallback replaces it; "" removes it.
func (s *Store) SetQueueCallback(ctx context.Context, agent bridge.AgentID, url string) error {
	err := s.write(ctx, func(ctx context.Context) (err error) {
		if url == "" {
			_, err = s.exec(ctx, `DELETE FROM queue_callbacks WHERE agent = $1`, agent)
			return err
		}
		_, err = s.exec(ctx, `
			INSERT INTO queue_callbacks (agent, url) VALUES ($1, $2)
			ON CONFLICT (agent) DO UPDATE SET url = excluded.url`, agent, url)
		return err
	})
	if err != nil {
		return fmt.Errorf("set the callback of a queue: %w", err)
	}
	return nil
}

// PurgePersonAsks forgets when the queue asked people, up to a moment.
func (s *Store) PurgePersonAsks(ctx context.Context, until time.Time) error {
	err := s.write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `DELETE FROM queue_person_asks WHERE asked_at <= $1`, until)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget when the queue asked people: %w", err)
	}
	return nil
}
