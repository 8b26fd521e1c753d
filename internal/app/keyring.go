package app

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// keysReread is how long a running bridge may go on to sign with a key that was replaced.
const keysReread = 10 * time.Second

// keyring signs certificates with the key that is in the database. It keeps the key in memory, because a certificate is
// made within transactions, and reads it again every [keysReread].
type keyring struct {
	store   *sqlstore.Store
	issuer  string
	current atomic.Pointer[ed25519.PrivateKey]
}

var _ bridge.Certifier = (*keyring)(nil)

// openKeyring reads the key that signs, and makes one where there is none.
func openKeyring(ctx context.Context, store *sqlstore.Store, issuer string, now time.Time) (*keyring, error) {
	k := &keyring{store: store, issuer: issuer}
	return k, k.reread(ctx, now)
}

func (k *keyring) reread(ctx context.Context, now time.Time) error {
	stored, err := k.store.EnsureSigningKey(ctx, newSigningKey(now))
	if err != nil {
		return err
	}
	if len(stored.Seed) != ed25519.SeedSize {
		return errors.New("the signing key in the database is damaged")
	}
	key := ed25519.NewKeyFromSeed(stored.Seed)
	if before := k.current.Swap(&key); before == nil || !before.Equal(key) {
		zerolog.Ctx(ctx).Info().Str("key", stored.ID).Msg("Certificates are signed with this key")
	}
	return nil
}

// Certify implements [bridge.Certifier].
func (k *keyring) Certify(q bridge.Question, a bridge.Answer) ([]byte, error) {
	if !q.Approves(a) {
		return nil, errors.New("nothing is approved")
	}
	return certificate.Sign(*k.current.Load(), k.payload(q, a))
}

func (k *keyring) payload(q bridge.Question, a bridge.Answer) certificate.Payload {
	p := certificate.Payload{
		CertificateID: "crt_" + string(bridge.NewQuestionID())[len("q_"):], Issuer: k.issuer,
		QuestionID: string(q.ID), ElicitationID: q.ElicitationID, Asker: string(q.Asker),
		Subject: certificate.Subject{
			ID: q.Subject.ID, Digest: q.Subject.Digest, Schema: q.Subject.Schema, Revision: q.Subject.Revision,
			ExpiresAt: writable(q.Subject.LapsesAt),
		},
		Meaning: string(a.Meaning), Grant: orNil(string(a.Grant)),
		Responder: string(a.By.ID), Room: string(q.Conversation), EventID: orNil(string(a.Event)), Surface: string(a.Via),
		ApprovedAt: a.At,
	}
	if len(a.Items) == 1 && len(a.Items[0].Selected) == 1 { // so it is of every answer with a meaning
		p.OptionID = string(a.Items[0].Selected[0])
	}
	return p
}

// writable is a time that can be written with a year of four digits: in UTC, the last hours of the year 9999 elsewhere
// may be later than that.
func writable(at *time.Time) *time.Time {
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); at != nil && at.After(last) {
		return &last
	}
	return at
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// list is what is published of the keys, as they are in the database now.
func (k *keyring) list(ctx context.Context) (certificate.KeyList, error) {
	keys, err := listKeys(ctx, k.store)
	return certificate.KeyList{Issuer: k.issuer, Keys: keys}, err
}

func listKeys(ctx context.Context, store *sqlstore.Store) ([]certificate.Key, error) {
	stored, err := store.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]certificate.Key, 0, len(stored))
	for _, s := range stored {
		if len(s.Seed) != ed25519.SeedSize {
			return nil, errors.New("a signing key in the database is damaged")
		}
		key := publicOf(s.Seed)
		key.CreatedAt, key.RetiredAt = &s.CreatedAt, s.RetiredAt
		keys = append(keys, key)
	}
	return keys, nil
}

func publicOf(seed []byte) certificate.Key {
	return certificate.NewKey(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
}

func newSigningKey(now time.Time) sqlstore.SigningKey {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: crypto/rand.Read crashes the program instead
	return sqlstore.SigningKey{ID: publicOf(seed).ID, CreatedAt: now, Seed: seed}
}

// SigningKeys are the keys of certificates, as the key commands manage them, also while the bridge runs.
type SigningKeys struct{ store *sqlstore.Store }

// SigningKey is the public half of one.
type SigningKey = certificate.Key

// RotationDelay is how long a running bridge may go on to sign with the key that was replaced.
const RotationDelay = keysReread

// OpenSigningKeys opens the keys of the configured database.
func OpenSigningKeys(ctx context.Context, cfg config.Config) (*SigningKeys, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &SigningKeys{store}, nil
}

// Close closes the database.
func (k *SigningKeys) Close() error { return k.store.Close() }

// List gives every key, the newest first.
func (k *SigningKeys) List(ctx context.Context) ([]SigningKey, error) { return listKeys(ctx, k.store) }

// Rotate makes a new key that signs from now on. The one before it stays listed, and what it signed stays valid.
func (k *SigningKeys) Rotate(ctx context.Context) (SigningKey, error) {
	made := newSigningKey(time.Now().UTC().Truncate(time.Millisecond))
	if err := k.store.RotateSigningKey(ctx, made); err != nil {
		return SigningKey{}, err
	}
	key := publicOf(made.Seed)
	key.CreatedAt = &made.CreatedAt
	return key, nil
}

// Remove takes a retired key from the list, so that nothing it signed verifies any more; found is false when there is no
// retired key of this id.
func (k *SigningKeys) Remove(ctx context.Context, id string) (found bool, err error) {
	return k.store.RemoveSigningKey(ctx, id)
}
