package sqlstore

import (
	"context"
	"fmt"
)

// keyTables are those that mautrix keeps its keys in; its own upgrades make them, in our database.
var keyTables = []string{
	"crypto_olm_message_hash", "crypto_olm_session", "crypto_message_index", "crypto_megolm_inbound_session",
	"crypto_megolm_outbound_session", "crypto_megolm_outbound_session_shared", "crypto_tracked_user", "crypto_device",
	"crypto_cross_signing_keys", "crypto_cross_signing_signatures", "crypto_secrets", "crypto_account",
}

// ForgetKeys empties the tables of the keys, where there are any: the bot's device, its identity, and all that it could read.
func (s *Store) ForgetKeys(ctx context.Context) error {
	err := s.Atomically(ctx, func(ctx context.Context) error {
		there, err := s.db.TableExists(ctx, "crypto_account")
		if err != nil || !there {
			return err
		}
		for _, table := range keyTables {
			if _, err := s.exec(ctx, "DELETE FROM "+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget the keys: %w", err)
	}
	return nil
}
