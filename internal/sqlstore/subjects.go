package sqlstore

import (
	"context"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
)

// AskedAbout implements [bridge.Store].
func (s *Store) AskedAbout(ctx context.Context, asker bridge.AgentID, conv bridge.ConversationID, subject string) (asked []bridge.Question, err error) {
	err = s.Atomically(ctx, func(ctx context.Context) error {
		if s.dialect.holdSubject != "" {
			if _, err := s.exec(ctx, s.dialect.holdSubject, asker, conv, subject); err != nil {
				return err
			}
		}
		asked, err = list(ctx, s, scanQuestion, askedAbout+s.holdRow(ctx), asker, conv, subject)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what %s asked about a subject: %w", asker, err)
	}
	return asked, nil
}

const askedAbout = `
	SELECT ` + questionColumns + ` FROM questions
	WHERE asker = $1 AND conversation = $2 AND subject_id = $3 AND (state = 'pending' OR subject_revision = (
		SELECT MAX(subject_revision) FROM questions WHERE asker = $1 AND conversation = $2 AND subject_id = $3))
	ORDER BY subject_revision DESC, created_at, id`
