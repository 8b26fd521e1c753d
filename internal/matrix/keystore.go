//go:build goolm

package matrix

import (
	"context"
	"time"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// keyStore is mautrix's store of keys in our database. Whatever is written is written in our own transactions: in order
// with everybody else, or within the one that ctx carries. mautrix logs what fails and goes on; so it is noted in the
// [trace] of ctx.
type keyStore struct {
	*crypto.SQLCryptoStore
	atomically func(ctx context.Context, f func(ctx context.Context) error) error
}

// accountID names the one account that there is.
const accountID = "bot"

func newKeyStore(cfg Encryption, store Store) *keyStore {
	return &keyStore{
		crypto.NewSQLCryptoStore(cfg.Database, dbutil.NoopLogger, accountID, "", cfg.PickleKey), store.Atomically,
	}
}

// trace is what came of one call of mautrix's machine.
type trace struct {
	failed   error     // the first write, or read that matters, that failed
	sessions []session // whose keys came
	wedged   []device  // whose messages cannot be decrypted until a new session with it is begun
}

// device names one by its key.
type device struct {
	user id.UserID
	key  id.SenderKey
}

type traceKey struct{}

func recording(ctx context.Context) (context.Context, *trace) {
	r := &trace{}
	return context.WithValue(ctx, traceKey{}, r), r
}

func traceOf(ctx context.Context) *trace {
	if r, ok := ctx.Value(traceKey{}).(*trace); ok {
		return r
	}
	return &trace{}
}

func (r *trace) note(err error) error {
	if r.failed == nil {
		r.failed = err
	}
	return err
}

func (k *keyStore) write(ctx context.Context, f func(ctx context.Context) error) error {
	return traceOf(ctx).note(k.atomically(ctx, f))
}

func (k *keyStore) PutAccount(ctx context.Context, a *crypto.OlmAccount) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutAccount(ctx, a) })
}

func (k *keyStore) AddSession(ctx context.Context, key id.SenderKey, s *crypto.OlmSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.AddSession(ctx, key, s) })
}

func (k *keyStore) UpdateSession(ctx context.Context, key id.SenderKey, s *crypto.OlmSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.UpdateSession(ctx, key, s) })
}

func (k *keyStore) DeleteSession(ctx context.Context, key id.SenderKey, s *crypto.OlmSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.DeleteSession(ctx, key, s) })
}

func (k *keyStore) GetSessions(ctx context.Context, key id.SenderKey) (crypto.OlmSessionList, error) {
	sessions, err := k.SQLCryptoStore.GetSessions(ctx, key)
	return sessions, traceOf(ctx).note(err)
}

func (k *keyStore) PutOlmHash(ctx context.Context, hash [32]byte, at time.Time) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutOlmHash(ctx, hash, at) })
}

func (k *keyStore) DeleteOldOlmHashes(ctx context.Context, before time.Time) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.DeleteOldOlmHashes(ctx, before) })
}

func (k *keyStore) PutGroupSession(ctx context.Context, s *crypto.InboundGroupSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutGroupSession(ctx, s) })
}

func (k *keyStore) PutWithheldGroupSession(ctx context.Context, w mevent.RoomKeyWithheldEventContent) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutWithheldGroupSession(ctx, w) })
}

func (k *keyStore) AddOutboundGroupSession(ctx context.Context, s *crypto.OutboundGroupSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.AddOutboundGroupSession(ctx, s) })
}

func (k *keyStore) UpdateOutboundGroupSession(ctx context.Context, s *crypto.OutboundGroupSession) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.UpdateOutboundGroupSession(ctx, s) })
}

func (k *keyStore) RemoveOutboundGroupSession(ctx context.Context, room id.RoomID) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.RemoveOutboundGroupSession(ctx, room) })
}

func (k *keyStore) MarkOutboundGroupSessionShared(ctx context.Context, user id.UserID, key id.IdentityKey, session id.SessionID) error {
	return k.write(ctx, func(ctx context.Context) error {
		return k.SQLCryptoStore.MarkOutboundGroupSessionShared(ctx, user, key, session)
	})
}

func (k *keyStore) ValidateMessageIndex(ctx context.Context, session id.SessionID, e id.EventID, index uint, at int64) (first bool, err error) {
	err = k.write(ctx, func(ctx context.Context) error {
		first, err = k.SQLCryptoStore.ValidateMessageIndex(ctx, session, e, index, at)
		return err
	})
	return first, err
}

func (k *keyStore) PutDevice(ctx context.Context, user id.UserID, d *id.Device) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutDevice(ctx, user, d) })
}

func (k *keyStore) PutDevices(ctx context.Context, user id.UserID, devices map[id.DeviceID]*id.Device) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutDevices(ctx, user, devices) })
}

func (k *keyStore) MarkTrackedUsersOutdated(ctx context.Context, users []id.UserID) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.MarkTrackedUsersOutdated(ctx, users) })
}

func (k *keyStore) IncrementTrackedUsersErrorCount(ctx context.Context, users []id.UserID) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.IncrementTrackedUsersErrorCount(ctx, users) })
}

func (k *keyStore) PutCrossSigningKey(ctx context.Context, user id.UserID, usage id.CrossSigningUsage, key id.Ed25519) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutCrossSigningKey(ctx, user, usage, key) })
}

func (k *keyStore) PutSignature(ctx context.Context, user id.UserID, key id.Ed25519, signer id.UserID, with id.Ed25519, signature string) error {
	return k.write(ctx, func(ctx context.Context) error {
		return k.SQLCryptoStore.PutSignature(ctx, user, key, signer, with, signature)
	})
}

func (k *keyStore) DropSignaturesByKey(ctx context.Context, user id.UserID, key id.Ed25519) (n int64, err error) {
	err = k.write(ctx, func(ctx context.Context) error {
		n, err = k.SQLCryptoStore.DropSignaturesByKey(ctx, user, key)
		return err
	})
	return n, err
}

func (k *keyStore) PutSecret(ctx context.Context, name id.Secret, value string) error {
	return k.write(ctx, func(ctx context.Context) error { return k.SQLCryptoStore.PutSecret(ctx, name, value) })
}
