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
