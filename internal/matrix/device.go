package matrix

import "context"

// Device is the bot's device, as others see it; the zero one is none.
type Device struct {
	ID  string
	Key string // its fingerprint: the public key that signs for it, Ed25519, in unpadded base64
}

// valueRecovery is the id of the key of the bot's secret storage on the homeserver, once everything is in there.
const valueRecovery = "recovery_key"

// KeyTables is what ForgetDevice needs of a store.
type KeyTables interface {
	Values
	Atomically(ctx context.Context, f func(ctx context.Context) error) error
	// ForgetKeys empties the tables of the keys.
	ForgetKeys(ctx context.Context) error
}

// ForgetDevice drops the bot's device and every key from the database, so that a bridge that begins makes new ones. What was
// encrypted for the old ones cannot be read any more.
func ForgetDevice(ctx context.Context, store KeyTables) error {
	return store.Atomically(ctx, func(ctx context.Context) error {
		if err := store.ForgetKeys(ctx); err != nil {
			return err
		}
		return store.SetValue(ctx, valueRecovery, "")
	})
}
