package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// keyPatience is how long the key of a message may take.
const keyPatience = 5 * time.Second

// encrypt turns encryption on in the room, makes what the bridge needs there, and gives both people clients that encrypt.
func (d *demo) encrypt(ctx context.Context) error {
	_, err := d.alice.SetState(ctx, d.room, testserver.State{
		Type: "m.room.encryption", Content: map[string]any{"algorithm": "m.megolm.v1.aes-sha2"},
	})
	if err != nil {
		return fmt.Errorf("turn encryption on: %w", err)
	}
	if _, err = d.dir.secret(demoPickleKey); err != nil {
		return err
	}
	password, err := d.dir.secret(demoBotPassword)
	if err != nil {
		return err
	}
	if err := d.alice.ResetPassword(ctx, d.config.BotID(), password); err != nil {
		return fmt.Errorf("give the bot a password: %w", err)
	}
	d.sealed = map[string]*sealedclient.Client{}
	for name, user := range map[string]*testserver.User{"alice": d.alice, "bob": d.bob} {
		keys := d.dir.file(name + "." + user.DeviceID + ".keys.db") // a new device has new keys
		if d.sealed[name], err = sealedclient.New(ctx, user, keys); err != nil {
			delete(d.sealed, name)
			return err
		}
	}
	return nil
}

func (d *demo) closeClients() error {
	var errs []error
	for _, client := range d.sealed {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// open gives what is inside an encrypted event of the room, as alice sees it; its key is waited for that long.
func (d *demo) open(ctx context.Context, e testserver.Event, patience time.Duration) testserver.Event {
	if alice := d.sealed["alice"]; alice != nil {
		return alice.Open(ctx, d.room, e, patience)
	}
	return e
}

// secret reads one from its file, or makes it.
func (d *demoDir) secret(name string) (string, error) {
	data, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(rand.Text())
		err = d.write(name, data)
	}
	if err != nil {
		return "", fmt.Errorf("keep a secret: %w", err)
	}
	return string(data), nil
}
