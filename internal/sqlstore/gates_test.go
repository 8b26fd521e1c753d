package sqlstore_test

import (
	"testing"

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
