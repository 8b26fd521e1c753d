package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"superpipeline.dev/question-bridge/internal/matrix"
)

// encryption tries the pickle key, and looks at what the homeserver shows others of the bot's device. It logs nothing in: a
// running bridge would lose its session.
func (c *check) encryption(ctx context.Context) {
	f := Finding{
		What: "encryption.pickle_key opens the keys of the bot's device",
		Hint: "docs/encryption.md says what to do when keys are lost",
	}
	var device matrix.Device
	keys, err := OpenEncryptionKeys(ctx, c.cfg)
	if err == nil {
		device, err = keys.Device(ctx)
		err = errors.Join(err, keys.Close())
	}
	switch f.Err = err; {
	case err != nil:
	case device.ID == "":
		f.Note = "there are none yet; the bridge makes them when it first runs"
	default:
		f.Note = "device " + device.ID
	}
	if c.add(f) && device.ID != "" && c.known {
		c.shown(ctx, device)
	}
}

// What is said of signed devices.
const (
	strictReads = "strict clients can read the bot"
	strictNever = "strict clients will not be able to read the bot, because its device is not signed; " +
		"some homeservers want encryption.password for that"
)

// shown asks what everybody sees of the bot's device, and whether it is signed: there are clients that read nothing of others.
func (c *check) shown(ctx context.Context, device matrix.Device) {
	f := Finding{
		What: "the homeserver shows everybody the bot's device",
		Hint: "start the bridge, which gives the homeserver its keys; its log says more when there are other ones",
		Note: strictNever,
	}
	var keys struct {
		Devices map[string]map[string]struct {
			Keys       map[string]string            `json:"keys"`
			Signatures map[string]map[string]string `json:"signatures"`
		} `json:"device_keys"`
		Master map[string]json.RawMessage `json:"master_keys"`
		Self   map[string]struct {
			Keys map[string]string `json:"keys"`
		} `json:"self_signing_keys"`
	}
	bot := c.cfg.BotID()
	body, err := json.Marshal(map[string]any{"device_keys": map[string][]string{bot: {device.ID}}})
	if err == nil {
		err = c.call(ctx, http.MethodPost, body, &keys, []string{"_matrix", "client", "v3", "keys", "query"})
	}
	there, listed := keys.Devices[bot][device.ID]
	switch {
	case err != nil:
		f.Err = err
	case !listed:
		f.Err = errors.New("it does not")
	case there.Keys["ed25519:"+device.ID] != device.Key:
		f.Err = errors.New("with other keys than the database has")
	}
	for key := range keys.Self[bot].Keys {
		if keys.Master[bot] != nil && there.Signatures[bot][key] != "" {
			f.Note = strictReads
		}
	}
	c.add(f)
}
