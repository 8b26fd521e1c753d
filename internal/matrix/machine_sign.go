//go:build goolm

package matrix

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/olm"
	"maunium.net/go/mautrix/crypto/ssss"
	"maunium.net/go/mautrix/crypto/utils"
	"maunium.net/go/mautrix/id"
)

// secretRecovery is the key of the bot's secret storage on the homeserver, where its signing keys are kept too.
const secretRecovery id.Secret = "dev.superpipeline.question.recovery_key"

// crossSign gives the bot an identity that signs its device: strict clients read nothing of other devices, and let them read
// nothing. Where the homeserver refuses that, the bot goes on without; the error is one of not having had an answer.
func (c *machine) crossSign(ctx context.Context) error {
	err := c.sign(quiet(ctx))
	if err == nil {
		return nil
	}
	if errors.Is(err, mautrix.MUnknownToken) { // the device's, which says nothing of ours
		return fmt.Errorf("sign the bot's device: %v", err)
	}
	if unreachable(err) || answered(err, http.StatusTooManyRequests) || ctx.Err() != nil {
		return fmt.Errorf("sign the bot's device: %w", err)
	}
	if !c.refused {
		c.refused = true
		zerolog.Ctx(ctx).Warn().Err(err).Msg("The homeserver does not let the bot sign its device: strict clients will not be able to read the bot; " +
			"encryption.password may help")
	}
	return nil
}

// sign does what is missing of it.
func (c *machine) sign(ctx context.Context) error {
	keys, recovery, err := c.identity(ctx)
	if err != nil {
		return err
	}
	user, device := c.cli.UserID, c.cli.DeviceID
	found, err := c.cli.QueryKeys(ctx, &mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{user: {device}}})
	if err != nil {
		return err
	}
	master, self := found.MasterKeys[user], found.SelfSigningKeys[user]
	if master.FirstKey() != keys.MasterKey.PublicKey() || self.FirstKey() != keys.SelfSigningKey.PublicKey() {
		if err := c.olm.PublishCrossSigningKeys(ctx, keys, c.authorise); err != nil {
			return err
		}
	}
	c.olm.CrossSigningKeys = keys
	// It keeps what this gives, without a lock, when it first decrypts something: so not while several are decrypted.
	if _, err := c.olm.GetOwnCrossSigningPublicKeys(ctx); err != nil {
		return err
	}
	by := id.NewKeyID(id.KeyAlgorithmEd25519, string(keys.SelfSigningKey.PublicKey()))
	if found.DeviceKeys[user][device].Signatures[user][by] == "" {
		if err := c.olm.SignOwnDevice(ctx, c.olm.OwnIdentity()); err != nil {
			return err
		}
	}
	return c.keepRecoverable(ctx, keys, recovery)
}

// authorise says who we are to a homeserver that asks for it before it takes signing keys; nil where we cannot.
func (c *machine) authorise(asked *mautrix.RespUserInteractive) any {
	if c.cfg.Password == "" {
		return nil
	}
	return &mautrix.ReqUIAuthLogin{
		BaseAuthData: mautrix.BaseAuthData{Type: mautrix.AuthTypePassword, Session: asked.Session},
		User:         string(c.cli.UserID), Password: c.cfg.Password,
	}
}

// identity reads the signing keys and the key that recovers them. They are made once, and stored before anybody hears of
// them.
func (c *machine) identity(ctx context.Context) (*crypto.CrossSigningKeysCache, string, error) {
	store := c.olm.CryptoStore
	recovery, err := store.GetSecret(ctx, secretRecovery)
	if err != nil {
		return nil, "", err
	}
	if recovery == "" {
		key, err := ssss.NewKey("")
		if err != nil {
			return nil, "", err
		}
		keys, err := c.olm.GenerateCrossSigningKeys()
		if err != nil {
			return nil, "", err
		}
		return keys, key.RecoveryKey(), c.store.Atomically(ctx, func(ctx context.Context) error {
			return errors.Join(
				store.PutSecret(ctx, secretRecovery, key.RecoveryKey()),
				store.PutSecret(ctx, id.SecretXSMaster, base64.StdEncoding.EncodeToString(keys.MasterKey.Seed())),
				store.PutSecret(ctx, id.SecretXSSelfSigning, base64.StdEncoding.EncodeToString(keys.SelfSigningKey.Seed())),
				store.PutSecret(ctx, id.SecretXSUserSigning, base64.StdEncoding.EncodeToString(keys.UserSigningKey.Seed())),
			)
		})
	}
	var keys crypto.CrossSigningKeysCache
	for name, into := range map[id.Secret]*olm.PKSigning{
		id.SecretXSMaster: &keys.MasterKey, id.SecretXSSelfSigning: &keys.SelfSigningKey, id.SecretXSUserSigning: &keys.UserSigningKey,
	} {
		stored, err := store.GetSecret(ctx, name)
		if err != nil {
			return nil, "", err
		}
		seed, err := base64.StdEncoding.DecodeString(stored)
		if err != nil {
			return nil, "", fmt.Errorf("a signing key in the database is damaged: %w", err)
		}
		if *into, err = olm.NewPKSigningFromSeed(seed); err != nil {
			return nil, "", fmt.Errorf("a signing key in the database is damaged: %w", err)
		}
	}
	return &keys, recovery, nil
}

// keepRecoverable puts the signing keys into the bot's secret storage, encrypted by the recovery key: with it, whoever logs
// in as the bot has the same identity.
func (c *machine) keepRecoverable(ctx context.Context, keys *crypto.CrossSigningKeysCache, recovery string) error {
	if kept, err := c.store.Value(ctx, valueRecovery); err != nil || kept != "" {
		return err
	}
	key, err := ssss.WrapKey(utils.DecodeBase58RecoveryKey(recovery), nil)
	if err != nil {
		return err
	}
	if err := c.olm.SSSS.SetKeyData(ctx, key.ID, key.Metadata); err != nil {
		return err
	}
	if err := c.olm.UploadCrossSigningKeysToSSSS(ctx, key, keys); err != nil {
		return err
	}
	if err := c.olm.SSSS.SetDefaultKeyID(ctx, key.ID); err != nil {
		return err
	}
	return c.store.SetValue(ctx, valueRecovery, key.ID)
}
