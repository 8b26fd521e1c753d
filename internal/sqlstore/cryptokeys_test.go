package sqlstore_test

import (
	"slices"
	"strings"
	"testing"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto/sql_store_upgrade"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// The tables of the keys are all there are, and forgetting is no fault where there are none.
func TestForgetKeys(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		noError(t, s.ForgetKeys(t.Context()))
		keys := s.Database().Child(sql_store_upgrade.VersionTableName, sql_store_upgrade.Table, dbutil.NoopLogger)
		noError(t, keys.Upgrade(t.Context()))
		list := map[dbutil.Dialect]string{
			dbutil.SQLite:   `SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'crypto_%'`,
			dbutil.Postgres: `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE 'crypto_%'`,
		}
		names := must(dbutil.NewRowIterWithError(must(s.Database().Query(t.Context(), list[s.Database().Dialect]))(t),
			dbutil.ScanSingleColumn[string], nil).AsList())(t)
		names = slices.DeleteFunc(names, func(name string) bool { return name == sql_store_upgrade.VersionTableName })
		slices.Sort(names)
		want := slices.Sorted(slices.Values(sqlstore.KeyTables))
		equal(t, "tables", strings.Join(names, " "), strings.Join(want, " "))
		_, err := s.Database().Exec(t.Context(), `INSERT INTO crypto_account (account_id, device_id, shared, sync_token, account, key_backup_version)
			VALUES ('bot', 'DEVICE', TRUE, '', '1', '')`)
		noError(t, err)
		noError(t, s.ForgetKeys(t.Context()))
		var left int
		noError(t, s.Database().QueryRow(t.Context(), `SELECT COUNT(*) FROM crypto_account`).Scan(&left))
		equal(t, "accounts", left, 0)
	})
}
