package sqlstore

import (
	"context"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/command"
)

var _ command.Store = (*Store)(nil)

// AskedThere implements [command.Store].
func (s *Store) AskedThere(ctx context.Context, conv bridge.ConversationID, limit int) ([]queue.Candidate, error) {
	return s.candidatesThere(ctx, askedThere, conv, limit)
}

const askedThere = `
	SELECT ` + candidateColumns + ` FROM questions q JOIN queue_candidates c ON c.question = q.id
	WHERE q.conversation = $1 AND q.state = 'pending' AND c.status = 'delivered' AND c.leader IS NULL
	ORDER BY q.created_at, q.id LIMIT $2`

// WaitingThere implements [command.Store].
func (s *Store) WaitingThere(ctx context.Context, conv bridge.ConversationID, limit int) ([]queue.Candidate, error) {
	return s.candidatesThere(ctx, waitingThere, conv, limit)
}

const waitingThere = `
	SELECT ` + candidateColumns + ` FROM queue_candidates c JOIN queue_agents a ON a.agent = c.agent
	WHERE c.status IN ('pending', 'cooled') AND c.expires_turn >= a.highest_turn AND c.agent IN (
		SELECT asked.agent FROM questions q JOIN queue_candidates asked ON asked.question = q.id WHERE q.conversation = $1
	)
	ORDER BY c.last_seen_turn DESC, c.ask_count, c.created_turn, c.id LIMIT $2`

func (s *Store) candidatesThere(ctx context.Context, query string, conv bridge.ConversationID, limit int) ([]queue.Candidate, error) {
	found, err := list(ctx, s, scanCandidate, query, conv, limit)
	if err != nil {
		return nil, fmt.Errorf("candidates in %s: %w", conv, err)
	}
	return found, nil
}
