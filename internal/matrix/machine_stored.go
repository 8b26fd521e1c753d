//go:build goolm

package matrix

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix/crypto/olm"
)

// ReadDevice reads which device the bot has, without the homeserver. The error says so when the pickle key does not fit the
// keys.
func ReadDevice(ctx context.Context, cfg Encryption, store Store) (Device, error) {
	keys, err := openKeys(ctx, cfg, store)
	if err != nil || keys.DeviceID == "" {
		return Device{}, err
	}
	account, err := keys.GetAccount(ctx)
	switch {
	case errors.Is(err, olm.ErrBadMAC):
		return Device{}, errPickle
	case err != nil:
		return Device{}, fmt.Errorf("read the keys: %w", err)
	case account == nil:
		return Device{}, nil
	}
	return Device{ID: string(keys.DeviceID), Key: string(account.SigningKey())}, nil
}

// RecoveryKey reads the key that opens the bot's secret storage on the homeserver; "" while there is none.
func RecoveryKey(ctx context.Context, cfg Encryption, store Store) (string, error) {
	if _, err := ReadDevice(ctx, cfg, store); err != nil {
		return "", err
	}
	key, err := newKeyStore(cfg, store).GetSecret(ctx, secretRecovery)
	if err != nil {
		return "", fmt.Errorf("read the recovery key: %w", err)
	}
	return key, nil
}

// openKeys makes the tables of the keys where there are none, and finds the device's id; "" while there is none.
func openKeys(ctx context.Context, cfg Encryption, store Store) (*keyStore, error) {
	keys := newKeyStore(cfg, store)
	err := store.Atomically(ctx, keys.DB.Upgrade)
	if err != nil {
		return nil, fmt.Errorf("prepare the tables of the keys: %w", err)
	}
	keys.DeviceID, err = keys.FindDeviceID(ctx)
	return keys, err
}
